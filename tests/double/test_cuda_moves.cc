/* The kernels that move elements or slide windows: each against the oracle, over many shapes. */
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernel_case.h"
#include "kernels/cuda/cuda.h"

extern "C" {
#include "kernels/element.h"
#include "kernels/ref/ref.h"
}

static const enum element elements[] = {ELEMENT_F32, ELEMENT_U8, ELEMENT_F16, ELEMENT_I64};

/* Aligned as the backend's memory is, and as badly as the element allows. */
static void check_moved(struct kernel_case *made) {
    made->misaligned = false;
    kernel_case_check(made, 0);
    made->misaligned = true;
    kernel_case_check(made, 0);
}

static void check_transpose(struct view x, const int *order) {
    struct view y = x;
    for (int d = 0; d < x.rank; d++)
        y.dims[d] = x.dims[order[d]];
    struct kernel_case made = kernel_case_make(OPERATION_TRANSPOSE, {x}, {kernel_case_like(&y, x.element)});
    memcpy(made.operation.transpose.order, order, (size_t)x.rank * sizeof *order);
    check_moved(&made);
}

static void transposes(void) {
    for (enum element element : elements)
        for (int i = 0; i < 24; i++) { /* all orders of four dimensions */
            int left[4] = {0, 1, 2, 3}, order[4], number = i;
            for (int d = 0; d < 4; d++) {
                int chosen = number % (4 - d);
                number /= 4 - d;
                order[d] = left[chosen];
                for (int k = chosen; k < 3; k++)
                    left[k] = left[k + 1];
            }
            check_transpose(kernel_case_view(element, {2, 3, 9, 8}), order);
            check_transpose(kernel_case_view(element, {3, 12, 1, 20}), order);
        }
    const int exchanged[2] = {1, 0}, within[3] = {0, 2, 1}, outer[5] = {3, 0, 4, 1, 2};
    check_transpose(kernel_case_view(ELEMENT_F32, {33, 65}), exchanged);
    check_transpose(kernel_case_view(ELEMENT_F32, {64, 96}), exchanged);
    check_transpose(kernel_case_view(ELEMENT_F32, {1, 96}), exchanged);
    check_transpose(kernel_case_view(ELEMENT_F32, {0, 9}), exchanged);
    check_transpose(kernel_case_view(ELEMENT_F32, {2300, 8, 9}), within); /* more tiles than blocks */
    check_transpose(kernel_case_view(ELEMENT_F32, {2, 3, 10, 9, 40}), outer);
}

static void slices(void) {
    for (enum element element : elements) {
        struct kernel_case made = kernel_case_make(OPERATION_SLICE, {kernel_case_view(element, {4, 6, 16})},
                                                   {kernel_case_view(element, {2, 3, 8})});
        made.operation.slice = {{1, 0, 4}, {1, 2, 1}};
        check_moved(&made);
        made.operation.slice = {{3, 5, 14}, {-2, -2, -1}};
        check_moved(&made);
        made.operation.slice = {{0, 1, 3}, {3, 1, 1}};
        check_moved(&made);
    }
    struct kernel_case none = kernel_case_make(OPERATION_SLICE, {kernel_case_view(ELEMENT_F32, {4, 6})},
                                               {kernel_case_view(ELEMENT_F32, {4, 0})});
    check_moved(&none);
}

static void expansions(void) {
    for (enum element element : elements) {
        struct kernel_case made = kernel_case_make(OPERATION_EXPAND, {kernel_case_view(element, {3, 1, 8})},
                                                   {kernel_case_view(element, {2, 3, 5, 8})});
        check_moved(&made);
        made =
            kernel_case_make(OPERATION_EXPAND, {kernel_case_view(element, {1})}, {kernel_case_view(element, {7, 4})});
        check_moved(&made);
        made = kernel_case_make(OPERATION_TILE, {kernel_case_view(element, {2, 1, 3})},
                                {kernel_case_view(element, {4, 5, 9})});
        check_moved(&made);
        made = kernel_case_make(OPERATION_TRILU, {kernel_case_view(element, {2, 5, 7})},
                                {kernel_case_view(element, {2, 5, 7})});
        for (int k = -6; k < 8; k += 2)
            for (bool upper : {false, true}) {
                made.operation.trilu = {k, upper};
                check_moved(&made);
            }
    }
}

