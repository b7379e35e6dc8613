#include "kernels/cuda/cuda_families.h"
#include "kernels/cuda/cuda_width.h"

/* y[i] = x[first + offset of i] */
template <class unit>
static __global__ void read_strided(const struct cuda_walk walk, long long first, const void *x, void *y,
                                    size_t count) {
    CUDA_DEVICE_EACH(i, count)
    ((unit *)y)[i] = ((const unit *)x)[first + cuda_walk_offset(&walk, i)];
}

/* Moves in the widest unit that the innermost run, all strides and the addresses allow. The walk counts elements of
 * `bytes`. */
static cudaError_t launch_strided(struct cuda_walk walk, long long first, size_t bytes, const struct view *x,
                                  const struct view *y, cudaStream_t stream) {
    int last = walk.rank - 1;
    bool widens = last >= 0 && walk.strides[last] == 1;
    cudaError_t error;
    while (widens && bytes < 16) {
        widens = walk.dims[last] % 2 == 0 && first % 2 == 0 && (uintptr_t)x->data % (2 * bytes) == 0 &&
                 (uintptr_t)y->data % (2 * bytes) == 0;
        for (int d = 0; d < last; d++)
            widens = widens && walk.strides[d] % 2 == 0;
        if (!widens)
            break;
        bytes *= 2;
        first /= 2;
        walk.dims[last] /= 2;
        for (int d = 0; d < last; d++)
            walk.strides[d] /= 2;
    }
    size_t count = cuda_walk_count(&walk);
    CUDA_WIDTH_SWITCH(error, bytes, read_strided, count, stream, walk, first, x->data, y->data, count)
    return error;
}

/* Exchanges dimension `rows` of y (where x lies dense) with y's last (where y does) by tiles, so that both sides move
 * whole lines. The other dimensions of y are in `outer`. */
struct exchange {
    size_t rows, cols;                 /* sizes of those dimensions in y */
    size_t row_stride;                 /* in y, of dimension `rows` */
    size_t col_stride;                 /* in x, of y's last dimension */
    struct cuda_walk x_outer, y_outer; /* the same dimensions, with the strides of x and of y; not merged */
    size_t tiles_across, tiles_down, tile_count;
};

enum { TILE = 32, TILE_ROWS = 8 };

template <class unit> static __global__ void exchange_tiles(const struct exchange exchange, const unit *x, unit *y) {
    K_SHARED(unit, tile, TILE * (TILE + 1));
    size_t col = threadIdx.x % TILE, row = threadIdx.x / TILE;
    CUDA_DEVICE_EACH_ROW(at, exchange.tile_count) {
        size_t across = at % exchange.tiles_across, rest = at / exchange.tiles_across;
        size_t down = rest % exchange.tiles_down, outer = rest / exchange.tiles_down;
        const unit *from = x + cuda_walk_offset(&exchange.x_outer, outer);
        unit *to = y + cuda_walk_offset(&exchange.y_outer, outer);
        size_t first_row = down * TILE, first_col = across * TILE;
        for (size_t c = row; c < TILE; c += TILE_ROWS) /* x's lines are y's columns */
            if (first_col + c < exchange.cols && first_row + col < exchange.rows)
                tile[c * (TILE + 1) + col] = from[(first_col + c) * exchange.col_stride + first_row + col];
        __syncthreads();
        for (size_t r = row; r < TILE; r += TILE_ROWS)
            if (first_row + r < exchange.rows && first_col + col < exchange.cols)
                to[(first_row + r) * exchange.row_stride + first_col + col] = tile[col * (TILE + 1) + r];
        __syncthreads();
    }
}

