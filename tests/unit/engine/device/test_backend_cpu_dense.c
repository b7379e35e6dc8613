#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/backend_cpu_dense.h"
#include "kernels/ref/ref_dense.h"
#include "kernels/ref/ref_elementwise.h"

enum { MAX_ROWS = 33 };

static struct weir_error err;
static struct backend_cpu_device device;
static char text[128];

static void open_device(void) {
    backend_cpu_device_use_threads(1);
    cr_assert_eq(backend_cpu_device_open(&device, text, sizeof text, &err), WEIR_OK, "%s", err.text);
}

static void close_device(void) {
    backend_cpu_device_close(&device);
}

TestSuite(backend_cpu_dense, .init = open_device, .fini = close_device);

struct layer {
    struct program_step step;
    struct backend_cpu_dense dense;
    float *x, *y, *alone, *expected;
    size_t in, out;
};

static float random_number(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) * 0x1p-24f - 0.5f;
}

static float *numbers(size_t count) {
    float *made = aligned_alloc(64, (count * sizeof *made / 64 + 1) * 64);
    for (size_t i = 0; i < count; i++)
        made[i] = random_number();
    return made;
}

static void make_layer(struct layer *layer, size_t in, size_t out, struct activation activation) {
    memset(layer, 0, sizeof *layer);
    layer->in = in;
    layer->out = out;
    layer->step.kind = PROGRAM_DENSE;
    layer->step.activation = activation;
    layer->step.dense = (struct program_dense){1, in, out, numbers(in * out), numbers(out)};
    layer->x = numbers(MAX_ROWS * in);
    layer->y = numbers(MAX_ROWS * out);
    layer->alone = numbers(out);
    layer->expected = numbers(MAX_ROWS * out);
    struct ref_dense_layer oracle = {layer->step.dense.weights, layer->step.dense.bias, in, out};
    ref_dense_run(&oracle, layer->x, layer->expected, MAX_ROWS);
    ref_elementwise_activate(&activation, layer->expected, layer->expected, MAX_ROWS * out);
    cr_assert_eq(backend_cpu_dense_pack(&device, &layer->step, MAX_ROWS, &layer->dense, &err), WEIR_OK, "%s", err.text);
    memset(layer->step.dense.weights, 0xFF, in * out * sizeof(float)); /* not needed any more */
}

static void release_layer(struct layer *layer) {
    backend_cpu_dense_release(&layer->dense);
    free(layer->step.dense.weights);
    free(layer->step.dense.bias);
    free(layer->x);
    free(layer->y);
    free(layer->alone);
    free(layer->expected);
}

static void run(struct layer *layer, const float *x, float *y, size_t rows) {
    struct backend_cpu_dense_place place = {x, y, rows};
    struct backend_cpu_dense_run prepared;
    cr_assert_eq(backend_cpu_dense_prepare(&device, &layer->dense, &place, &prepared, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(backend_cpu_dense_execute(&device, &layer->dense, &prepared, &err), WEIR_OK, "%s", err.text);
    backend_cpu_dense_run_release(&prepared);
}

static const struct {
    size_t in, out;
} shapes[] = {{4, 3}, {1, 5}, {64, 10}, {100, 33}, {784, 512}, {63, 1}, {1030, 17}};

Test(backend_cpu_dense, every_shape_and_activation_agrees_with_the_oracle) {
    static const struct activation activations[] = {{ACTIVATION_NONE, 0, 0},          {ACTIVATION_RELU, 0, 0},
                                                    {ACTIVATION_LEAKY_RELU, 0.1f, 0}, {ACTIVATION_LEAKY_RELU, 0, 0},
                                                    {ACTIVATION_CLIP, -0.5f, 0.5f},   {ACTIVATION_SIGMOID, 0, 0},
                                                    {ACTIVATION_TANH, 0, 0}};
    static const size_t rows[] = {1, 2, 7, 16, MAX_ROWS};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t a = 0; a < sizeof activations / sizeof activations[0]; a++) {
            struct layer layer;
            make_layer(&layer, shapes[s].in, shapes[s].out, activations[a]);
            for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
                run(&layer, layer.x, layer.y, rows[r]);
                for (size_t i = 0; i < rows[r] * layer.out; i++)
                    cr_assert(fabsf(layer.y[i] - layer.expected[i]) <= 1e-5f * fmaxf(1, fabsf(layer.expected[i])),
                              "shape %zu, activation %zu, %zu rows, element %zu: %g, not %g", s, a, rows[r], i,
                              layer.y[i], layer.expected[i]);
            }
            cr_assert_eq(layer.dense.packing_count, 1, "shape %zu needs %d packings", s, layer.dense.packing_count);
            release_layer(&layer);
        }
}