static void concatenations(void) {
    for (enum element element : elements)
        for (int count : {1, 2, 5, 16, 17, 35})
            for (size_t unit : {1, 3, 4}) {
                struct kernel_case made = {};
                size_t all = 0;
                made.operation.kind = OPERATION_CONCAT;
                made.operation.axis = 1;
                for (int k = 0; k < count; k++) {
                    size_t own = k == 3 ? 0 : kernel_case_random(1, 3);
                    made.inputs[made.input_count++] = kernel_case_view(element, {3, own, unit});
                    all += own;
                }
                made.outputs[made.output_count++] = kernel_case_view(element, {3, all, unit});
                check_moved(&made);
            }
}

static void pads(void) {
    static const enum pad_mode modes[] = {PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP};
    for (enum element element : elements)
        for (enum pad_mode mode : modes) {
            struct view none = {}, x = kernel_case_view(element, {3, 4, 5});
            struct kernel_case made = kernel_case_make(OPERATION_PAD, {x, kernel_case_view(element, {})},
                                                       {kernel_case_view(element, {5, 4, 9})});
            made.operation.pad = {mode, {1, 0, 2}};
            check_moved(&made);
            made.inputs[1] = none;
            check_moved(&made);
            made.operation.pad = {mode, {-1, 1, 6}};
            made.outputs[0] = kernel_case_view(element, {2, 3, 12});
            check_moved(&made);
        }
}

/* Some are negative, some out of range. */
static struct view indices_for(size_t size, enum element element, std::initializer_list<size_t> dims) {
    struct view indices = kernel_case_view(element, dims);
    for (size_t i = 0; i < view_count(&indices); i++)
        element_set_integer(&indices, i, (int64_t)kernel_case_random(0, 2 * size + 3) - (int64_t)size - 2);
    return indices;
}

static void gathers(void) {
    for (enum element element : elements)
        for (enum element of_index : {ELEMENT_I64, ELEMENT_I32}) {
            struct kernel_case made = kernel_case_make(
                OPERATION_GATHER, {kernel_case_view(element, {50, 24}), indices_for(50, of_index, {2, 7})},
                {kernel_case_view(element, {2, 7, 24})});
            check_moved(&made);
            made = kernel_case_make(OPERATION_GATHER,
                                    {kernel_case_view(element, {3, 6, 5}), indices_for(6, of_index, {4})},
                                    {kernel_case_view(element, {3, 4, 5})});
            made.operation.gather.axis = 1;
            check_moved(&made);
            made = kernel_case_make(OPERATION_GATHER, {kernel_case_view(element, {3, 6}), indices_for(6, of_index, {})},
                                    {kernel_case_view(element, {3})});
            made.operation.gather.axis = 1;
            check_moved(&made);
            for (int axis = 0; axis < 3; axis++) {
                made = kernel_case_make(OPERATION_GATHER_ELEMENTS,
                                        {kernel_case_view(element, {4, 6, 5}), indices_for(4, of_index, {3, 5, 4})},
                                        {kernel_case_view(element, {3, 5, 4})});
                made.operation.gather.axis = axis;
                check_moved(&made);
            }
            made = kernel_case_make(OPERATION_GATHER_ND,
                                    {kernel_case_view(element, {3, 4, 5, 6}), indices_for(4, of_index, {3, 7, 2})},
                                    {kernel_case_view(element, {3, 7, 6})});
            made.operation.gather.batch_dims = 1;
            check_moved(&made);
        }
    for (enum element element : {ELEMENT_F32, ELEMENT_I64, ELEMENT_BOOL})
        for (int axis = 0; axis < 3; axis++) {
            struct view y = kernel_case_view(element, {axis == 0 ? 5u : 2u,
                                                       axis == 1 ? 5u
                                                       : axis    ? 3u
                                                                 : 2u,
                                                       axis == 2 ? 5u : 3u});
            struct kernel_case made = kernel_case_make(
                OPERATION_ONE_HOT, {indices_for(5, ELEMENT_I64, {2, 3}), kernel_case_view(element, {2})}, {y});
            made.operation.axis = axis;
            check_moved(&made);
            made.inputs[0] = kernel_case_like(&made.inputs[0], ELEMENT_F32);
            for (size_t i = 0; i < view_count(&made.inputs[0]); i++)
                element_set_number(&made.inputs[0], i, (double)kernel_case_random(0, 12) - 6);
            check_moved(&made);
        }
}