/* walk: y's dimensions with x's strides, merged; dense: the one whose stride is 1, not the last. */
static struct exchange exchange_of(const struct cuda_walk *walk, int dense) {
    int last = walk->rank - 1;
    struct exchange exchange = {};
    size_t stride = walk->dims[last], outer = 1;
    exchange.rows = walk->dims[dense];
    exchange.cols = walk->dims[last];
    exchange.col_stride = (size_t)walk->strides[last];
    exchange.x_outer.rank = exchange.y_outer.rank = last - 1;
    for (int d = last - 1, to = last - 2; d >= 0; d--) {
        if (d == dense) {
            exchange.row_stride = stride;
        } else {
            exchange.x_outer.dims[to] = exchange.y_outer.dims[to] = walk->dims[d];
            exchange.x_outer.strides[to] = walk->strides[d];
            exchange.y_outer.strides[to--] = (long long)stride;
            outer *= walk->dims[d];
        }
        stride *= walk->dims[d];
    }
    exchange.tiles_across = (exchange.cols + TILE - 1) / TILE;
    exchange.tiles_down = (exchange.rows + TILE - 1) / TILE;
    exchange.tile_count = outer * exchange.tiles_across * exchange.tiles_down;
    return exchange;
}

static cudaError_t launch_exchange(const struct exchange *exchange, size_t bytes, const struct view *x,
                                   const struct view *y, cudaStream_t stream) {
    enum { THREADS = TILE * TILE_ROWS };
    switch (bytes) {
    case 1:
        return CUDA_DEVICE_LAUNCH_ROWS(exchange_tiles<uint8_t>, exchange->tile_count, THREADS, stream, *exchange,
                                       (const uint8_t *)x->data, (uint8_t *)y->data);
    case 4:
        return CUDA_DEVICE_LAUNCH_ROWS(exchange_tiles<uint32_t>, exchange->tile_count, THREADS, stream, *exchange,
                                       (const uint32_t *)x->data, (uint32_t *)y->data);
    case 8:
        return CUDA_DEVICE_LAUNCH_ROWS(exchange_tiles<uint64_t>, exchange->tile_count, THREADS, stream, *exchange,
                                       (const uint64_t *)x->data, (uint64_t *)y->data);
    default:
        return CUDA_DEVICE_LAUNCH_ROWS(exchange_tiles<uint16_t>, exchange->tile_count, THREADS, stream, *exchange,
                                       (const uint16_t *)x->data, (uint16_t *)y->data);
    }
}

static cudaError_t launch_transpose(const struct operation *operation, const struct view *inputs,
                                    const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *x = &inputs[0], *y = &outputs[0];
    struct cuda_walk walk = {};
    size_t bytes = view_element_bytes(y->element);
    (void)scratch;
    if (view_count(y) == 0)
        return cudaSuccess;
    for (int d = 0; d < y->rank; d++)
        cuda_walk_add(&walk, y->dims[d], (long long)view_product(x, operation->transpose.order[d] + 1, x->rank));
    for (int d = 0; d < walk.rank - 1; d++)
        if (walk.strides[d] == 1 && walk.dims[d] >= 8 && walk.dims[walk.rank - 1] >= 8) {
            struct exchange exchange = exchange_of(&walk, d);
            return launch_exchange(&exchange, bytes, x, y, stream);
        }
    return launch_strided(walk, 0, bytes, x, y, stream);
}

static cudaError_t launch_slice(const struct operation *operation, const struct view *inputs,
                                const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *x = &inputs[0], *y = &outputs[0];
    struct cuda_walk walk = {};
    long long first = 0;
    (void)scratch;
    if (view_count(y) == 0)
        return cudaSuccess;
    for (int d = 0; d < y->rank; d++) {
        long long stride = (long long)view_product(x, d + 1, x->rank);
        first += operation->slice.start[d] * stride;
        cuda_walk_add(&walk, y->dims[d], operation->slice.step[d] * stride);
    }
    return launch_strided(walk, first, view_element_bytes(y->element), x, y, stream);
}

static cudaError_t launch_expand(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *x = &inputs[0], *y = &outputs[0];
    struct cuda_walk walk = {};
    (void)operation;
    (void)scratch;
    if (view_count(y) == 0)
        return cudaSuccess;
    for (int d = 0; d < y->rank; d++) {
        int from = d - (y->rank - x->rank);
        bool repeats = from < 0 || x->dims[from] == 1;
        cuda_walk_add(&walk, y->dims[d], repeats ? 0 : (long long)view_product(x, from + 1, x->rank));
    }
    return launch_strided(walk, 0, view_element_bytes(y->element), x, y, stream);
}

