#include "kernels/cuda/cuda_families.h"
#include "kernels/cuda/cuda_unary.h"

/* Places in three spatial dimensions; those that a window lacks are in front, of size 1 (kernels/slide.h). */
struct place {
    size_t at[3];
};

static __device__ __forceinline__ struct place place_of(const size_t *sizes, size_t at) {
    struct place place;
    place.at[2] = at % sizes[2];
    at /= sizes[2];
    place.at[1] = at % sizes[1];
    place.at[0] = at / sizes[1];
    return place;
}

/* The element under kernel element k of the window at `output`; beyond the size (or wrapped around below 0) in the
 * padding. */
static __device__ __forceinline__ size_t element_under(const struct slide *slide, int d, size_t output, size_t k) {
    return output * slide->strides[d] + k * slide->dilations[d] - slide->pads[d];
}

/* Calls visit(place in the channel of x, place in the kernel) for every element of x under the window of `output`. */
template <class visitor>
static __device__ __forceinline__ void each_under(const struct slide *slide, struct place output, visitor visit) {
    for (size_t i = 0; i < slide->kernel[0]; i++) {
        size_t plane = element_under(slide, 0, output.at[0], i);
        if (plane >= slide->in[0])
            continue;
        for (size_t j = 0; j < slide->kernel[1]; j++) {
            size_t line = element_under(slide, 1, output.at[1], j);
            if (line >= slide->in[1])
                continue;
            size_t from = (plane * slide->in[1] + line) * slide->in[2];
            size_t to = (i * slide->kernel[1] + j) * slide->kernel[2];
            for (size_t k = 0; k < slide->kernel[2]; k++) {
                size_t element = element_under(slide, 2, output.at[2], k);
                if (element < slide->in[2])
                    visit(from + element, to + k);
            }
        }
    }
}

/* The flat index in a channel with the first spatial dimension fastest. */
static __device__ __forceinline__ size_t column_major(const struct slide *slide, size_t at) {
    struct place place = place_of(slide->in, at);
    return place.at[0] + slide->in[0] * (place.at[1] + slide->in[1] * place.at[2]);
}

/* A thread for each output. least: of the element. indices: into all of x; NULL: nobody wants them. */
template <class element>
static __global__ void pool_max(const struct slide slide, bool columns, element least, const element *x, element *y,
                                int64_t *indices, size_t count) {
    CUDA_DEVICE_EACH(at, count) {
        size_t channel = at / slide.out_count, place = SIZE_MAX;
        struct place output = place_of(slide.out, at - channel * slide.out_count);
        const element *own = x + channel * slide.in_count;
        element greatest = least;
        each_under(&slide, output, [&](size_t from, size_t) {
            element next = own[from];
            if (place == SIZE_MAX || next > greatest || (next != next && greatest == greatest)) {
                greatest = next;
                place = from;
            }
        });
        y[at] = greatest;
        place = place == SIZE_MAX ? 0 : place;
        if (indices)
            indices[at] = (int64_t)(channel * slide.in_count + (columns ? column_major(&slide, place) : place));
    }
}

/* Elements of the window within x and its padding. */
static __device__ __forceinline__ size_t padded_count(const struct slide *slide, struct place output) {
    size_t count = 1;
    for (int d = 0; d < 3; d++) {
        size_t start = output.at[d] * slide->strides[d], end = slide->in[d] + slide->pads[d] + slide->pads_end[d];
        size_t fit = start < end ? (end - start + slide->dilations[d] - 1) / slide->dilations[d] : 0;
        count *= fit < slide->kernel[d] ? fit : slide->kernel[d];
    }
    return count;
}

static __global__ void pool_average(const struct slide slide, bool count_padding, const float *x, float *y,
                                    size_t count) {
    CUDA_DEVICE_EACH(at, count) {
        size_t channel = at / slide.out_count, elements = 0;
        struct place output = place_of(slide.out, at - channel * slide.out_count);
        const float *own = x + channel * slide.in_count;
        float sum = 0.0f;
        each_under(&slide, output, [&](size_t from, size_t) {
            sum += own[from];
            elements++;
        });
        elements = count_padding ? padded_count(&slide, output) : elements;
        y[at] = elements > 0 ? sum / (float)elements : 0.0f;
    }
}