static void check_resize(struct resize resize, struct view x, struct view y) {
    struct kernel_case made = kernel_case_make(OPERATION_RESIZE, {x}, {y});
    for (int d = 0; d < x.rank; d++) {
        resize.scales[d] = (float)y.dims[d] / (float)x.dims[d];
        resize.roi_start[d] = d < 2 ? 0 : 0.2f;
        resize.roi_end[d] = d < 2 ? 1 : 1.1f;
    }
    made.operation.resize = resize;
    kernel_case_check(&made, resize.mode == RESIZE_NEAREST ? 0 : resize.mode == RESIZE_LINEAR ? 1e-6f : 5e-5f);
}

static void resizes(void) {
    for (int coordinates = 0; coordinates <= RESIZE_HALF_PIXEL_SYMMETRIC; coordinates++)
        for (int rounding = 0; rounding <= RESIZE_CEIL; rounding++) {
            struct resize resize = {};
            resize.coordinates = (enum resize_coordinates)coordinates;
            resize.rounding = (enum resize_rounding)rounding;
            resize.extrapolation = 7;
            for (enum element element : elements)
                check_resize(resize, kernel_case_view(element, {2, 3, 7, 5}),
                             kernel_case_view(element, {2, 3, 10, 15}));
            check_resize(resize, kernel_case_view(ELEMENT_F32, {1, 2, 13, 11}),
                         kernel_case_view(ELEMENT_F32, {1, 2, 5, 11}));
            resize.mode = RESIZE_LINEAR;
            check_resize(resize, kernel_case_view(ELEMENT_F32, {2, 3, 7, 5}),
                         kernel_case_view(ELEMENT_F32, {2, 3, 10, 15}));
            check_resize(resize, kernel_case_view(ELEMENT_F32, {1, 2, 4, 6, 5}),
                         kernel_case_view(ELEMENT_F32, {1, 2, 7, 3, 1}));
            resize.mode = RESIZE_CUBIC;
            resize.cubic_a = rounding % 2 ? -0.5f : -0.75f;
            resize.exclude_outside = rounding > 1;
            check_resize(resize, kernel_case_view(ELEMENT_F32, {2, 3, 7, 5}),
                         kernel_case_view(ELEMENT_F32, {2, 3, 10, 15}));
            check_resize(resize, kernel_case_view(ELEMENT_F32, {2, 6, 5}), kernel_case_view(ELEMENT_F32, {2, 3, 1}));
        }
}

/* Windows over 1, 2 and 3 dimensions. The sizes of y follow from the others. */
static struct window windows[] = {
    {1, {3}, {1}, {1}, {1}, {1}, 1},
    {1, {2}, {2}, {3}, {0}, {0}, 1},
    {2, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1},
    {2, {2, 3}, {2, 1}, {1, 2}, {0, 2}, {1, 0}, 1},
    {2, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1},
    {2, {5, 4}, {3, 2}, {1, 1}, {4, 3}, {0, 2}, 1},
    {3, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 1}, {0, 1, 1}, 1},
};

static struct view image_of(const struct window *window, size_t batch, size_t channels) {
    struct view x = kernel_case_view(ELEMENT_F32, {batch, channels, 9, 8, 7});
    x.rank = 2 + window->spatial;
    return x;
}

