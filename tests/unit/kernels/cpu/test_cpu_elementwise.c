#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/cpu_elementwise.h"
#include "kernels/ref/ref_elementwise.h"

/* Each kind with parameters that do something, and how far it may be from the oracle: as a part of the result, or for
 * results up to 1 in size absolutely. */
static const struct {
    struct unary unary;
    float relative, absolute;
} kinds[] = {
    {{UNARY_NONE, 0, 0}, 0, 0},
    {{UNARY_RELU, 0, 0}, 0, 0},
    {{UNARY_LEAKY_RELU, 0.01f, 0}, 0, 0},
    {{UNARY_CLIP, -0.5f, 1.5f}, 0, 0},
    {{UNARY_SIGMOID, 0, 0}, 3e-7f, 0},
    {{UNARY_TANH, 0, 0}, 3e-7f, 0},
    {{UNARY_ELU, 1.5f, 0}, 3e-7f, 0},
    {{UNARY_SELU, 1.67326319f, 1.05070102f}, 3e-7f, 0},
    {{UNARY_CELU, 1.5f, 0}, 4e-7f, 0},
    {{UNARY_CELU, -1.5f, 0}, 4e-7f, 0},
    {{UNARY_HARD_SIGMOID, 0.2f, 0.5f}, 0, 6e-8f},
    {{UNARY_HARD_SWISH, 0, 0}, 3e-7f, 1e-7f},
    {{UNARY_SOFTPLUS, 0, 0}, 3e-7f, 0},
    {{UNARY_SOFTSIGN, 0, 0}, 3e-7f, 0},
    {{UNARY_THRESHOLDED_RELU, 1, 0}, 0, 0},
    {{UNARY_SHRINK, 0.5f, 0.25f}, 0, 0},
    {{UNARY_GELU_ERF, 0, 0}, 2e-6f, 2e-7f},
    {{UNARY_GELU_TANH, 0, 0}, 3e-7f, 2e-7f},
    {{UNARY_SILU, 1.702f, 0}, 3e-7f, 2e-7f},
    {{UNARY_MISH, 0, 0}, 4e-7f, 1e-7f},
    {{UNARY_ERF, 0, 0}, 3e-7f, 0},
    {{UNARY_SQRT, 0, 0}, 0, 0},
    {{UNARY_RECIPROCAL, 0, 0}, 0, 0},
    {{UNARY_EXP, 0, 0}, 3e-7f, 0},
    {{UNARY_LOG, 0, 0}, 3e-7f, 0},
    {{UNARY_NEGATE, 0, 0}, 0, 0},
    {{UNARY_ABSOLUTE, 0, 0}, 0, 0},
    {{UNARY_SIGN, 0, 0}, 0, 0},
    {{UNARY_FLOOR, 0, 0}, 0, 0},
    {{UNARY_CEIL, 0, 0}, 0, 0},
    {{UNARY_ROUND, 0, 0}, 0, 0},
    {{UNARY_SIN, 0, 0}, 0, 0},
    {{UNARY_COS, 0, 0}, 0, 0},
    {{UNARY_ATANH, 0, 0}, 0, 0},
    {{UNARY_SCALE, 2, 1}, 0, 1e-7f},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool close_enough(int k, float expected, float y) {
    if (isnan(expected))
        return isnan(y);
    if (expected == y)
        return true;
    double away = fabs((double)y - (double)expected), size = fabs((double)expected);
    return away <= (double)kinds[k].relative * size || (size <= 1 && away <= (double)kinds[k].absolute) ||
           away <= 0x1p-149; /* the last bit of a subnormal */
}

static void check(int k, const float *x, float *y, size_t count) {
    cpu_elementwise_unary(&kinds[k].unary, x, y, count);
    for (size_t i = 0; i < count; i++) {
        float expected = ref_unary_value(&kinds[k].unary, x[i]);
        cr_assert(close_enough(k, expected, y[i]), "%s of %.9g: %.9g, expected %.9g",
                  operation_unary_text(kinds[k].unary.kind), (double)x[i], (double)y[i], (double)expected);
    }
}

Test(cpu_elementwise, functions_agree_with_the_oracle) {
    enum { COUNT = 20000 };
    static float x[COUNT], y[COUNT];
    for (int k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < COUNT; i++)
            x[i] = -6.0f + 12.0f * (float)i / COUNT;
        check(k, x, y, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            x[i] = -20.0f + 40.0f * (float)i / COUNT;
        if (kinds[k].unary.kind != UNARY_GELU_TANH && kinds[k].unary.kind != UNARY_GELU_ERF)
            check(k, x, y, COUNT);
    }
}

Test(cpu_elementwise, exp_log_and_their_kin_are_right_over_the_whole_range) {
    static const enum unary_kind wide[] = {UNARY_EXP, UNARY_LOG, UNARY_TANH, UNARY_SIGMOID, UNARY_ERF, UNARY_SOFTPLUS};
    enum { COUNT = 1 << 16 };
    static float x[COUNT], y[COUNT];
    for (size_t i = 0; i < COUNT; i++) { /* every exponent, both signs, NaNs */
        uint32_t bits = (uint32_t)i << 16 | (uint32_t)(i * 40503 & 0xffff);
        memcpy(&x[i], &bits, sizeof bits);
    }
    for (int k = 0; k < KINDS; k++)
        for (size_t w = 0; w < sizeof wide / sizeof wide[0]; w++)
            if (kinds[k].unary.kind == wide[w])
                check(k, x, y, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = -110.0f + 200.0f * (float)i / COUNT;
    for (int k = 0; k < KINDS; k++)
        if (kinds[k].unary.kind == UNARY_EXP || kinds[k].unary.kind == UNARY_SIGMOID)
            check(k, x, y, COUNT);
}

Test(cpu_elementwise, the_edges_are_right) {
    static float x[] = {NAN,      -NAN,   INFINITY, -INFINITY, 0.0f,      -0.0f,  FLT_MAX, -FLT_MAX, FLT_MIN,
                        -FLT_MIN, 1e-45f, -1e-45f,  88.7f,     88.72283f, -87.3f, -103.9f, 3,        -3};
    enum { COUNT = sizeof x / sizeof x[0] };
    float y[COUNT];
    for (int k = 0; k < KINDS; k++)
        check(k, x, y, COUNT);
    cpu_elementwise_unary(&(struct unary){UNARY_TANH, 0, 0}, x, y, COUNT);
    cr_assert(y[2] == 1 && y[3] == -1 && signbit(y[5]));
    cpu_elementwise_unary(&(struct unary){UNARY_EXP, 0, 0}, x, y, COUNT);
    cr_assert(isinf(y[2]) && y[3] == 0 && y[4] == 1 && isinf(y[6]) && !isinf(y[13]));
    cpu_elementwise_unary(&(struct unary){UNARY_LOG, 0, 0}, x, y, COUNT);
    cr_assert(isinf(y[2]) && isnan(y[3]) && y[4] == -INFINITY && y[5] == -INFINITY && isnan(y[9]));
}

Test(cpu_elementwise, a_result_depends_neither_on_its_place_nor_on_the_count) {
    float x[100], whole[100], part[100];
    for (size_t i = 0; i < 100; i++)
        x[i] = -5.0f + 0.1003f * (float)i;
    for (int k = 0; k < KINDS; k++) {
        cpu_elementwise_unary(&kinds[k].unary, x, whole, 100);
        for (size_t count = 0; count < 70; count += 23) {
            part[count] = 77;
            cpu_elementwise_unary(&kinds[k].unary, x + 17, part, count);
            cr_assert(part[count] == 77);
            cr_assert(count == 0 || memcmp(part, whole + 17, count * sizeof *part) == 0);
        }
        memcpy(part, x, sizeof x); /* in place */
        cpu_elementwise_unary(&kinds[k].unary, part, part, 100);
        cr_assert(memcmp(part, whole, sizeof part) == 0);
    }
}

static void run(const struct operation *operation, const struct view *x, const struct view *y) {
    operation_function function = cpu_elementwise_find(operation, x, y);
    cr_assert_not_null(function);
    function(operation, x, y, NULL);
}

Test(cpu_elementwise, large_tensors_are_done_in_pieces) {
    enum { ROWS = 101, COLS = 1009 };
    static float x[ROWS * COLS], y[ROWS * COLS];
    struct view in = {x, ELEMENT_F32, 2, {ROWS, COLS}}, out = {y, ELEMENT_F32, 2, {ROWS, COLS}};
    struct operation operation = {.kind = OPERATION_UNARY, .unary = {UNARY_SCALE, 2, 1}};
    for (size_t i = 0; i < ROWS * COLS; i++)
        x[i] = (float)i;
    run(&operation, &in, &out);
    for (size_t i = 0; i < ROWS * COLS; i++)
        cr_assert_eq(y[i], 2 * (float)i + 1);
}

Test(cpu_elementwise, copies_are_bytes_whatever_the_element) {
    int64_t x[6] = {1, -2, 3, -4, 5, -6}, y[6] = {0};
    struct view in = {x, ELEMENT_I64, 2, {2, 3}}, out = {y, ELEMENT_I64, 1, {6}};
    struct operation operation = {.kind = OPERATION_COPY};
    run(&operation, &in, &out);
    cr_assert_arr_eq(x, y, sizeof x);
    in.dims[0] = out.dims[0] = 0;
    in.data = out.data = NULL;
    run(&operation, &in, &out);
}

Test(cpu_elementwise, what_it_does_not_have_is_the_oracles) {
    struct view floats = {NULL, ELEMENT_F32, 1, {4}}, integers = {NULL, ELEMENT_I64, 1, {4}};
    struct view bools = {NULL, ELEMENT_BOOL, 1, {4}};
    struct operation operation = {.kind = OPERATION_UNARY, .unary = {UNARY_NEGATE, 0, 0}};
    cr_assert_null(cpu_elementwise_find(&operation, &integers, &integers));
    operation.unary.kind = UNARY_IS_NAN;
    cr_assert_null(cpu_elementwise_find(&operation, &floats, &bools));
    operation = (struct operation){.kind = OPERATION_SOFTMAX};
    cr_assert_null(cpu_elementwise_find(&operation, &floats, &floats));
}