/* Some inputs of a concatenation. Lines of y hold `line` units; input k gives those from starts[k] to starts[k + 1]. */
enum { CONCAT_INPUTS = 16 };

struct concat {
    int count;
    size_t line;
    size_t starts[CONCAT_INPUTS + 1];
    const void *data[CONCAT_INPUTS];
};

template <class unit> static __global__ void concat_lines(const struct concat concat, void *y, size_t count) {
    size_t first = concat.starts[0], width = concat.starts[concat.count] - first;
    CUDA_DEVICE_EACH(i, count) {
        size_t row = i / width, at = first + (i - row * width);
        int k = 0;
        while (at >= concat.starts[k + 1])
            k++;
        size_t own = concat.starts[k + 1] - concat.starts[k];
        ((unit *)y)[row * concat.line + at] = ((const unit *)concat.data[k])[row * own + (at - concat.starts[k])];
    }
}

static cudaError_t launch_concat_part(const struct concat *concat_part, size_t rows, size_t bytes, const struct view *y,
                                      cudaStream_t stream) {
    struct concat part = *concat_part;
    size_t element_bytes = bytes, common = part.line;
    cudaError_t error;
    for (int k = 0; k <= part.count; k++) /* what is common to all lengths and places, in its lowest bits */
        common |= part.starts[k];
    for (int k = 0; k < part.count; k++) {
        size_t width = cuda_width_of_runs(element_bytes, common, part.data[k], y->data);
        bytes = k == 0 || width < bytes ? width : bytes;
    }
    part.line = part.line * element_bytes / bytes;
    for (int k = 0; k <= part.count; k++)
        part.starts[k] = part.starts[k] * element_bytes / bytes;
    size_t count = rows * (part.starts[part.count] - part.starts[0]);
    CUDA_WIDTH_SWITCH(error, bytes, concat_lines, count, stream, part, y->data, count)
    return error;
}

static cudaError_t launch_concat(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *y = &outputs[0];
    int axis = operation->axis;
    size_t rows = view_product(y, 0, axis), inner = view_product(y, axis + 1, y->rank), at = 0;
    cudaError_t error = cudaSuccess;
    (void)scratch;
    if (view_count(y) == 0)
        return cudaSuccess;
    while (at < y->dims[axis] && error == cudaSuccess) {
        struct concat part = {};
        part.line = y->dims[axis] * inner;
        part.starts[0] = at * inner;
        for (; part.count < CONCAT_INPUTS && at < y->dims[axis]; inputs++) {
            if (inputs->dims[axis] == 0)
                continue;
            at += inputs->dims[axis];
            part.data[part.count++] = inputs->data;
            part.starts[part.count] = at * inner;
        }
        error = launch_concat_part(&part, rows, view_element_bytes(y->element), y, stream);
    }
    return error;
}

struct tile {
    int rank;
    size_t x_dims[VIEW_MAX_RANK], y_dims[VIEW_MAX_RANK];
};

template <class unit>
static __global__ void tile_elements(const struct tile tile, const unit *x, unit *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t from = 0, stride = 1, rest = i;
        for (int d = tile.rank - 1; d >= 0; d--) {
            size_t outer = rest / tile.y_dims[d];
            from += (rest - outer * tile.y_dims[d]) % tile.x_dims[d] * stride;
            stride *= tile.x_dims[d];
            rest = outer;
        }
        y[i] = x[from];
    }
}

template <class unit>
static cudaError_t launch_tile(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                               void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    struct tile shape = {};
    (void)operation;
    (void)scratch;
    for (int d = 0; d < outputs[0].rank; d++) {
        if (outputs[0].dims[d] == 1)
            continue;
        shape.x_dims[shape.rank] = inputs[0].dims[d];
        shape.y_dims[shape.rank++] = outputs[0].dims[d];
    }
    return CUDA_DEVICE_LAUNCH(tile_elements<unit>, count, stream, shape, (const unit *)inputs[0].data,
                              (unit *)outputs[0].data, count);
}