/* The p-th root of the sum of p-th powers. */
static __global__ void pool_lp(const struct slide slide, float p, const float *x, float *y, size_t count) {
    CUDA_DEVICE_EACH(at, count) {
        size_t channel = at / slide.out_count;
        struct place output = place_of(slide.out, at - channel * slide.out_count);
        const float *own = x + channel * slide.in_count;
        float sum = 0.0f;
        each_under(&slide, output, [&](size_t from, size_t) { sum += powf(fabsf(own[from]), p); });
        y[at] = powf(sum, 1.0f / p);
    }
}

template <class element>
static cudaError_t launch_max(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                              void *scratch, cudaStream_t stream) {
    const struct pool *pool = &operation->pool;
    const element least = inputs[0].element == ELEMENT_F32  ? (element)-INFINITY
                          : inputs[0].element == ELEMENT_I8 ? (element)-128
                                                            : (element)0;
    size_t count = view_count(outputs);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(pool_max<element>, count, stream, slide_of(&pool->window, &inputs[0], outputs),
                              pool->column_major, least, (const element *)inputs[0].data, (element *)outputs[0].data,
                              (int64_t *)outputs[1].data, count);
}

static cudaError_t launch_pool(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                               void *scratch, cudaStream_t stream) {
    const struct pool *pool = &operation->pool;
    struct slide slide = slide_of(&pool->window, &inputs[0], outputs);
    const float *x = (const float *)inputs[0].data;
    float *y = (float *)outputs[0].data;
    size_t count = view_count(outputs);
    (void)scratch;
    if (pool->kind == POOL_LP)
        return CUDA_DEVICE_LAUNCH(pool_lp, count, stream, slide, (float)pool->p, x, y, count);
    return CUDA_DEVICE_LAUNCH(pool_average, count, stream, slide, pool->count_padding, x, y, count);
}

/* Convolution where every group has one channel of x. bias, more: NULL where there is none. */
struct depthwise {
    struct slide slide;
    struct unary then;
    const float *x, *w, *bias, *more;
    float *y;
};

/* A thread for each output; the sum runs over the kernel in order. */
static __global__ void convolve_depthwise(const struct depthwise depthwise, size_t count) {
    CUDA_DEVICE_EACH(at, count) {
        const size_t *out = depthwise.slide.out;
        size_t channel = at / depthwise.slide.out_count, m = channel % depthwise.slide.y_channels;
        size_t image = channel / depthwise.slide.y_channels;
        size_t group = m / (depthwise.slide.y_channels / depthwise.slide.groups);
        struct place output = place_of(out, at - channel * depthwise.slide.out_count);
        const float *own = depthwise.x + (image * depthwise.slide.x_channels + group) * depthwise.slide.in_count;
        const float *w = depthwise.w + m * depthwise.slide.kernel_count;
        float sum = depthwise.bias ? depthwise.bias[m] : 0.0f;
        each_under(&depthwise.slide, output, [&](size_t from, size_t k) { sum += own[from] * w[k]; });
        if (depthwise.more)
            sum += depthwise.more[at];
        depthwise.y[at] = cuda_unary_value(&depthwise.then, sum);
    }
}

static cudaError_t launch_depthwise(const struct operation *operation, const struct view *inputs,
                                    const struct view *outputs, void *scratch, cudaStream_t stream) {
    struct depthwise depthwise = {slide_of(&operation->window, &inputs[0], outputs),
                                  operation->then,
                                  (const float *)inputs[0].data,
                                  (const float *)inputs[1].data,
                                  (const float *)inputs[2].data,
                                  (const float *)inputs[3].data,
                                  (float *)outputs[0].data};
    size_t count = view_count(outputs);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(convolve_depthwise, count, stream, depthwise, count);
}