static struct view result_of(const struct window *window, const struct view *x, size_t channels) {
    struct view y = *x;
    y.dims[1] = channels;
    for (int d = 0; d < window->spatial; d++) {
        size_t all = x->dims[2 + d] + window->pads[d] + window->pads_end[d];
        y.dims[2 + d] = (all - (window->kernel[d] - 1) * window->dilations[d] - 1) / window->strides[d] + 1;
    }
    return kernel_case_like(&y, ELEMENT_F32);
}

static void pools(void) {
    for (const struct window &window : windows)
        for (int choice = 0; choice < 4; choice++) {
            struct view none = {}, x = image_of(&window, 2, 3), y = result_of(&window, &x, 3);
            struct kernel_case made = kernel_case_make(OPERATION_POOL, {x}, {y, none});
            made.operation.pool.window = window;
            made.operation.pool.kind = choice == 0 ? POOL_MAX : choice == 3 ? POOL_LP : POOL_AVERAGE;
            made.operation.pool.count_padding = choice == 2;
            made.operation.pool.p = 3;
            ((float *)x.data)[5] = NAN;
            kernel_case_check(&made, choice == 0 ? 0 : choice == 3 ? 5e-6f : 1e-6f);
            kernel_case_check_rows(&made, 1);
        }
}

static void greatest_with_their_places(void) {
    for (const struct window &window : windows)
        for (enum element element : {ELEMENT_F32, ELEMENT_U8, ELEMENT_I8})
            for (bool columns : {false, true}) {
                struct view floats = image_of(&window, 2, 3), y = result_of(&window, &floats, 3);
                struct kernel_case made = kernel_case_make(
                    OPERATION_POOL, {element == ELEMENT_F32 ? floats : kernel_case_like(&floats, element)},
                    {kernel_case_like(&y, element), kernel_case_like(&y, ELEMENT_I64)});
                made.operation.pool.window = window;
                made.operation.pool.kind = POOL_MAX;
                made.operation.pool.column_major = columns;
                if (element == ELEMENT_F32)
                    ((float *)floats.data)[7] = NAN;
                kernel_case_check(&made, 0);
            }
}

static struct view weights_of(const struct window *window, size_t outputs, size_t channels) {
    struct view w = {};
    w.rank = 2 + window->spatial;
    w.dims[0] = outputs;
    w.dims[1] = channels;
    for (int d = 0; d < window->spatial; d++)
        w.dims[2 + d] = window->kernel[d];
    return kernel_case_like(&w, ELEMENT_F32);
}

static void depthwise(void) {
    for (struct window window : windows)
        for (size_t multiplier : {1, 2})
            for (size_t channels : {1, 5}) {
                struct view none = {}, x = image_of(&window, 3, channels);
                struct view y = result_of(&window, &x, channels * multiplier);
                struct view w = weights_of(&window, channels * multiplier, 1);
                window.groups = channels;
                struct kernel_case made = kernel_case_make(OPERATION_CONV, {x, w, none, none}, {y});
                made.operation.window = window;
                kernel_case_check(&made, 3e-6f);
                made.inputs[2] = kernel_case_view(ELEMENT_F32, {channels * multiplier});
                made.inputs[3] = kernel_case_like(&y, ELEMENT_F32);
                made.operation.then = {UNARY_CLIP, 0, 6};
                kernel_case_check(&made, 3e-6f);
                kernel_case_check_rows(&made, 9);
            }
}

/* Of a transposed convolution the window goes over y, and x has its results. */
static void transposed(void) {
    for (struct window window : windows)
        for (size_t groups : {1, 2}) {
            struct view none = {}, y = image_of(&window, 2, 6), x = result_of(&window, &y, 4);
            struct view w = weights_of(&window, 4, 6 / groups);
            window.groups = groups;
            struct kernel_case made = kernel_case_make(OPERATION_CONV_TRANSPOSE, {x, w, none}, {y});
            made.operation.window = window;
            kernel_case_check(&made, 1e-5f);
            made.inputs[2] = kernel_case_view(ELEMENT_F32, {6});
            kernel_case_check(&made, 1e-5f);
            kernel_case_check_rows(&made, 1);
        }
}