struct pad_shape {
    enum pad_mode mode;
    int rank;
    long long before[VIEW_MAX_RANK], x_dims[VIEW_MAX_RANK];
    size_t y_dims[VIEW_MAX_RANK];
};

/* The element of x (of `size` in this dimension) at place `at` of y, less the padding; -1: none. */
static __device__ __forceinline__ long long pad_source(enum pad_mode mode, long long at, long long size) {
    if (at >= 0 && at < size)
        return at;
    if (mode == PAD_CONSTANT || size == 0)
        return -1;
    if (mode == PAD_EDGE || size == 1)
        return at < 0 ? 0 : size - 1;
    long long period = mode == PAD_WRAP ? size : 2 * (size - 1);
    long long place = at % period;
    place += place < 0 ? period : 0;
    return place < size ? place : period - place;
}

/* value: NULL for zeros. */
template <class unit>
static __global__ void pad_elements(const struct pad_shape shape, const unit *x, const unit *value, unit *y,
                                    size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t rest = i;
        long long from = 0, stride = 1;
        bool inside = true;
        for (int d = shape.rank - 1; d >= 0; d--) {
            size_t outer = rest / shape.y_dims[d];
            long long at = (long long)(rest - outer * shape.y_dims[d]) - shape.before[d];
            long long place = pad_source(shape.mode, at, shape.x_dims[d]);
            inside = inside && place >= 0;
            from += place * stride;
            stride *= shape.x_dims[d];
            rest = outer;
        }
        y[i] = inside ? x[from] : value ? *value : (unit)0;
    }
}

template <class unit>
static cudaError_t launch_pad(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                              void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    const void *value = operation->pad.mode == PAD_CONSTANT ? inputs[1].data : NULL;
    struct pad_shape shape = {};
    (void)scratch;
    shape.mode = operation->pad.mode;
    shape.rank = outputs[0].rank;
    for (int d = 0; d < shape.rank; d++) {
        shape.before[d] = operation->pad.before[d];
        shape.x_dims[d] = (long long)inputs[0].dims[d];
        shape.y_dims[d] = outputs[0].dims[d];
    }
    return CUDA_DEVICE_LAUNCH(pad_elements<unit>, count, stream, shape, (const unit *)inputs[0].data,
                              (const unit *)value, (unit *)outputs[0].data, count);
}

template <class unit>
static __global__ void keep_triangle(const struct trilu trilu, size_t rows, size_t cols, const unit *x, unit *y,
                                     size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t line = i / cols;
        int64_t diagonal = (int64_t)(i - line * cols) - (int64_t)(line % rows);
        bool stays = trilu.upper ? diagonal >= trilu.k : diagonal <= trilu.k;
        y[i] = stays ? x[i] : (unit)0;
    }
}

template <class unit>
static cudaError_t launch_trilu(const struct operation *operation, const struct view *inputs,
                                const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *y = &outputs[0];
    size_t count = view_count(y);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(keep_triangle<unit>, count, stream, operation->trilu, y->dims[y->rank - 2],
                              y->dims[y->rank - 1], (const unit *)inputs[0].data, (unit *)y->data, count);
}

extern "C" cuda_launcher cuda_move_find(const struct operation *operation, const struct view *inputs,
                                        const struct view *outputs) {
    (void)inputs;
    switch (operation->kind) {
    case OPERATION_TRANSPOSE:
        return launch_transpose;
    case OPERATION_SLICE:
        return launch_slice;
    case OPERATION_EXPAND:
        return launch_expand;
    case OPERATION_CONCAT:
        return launch_concat;
    case OPERATION_TILE:
        return CUDA_WIDTH_LAUNCHER(launch_tile, outputs[0].element);
    case OPERATION_PAD:
        return CUDA_WIDTH_LAUNCHER(launch_pad, outputs[0].element);
    case OPERATION_TRILU:
        return CUDA_WIDTH_LAUNCHER(launch_trilu, outputs[0].element);
    default:
        return NULL;
    }
}