Test(backend_cpu_dense, a_row_has_the_same_bits_alone_and_among_others_where_the_library_packs) {
    struct activation relu = {ACTIVATION_RELU, 0, 0};
    if (!strstr(text, "avx512"))
        cr_skip_test("without AVX-512 oneDNN takes another path, whose sums depend on the number of rows");
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct layer layer;
        make_layer(&layer, shapes[s].in, shapes[s].out, relu);
        for (size_t rows = 2; rows <= MAX_ROWS; rows++) {
            run(&layer, layer.x, layer.y, rows);
            for (size_t row = 0; row < rows; row += rows / 2) {
                run(&layer, layer.x + row * layer.in, layer.alone, 1);
                cr_assert(memcmp(layer.alone, layer.y + row * layer.out, layer.out * sizeof(float)) == 0,
                          "shape %zu, row %zu of %zu", s, row, rows);
            }
        }
        release_layer(&layer);
    }
}

Test(backend_cpu_dense, nothing_behind_the_rows_is_written) {
    struct layer layer;
    make_layer(&layer, 100, 33, (struct activation){ACTIVATION_RELU, 0, 0});
    for (size_t rows = 1; rows < MAX_ROWS; rows += 5) {
        for (size_t i = 0; i < MAX_ROWS * layer.out; i++)
            layer.y[i] = -77;
        run(&layer, layer.x, layer.y, rows);
        for (size_t i = rows * layer.out; i < MAX_ROWS * layer.out; i++)
            cr_assert(layer.y[i] == -77, "%zu rows, element %zu", rows, i);
    }
    release_layer(&layer);
}

Test(backend_cpu_dense, a_nan_or_infinity_in_one_row_leaves_the_others_alone_and_is_not_hidden) {
    for (int kind = ACTIVATION_NONE; kind <= ACTIVATION_TANH; kind++) {
        struct layer layer;
        make_layer(&layer, 64, 10, (struct activation){(enum activation_kind)kind, 0.1f, 2.0f});
        layer.x[3 * layer.in + 5] = NAN;
        run(&layer, layer.x, layer.y, 8);
        for (size_t i = 0; i < 8 * layer.out; i++)
            if (i / layer.out == 3)
                cr_assert(isnan(layer.y[i]), "activation %d hides a NaN behind %g", kind, layer.y[i]);
            else
                cr_assert_float_eq(layer.y[i], layer.expected[i], 1e-5);
        release_layer(&layer);
    }
}

Test(backend_cpu_dense, a_denormal_survives) {
    static float w[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
    static const float x[4] = {-1e-45f, 123456.789f, 0, 0};
    float y[3];
    struct layer layer = {.in = 4, .out = 3};
    layer.step.kind = PROGRAM_DENSE;
    layer.step.dense = (struct program_dense){1, 4, 3, w, NULL};
    cr_assert_eq(backend_cpu_dense_pack(&device, &layer.step, 1, &layer.dense, &err), WEIR_OK, "%s", err.text);
    run(&layer, x, y, 1);
    cr_assert(y[0] == -1e-45f && y[0] != 0 && y[1] == 123456.789f, "%g", y[0]);
    backend_cpu_dense_release(&layer.dense);
}

Test(backend_cpu_dense, the_device_says_what_it_is) {
    cr_assert_not_null(strstr(text, "oneDNN "));
    cr_assert_not_null(strstr(text, ", "));
}