/* Images of one channel that large windows go over are better multiplied: they are left to cuda_im2col. */
static bool is_depthwise(const struct operation *operation, const struct view *x, const struct view *y) {
    enum { LARGE_KERNEL = 64 };
    struct slide slide = slide_of(&operation->window, x, y);
    return slide.groups == slide.x_channels && (slide.groups > 1 || slide.kernel_count <= LARGE_KERNEL);
}

/* The element of x that kernel element k spreads to `output` along dimension d; SIZE_MAX: none. */
static __device__ __forceinline__ size_t spread_from(const struct slide *slide, int d, size_t output, size_t k) {
    size_t to = output + slide->pads[d], offset = k * slide->dilations[d];
    if (to < offset || (to - offset) % slide->strides[d] != 0)
        return SIZE_MAX;
    size_t element = (to - offset) / slide->strides[d];
    return element < slide->in[d] ? element : SIZE_MAX;
}

/* A thread for each output; the sum runs over the kernel, and for each of its elements over the group's channels. */
static __global__ void convolve_transposed(const struct slide slide, const float *x, const float *w, const float *bias,
                                           float *y, size_t count) {
    size_t channels = slide.x_channels / slide.groups, outputs = slide.y_channels / slide.groups;
    CUDA_DEVICE_EACH(at, count) {
        size_t plane = at / slide.out_count, image = plane / slide.y_channels, m = plane % slide.y_channels;
        size_t first = m / outputs * channels;
        struct place output = place_of(slide.out, at - plane * slide.out_count);
        const float *own_x = x + (image * slide.x_channels + first) * slide.in_count;
        const float *own_w = w + (first * outputs + m % outputs) * slide.kernel_count;
        float sum = bias ? bias[m] : 0.0f;
        for (size_t k = 0; k < slide.kernel_count; k++) {
            struct place under = place_of(slide.kernel, k);
            size_t from = 0;
            bool any = true;
            for (int d = 0; d < 3; d++) {
                size_t element = spread_from(&slide, d, output.at[d], under.at[d]);
                any = any && element != SIZE_MAX;
                from = from * slide.in[d] + element;
            }
            for (size_t c = 0; any && c < channels; c++)
                sum += own_x[c * slide.in_count + from] * own_w[c * outputs * slide.kernel_count + k];
        }
        y[at] = sum;
    }
}

static cudaError_t launch_transposed(const struct operation *operation, const struct view *inputs,
                                     const struct view *outputs, void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(convolve_transposed, count, stream, slide_of(&operation->window, &inputs[0], outputs),
                              (const float *)inputs[0].data, (const float *)inputs[1].data,
                              (const float *)inputs[2].data, (float *)outputs[0].data, count);
}

extern "C" cuda_launcher cuda_window_find(const struct operation *operation, const struct view *inputs,
                                          const struct view *outputs) {
    enum element element = inputs[0].element;
    if (operation->kind == OPERATION_POOL && operation->pool.kind == POOL_MAX)
        return element == ELEMENT_F32  ? launch_max<float>
               : element == ELEMENT_U8 ? launch_max<uint8_t>
               : element == ELEMENT_I8 ? launch_max<int8_t>
                                       : NULL;
    if (element != ELEMENT_F32)
        return NULL;
    if (operation->kind == OPERATION_POOL)
        return launch_pool;
    if (operation->kind == OPERATION_CONV_TRANSPOSE)
        return launch_transposed;
    return operation->kind == OPERATION_CONV && is_depthwise(operation, &inputs[0], &outputs[0]) ? launch_depthwise
                                                                                                 : NULL;
}

/* y [group, pixel, channel of the group, kernel]. */
struct columns {
    struct slide slide;
    const float *x;
    float *y;
    size_t first, pixels, width; /* width: channels of a group times the kernel */
};

enum { LANES = 32 };