/* products [pixels, m] of columns and weights, group by group, as the backend's matrix products make them. */
static void multiply(const struct operation *operation, const struct view *w, const float *columns, size_t pixels,
                     float *products) {
    size_t width = view_product(w, 1, w->rank), groups = operation->window.groups, own = w->dims[0] / groups;
    for (size_t p = 0; p < pixels; p++)
        for (size_t m = 0; m < w->dims[0]; m++) {
            const float *from = columns + (m / own * pixels + p) * width, *factors = (float *)w->data + m * width;
            double sum = 0;
            for (size_t k = 0; k < width; k++)
                sum += (double)from[k] * (double)factors[k];
            products[p * w->dims[0] + m] = (float)sum;
        }
}

/* A convolution as the backend runs it: columns of `piece` pixels at a time, products, pixels placed. */
static void check_convolution(struct kernel_case *made, size_t piece) {
    const struct operation *operation = &made->operation;
    const struct view *x = &made->inputs[0], *w = &made->inputs[1], *bias = &made->inputs[2], *sum = &made->inputs[3];
    struct view *y = &made->outputs[0], expected = kernel_case_like(y, ELEMENT_F32);
    size_t pixels = y->dims[0] * view_product(y, 2, y->rank), width = view_product(w, 1, w->rank);
    size_t most_bytes = operation->window.groups * piece * width * sizeof(float), bytes = view_count(y) * sizeof(float);
    float *columns = (float *)kernel_case_host(most_bytes), *products = (float *)kernel_case_host(bytes);
    struct view x_there = *x, y_there = *y;
    x_there.data = kernel_case_upload(x->data, view_count(x) * sizeof(float), 0);
    for (size_t at = 0; at < pixels; at += piece) {
        size_t count = pixels - at < piece ? pixels - at : piece;
        void *there = kernel_case_upload(NULL, most_bytes, 0);
        KERNEL_CASE_ASSERT(cuda_im2col(&operation->window, &x_there, &y_there, at, count, (float *)there,
                                       kernel_case_stream()) == cudaSuccess);
        kernel_case_download(columns, there, most_bytes);
        multiply(operation, w, columns, count, products + at * w->dims[0]);
    }
    y_there.data = kernel_case_upload(NULL, bytes, 0);
    const void *bias_there = bias->data ? kernel_case_upload(bias->data, view_count(bias) * sizeof(float), 0) : NULL;
    const void *sum_there = sum->data ? kernel_case_upload(sum->data, bytes, 0) : NULL;
    KERNEL_CASE_ASSERT(cuda_place_pixels((const float *)kernel_case_upload(products, bytes, 0),
                                         (const float *)bias_there, (const float *)sum_there, &operation->then,
                                         &y_there, kernel_case_stream()) == cudaSuccess);
    kernel_case_download(y->data, y_there.data, bytes);
    ref_find(OPERATION_CONV)(operation, made->inputs, &expected, NULL);
    for (size_t i = 0; i < view_count(y); i++) {
        float is = ((float *)y->data)[i], wanted = ((float *)expected.data)[i];
        if (!(fabsf(is - wanted) <= 3e-6f * fmaxf(1, fabsf(wanted))))
            return kernel_case_fail("output %zu is %.9g, not %.9g", i, (double)is, (double)wanted);
    }
}

static void convolutions(void) {
    for (struct window window : windows)
        for (size_t groups : {1, 2})
            for (size_t piece : {7, 1000}) {
                struct view none = {}, x = image_of(&window, 2, 4), y = result_of(&window, &x, 34);
                struct view w = weights_of(&window, 34, 4 / groups);
                window.groups = groups;
                struct kernel_case made = kernel_case_make(OPERATION_CONV, {x, w, none, none}, {y});
                made.operation.window = window;
                made.operation.then = {UNARY_NONE, 0, 0};
                check_convolution(&made, piece);
                made.inputs[2] = kernel_case_view(ELEMENT_F32, {34});
                made.inputs[3] = kernel_case_like(&y, ELEMENT_F32);
                made.operation.then = {UNARY_SILU, 1, 0};
                check_convolution(&made, piece);
            }
}