/* A warp for each group's pixel. */
static __global__ void im2col(const struct columns shape, size_t threads) {
    CUDA_DEVICE_EACH(thread, threads) {
        size_t row = thread / LANES, group = row / shape.pixels, pixel = shape.first + (row - group * shape.pixels);
        size_t image = pixel / shape.slide.out_count, channels = shape.slide.x_channels / shape.slide.groups;
        struct place output = place_of(shape.slide.out, pixel - image * shape.slide.out_count);
        const float *x = shape.x + (image * shape.slide.x_channels + group * channels) * shape.slide.in_count;
        for (size_t at = thread % LANES; at < shape.width; at += LANES) {
            size_t from = at / shape.slide.kernel_count; /* the channel, so far */
            struct place k = place_of(shape.slide.kernel, at - from * shape.slide.kernel_count);
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                size_t element = element_under(&shape.slide, d, output.at[d], k.at[d]);
                inside = inside && element < shape.slide.in[d];
                from = from * shape.slide.in[d] + element;
            }
            shape.y[row * shape.width + at] = inside ? x[from] : 0.0f;
        }
    }
}

extern "C" cudaError_t cuda_im2col(const struct window *window, const struct view *x, const struct view *y,
                                   size_t first, size_t count, float *columns, cudaStream_t stream) {
    struct columns shape = {slide_of(window, x, y), (const float *)x->data, columns, first, count, 0};
    shape.width = shape.slide.x_channels / shape.slide.groups * shape.slide.kernel_count;
    size_t threads = shape.slide.groups * count * LANES;
    return CUDA_DEVICE_LAUNCH(im2col, threads, stream, shape, threads);
}

/* y [n, m, pixels] from products [n * pixels, m], by tiles, so that both sides move whole lines. */
struct pixels {
    const float *products, *bias, *sum;
    float *y;
    size_t channels, pixels;
    size_t tiles_across, tiles_down; /* across: of y's lines of pixels; down: of its channels */
    struct unary then;
};

enum { TILE = 32, TILE_ROWS = 8, TILE_THREADS = TILE * TILE_ROWS };

static __global__ void place_pixels(const struct pixels shape, size_t tile_count) {
    K_SHARED(float, tile, TILE *(TILE + 1));
    size_t col = threadIdx.x % TILE, row = threadIdx.x / TILE;
    CUDA_DEVICE_EACH_ROW(at, tile_count) {
        size_t across = at % shape.tiles_across, rest = at / shape.tiles_across;
        size_t down = rest % shape.tiles_down, image = rest / shape.tiles_down;
        size_t first_pixel = across * TILE, first_channel = down * TILE;
        for (size_t p = row; p < TILE; p += TILE_ROWS)
            if (first_pixel + p < shape.pixels && first_channel + col < shape.channels)
                tile[p * (TILE + 1) + col] =
                    shape.products[(image * shape.pixels + first_pixel + p) * shape.channels + first_channel + col];
        __syncthreads();
        for (size_t c = row; c < TILE; c += TILE_ROWS) {
            size_t channel = first_channel + c, pixel = first_pixel + col;
            if (channel >= shape.channels || pixel >= shape.pixels)
                continue;
            size_t to = (image * shape.channels + channel) * shape.pixels + pixel;
            float value = tile[col * (TILE + 1) + c] + (shape.bias ? shape.bias[channel] : 0.0f);
            value += shape.sum ? shape.sum[to] : 0.0f;
            shape.y[to] = cuda_unary_value(&shape.then, value);
        }
        __syncthreads();
    }
}

extern "C" cudaError_t cuda_place_pixels(const float *products, const float *bias, const float *sum,
                                         const struct unary *then, const struct view *y, cudaStream_t stream) {
    size_t pixel_count = view_product(y, 2, y->rank);
    struct pixels shape = {products,
                           bias,
                           sum,
                           (float *)y->data,
                           y->dims[1],
                           pixel_count,
                           (pixel_count + TILE - 1) / TILE,
                           (y->dims[1] + TILE - 1) / TILE,
                           *then};
    size_t tiles = y->dims[0] * shape.tiles_across * shape.tiles_down;
    return CUDA_DEVICE_LAUNCH_ROWS(place_pixels, tiles, TILE_THREADS, stream, shape, tiles);
}