/* More tiles than blocks. */
static void many_images(void) {
    enum { IMAGES = 2300, PIXELS = 3, CHANNELS = 2, COUNT = IMAGES * PIXELS * CHANNELS };
    struct view y = kernel_case_view(ELEMENT_F32, {IMAGES, CHANNELS, PIXELS}),
                products = kernel_case_like(&y, y.element);
    struct view there = y;
    struct unary none = {UNARY_NONE, 0, 0};
    there.data = kernel_case_upload(NULL, COUNT * sizeof(float), 0);
    const float *from = (const float *)kernel_case_upload(products.data, COUNT * sizeof(float), 0);
    KERNEL_CASE_ASSERT(cuda_place_pixels(from, NULL, NULL, &none, &there, kernel_case_stream()) == cudaSuccess);
    kernel_case_download(y.data, there.data, COUNT * sizeof(float));
    for (size_t i = 0; i < COUNT; i++) {
        size_t pixel = i / CHANNELS, image = pixel / PIXELS, channel = i % CHANNELS;
        float is = ((float *)y.data)[(image * CHANNELS + channel) * PIXELS + pixel % PIXELS];
        if (is != ((float *)products.data)[i])
            return kernel_case_fail("image %zu, channel %zu has another's pixel", image, channel);
    }
}

static void refusals(void) {
    struct view x = kernel_case_view(ELEMENT_F32, {1, 4, 9, 8}), half = kernel_case_like(&x, ELEMENT_F16), none = {};
    struct kernel_case made = kernel_case_make(OPERATION_MATMUL, {x, x}, {x, none});
    auto lacks = [&made] { return cuda_find(&made.operation, made.inputs, made.outputs) == NULL; };
    KERNEL_CASE_ASSERT(lacks());
    made.operation.kind = OPERATION_POOL;
    made.operation.pool.window = windows[2];
    KERNEL_CASE_ASSERT(!lacks());
    made.operation.pool.kind = POOL_AVERAGE;
    made.inputs[0] = half;
    KERNEL_CASE_ASSERT(lacks());
    made.inputs[0] = x;
    made.operation = {};
    made.operation.kind = OPERATION_CONV;
    made.operation.window = windows[2];
    KERNEL_CASE_ASSERT(lacks()); /* not depthwise */
    made.operation.kind = OPERATION_SOFTMAX;
    made.inputs[0] = half;
    KERNEL_CASE_ASSERT(lacks());
    for (enum operation_kind kind : {OPERATION_CONV_TRANSPOSE, OPERATION_TOPK, OPERATION_EINSUM, OPERATION_RECURRENT,
                                     OPERATION_QLINEAR_MATMUL, OPERATION_MATMUL_INTEGER, OPERATION_QLINEAR_CONV}) {
        made.operation.kind = kind;
        KERNEL_CASE_ASSERT(lacks());
    }
}

static const struct kernel_case_test tests[] = {
    {"transposes move every element in all orders of dimensions", transposes},
    {"slices step forwards and backwards", slices},
    {"expand, tile and trilu are exact", expansions},
    {"any number of inputs, empty ones among them, is concatenated", concatenations},
    {"pads of all four modes are exact, negative ones too", pads},
    {"gathers take negative indices from the end and give zeros where they are out of range", gathers},
    {"resizing finds the nearest element exactly and blends linearly and cubically", resizes},
    {"pools over one to three dimensions agree, a row alone too", pools},
    {"the greatest under a window is told with its place", greatest_with_their_places},
    {"depthwise convolutions agree with bias, sum and activation, a row alone too", depthwise},
    {"transposed convolutions agree, with and without bias, a row alone too", transposed},
    {"columns, products and placed pixels make any convolution", convolutions},
    {"pixels of more images than a grid has blocks find their places", many_images},
    {"what has no kernel is refused", refusals},
};

int main(int argc, char **argv) {
    return kernel_case_main(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
