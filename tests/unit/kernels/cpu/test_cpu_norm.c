#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/cpu_lanes.h"
#include "kernels/cpu/cpu_norm.h"
#include "kernels/ref/ref.h"

enum { MOST = 1 << 16 };

static float x[MOST], y[MOST], expected[MOST], parameters[4][4096];
static unsigned state = 1;

static float random_float(float from, float to) {
    state = state * 1664525u + 1013904223u;
    return from + (to - from) * (float)(state >> 8) / 16777216.0f;
}

static size_t random_size(size_t from, size_t to) {
    state = state * 1664525u + 1013904223u;
    return from + (state >> 8) % (to - from + 1);
}

static void fill(float *values, size_t count, float from, float to) {
    for (size_t i = 0; i < count; i++)
        values[i] = random_float(from, to);
}

static struct view floats(float *data, int rank, const size_t *dims) {
    struct view view = {data, ELEMENT_F32, rank, {0}};
    for (int i = 0; i < rank; i++)
        view.dims[i] = dims[i];
    return view;
}

static void compare(size_t count, float tolerance) {
    for (size_t i = 0; i < count; i++) {
        if (isnan(expected[i]))
            cr_assert(isnan(y[i]), "%zu: %g", i, (double)y[i]);
        else
            cr_assert(y[i] == expected[i] || fabsf(y[i] - expected[i]) <= tolerance * fmaxf(1.0f, fabsf(expected[i])),
                      "%zu: %.9g, not %.9g", i, (double)y[i], (double)expected[i]);
    }
}

static void check(const struct operation *operation, struct view *in, struct view *out, float tolerance) {
    out[0].data = expected;
    ref_find(operation->kind)(operation, in, out, NULL);
    out[0].data = y;
    operation_function kernel = cpu_norm_find(operation, in, out);
    cr_assert(kernel);
    kernel(operation, in, out, NULL);
    compare(view_count(&out[0]), tolerance);
}

/* For doubles: how far is the float from it, relative to it? */
static double error_of(float is, double exact) {
    return fabs(is - exact) / fabs(exact);
}

Test(cpu_norm, exp_is_within_3e_7_and_tanh_and_sigmoid_too) {
    double worst_exp = 0, worst_tanh = 0, worst_sigmoid = 0;
    for (int i = 0; i < 200000; i++) {
        float at = (float)i * (87.0f / 200000) * (i & 1 ? -1.0f : 1.0f), part[LANE_COUNT];
        lanes_store(part, lanes_exp(lanes_of(at)));
        worst_exp = fmax(worst_exp, error_of(part[i % LANE_COUNT], exp(at)));
        lanes_store(part, lanes_sigmoid(lanes_of(at)));
        worst_sigmoid = fmax(worst_sigmoid, error_of(part[0], 1 / (1 + exp(-(double)at))));
        at /= 8;
        lanes_store(part, lanes_tanh(lanes_of(at)));
        worst_tanh = at == 0 ? worst_tanh : fmax(worst_tanh, error_of(part[15], tanh(at)));
    }
    cr_assert_lt(worst_exp, 3e-7, "%g", worst_exp);
    cr_assert_lt(worst_sigmoid, 4e-7, "%g", worst_sigmoid);
    cr_assert_lt(worst_tanh, 4e-7, "%g", worst_tanh);
}

Test(cpu_norm, exp_ends_in_zero_and_keeps_nan) {
    float part[LANE_COUNT] = {-INFINITY, -1000, -88, 0, NAN, 88};
    lanes_store(part, lanes_exp(lanes_load(part)));
    cr_assert(part[0] == 0 && part[1] == 0 && part[2] == 0 && part[3] == 1 && isnan(part[4]));
    cr_assert(error_of(part[5], exp(88)) < 3e-7);
}

Test(cpu_norm, softmax_agrees_with_the_oracle_on_any_shape) {
    for (int round = 0; round < 300; round++) {
        size_t dims[3] = {random_size(1, 5), random_size(1, 70), random_size(1, 40)};
        struct operation operation = {.kind = OPERATION_SOFTMAX, .softmax = {.axis = round % 3, .log = round & 8}};
        operation.softmax.flat = operation.softmax.axis == 1 && round & 1;
        struct view in = floats(x, 3, dims), out = in;
        fill(x, view_count(&in), -20, 20);
        if (round % 10 == 0)
            x[random_size(0, view_count(&in) - 1)] = round % 20 ? -INFINITY : NAN;
        check(&operation, &in, &out, 2e-6f);
    }
}

Test(cpu_norm, masked_elements_are_exactly_zero_and_softmax_works_in_place) {
    float row[19];
    struct operation operation = {.kind = OPERATION_SOFTMAX, .softmax = {.axis = 0}};
    struct view view = {row, ELEMENT_F32, 1, {19}};
    for (int i = 0; i < 19; i++)
        row[i] = i % 2 ? -3.4e38f : 3e38f;
    cpu_norm_find(&operation, &view, &view)(&operation, &view, &view, NULL);
    for (int i = 0; i < 19; i++)
        cr_assert_eq(row[i], i % 2 ? 0.0f : 0.1f);
}

Test(cpu_norm, a_softmax_with_an_empty_dimension_does_nothing) {
    struct operation operation = {.kind = OPERATION_SOFTMAX, .softmax = {.axis = 1}};
    struct view view = {x, ELEMENT_F32, 2, {3, 0}};
    x[0] = 5;
    cpu_norm_find(&operation, &view, &view)(&operation, &view, &view, NULL);
    cr_assert_eq(x[0], 5);
}

Test(cpu_norm, layer_norm_agrees_with_the_oracle_far_from_zero_too) {
    float mean[8], inverse[8], expected_mean[8], expected_inverse[8];
    for (int round = 0; round < 200; round++) {
        size_t dims[3] = {random_size(1, 8), random_size(1, 9), random_size(1, 90)};
        size_t one[3] = {dims[0], 1, 1}, length = dims[1] * dims[2];
        float offset = round % 3 == 0 ? 1000.0f : 0.0f;
        struct operation operation = {.kind = OPERATION_LAYER_NORM, .norm = {.axis = 1, .epsilon = 1e-5f}};
        struct view in[3] = {floats(x, 3, dims), floats(parameters[0], 1, &length), floats(parameters[1], 1, &length)};
        struct view out[3] = {floats(y, 3, dims), floats(expected_mean, 3, one), floats(expected_inverse, 3, one)};
        fill(x, view_count(&in[0]), offset - 2, offset + 3);
        fill(parameters[0], length, -2, 2);
        fill(parameters[1], length, -2, 2);
        if (round & 1)
            in[2].data = NULL;
        out[0].data = expected;
        ref_find(OPERATION_LAYER_NORM)(&operation, in, out, NULL);
        out[0].data = y;
        out[1].data = round & 2 ? mean : NULL;
        out[2].data = round & 2 ? inverse : NULL;
        cpu_norm_find(&operation, in, out)(&operation, in, out, NULL);
        if (length > 8) /* the differences of few numbers near 1000 have few bits */
            compare(view_count(&in[0]), offset == 0 ? 4e-6f : 4e-4f);
        for (size_t i = 0; round & 2 && i < dims[0]; i++) {
            cr_assert_float_eq(mean[i], expected_mean[i], 1e-6f * fmaxf(1, fabsf(expected_mean[i])));
            cr_assert(length < 9 || fabsf(inverse[i] - expected_inverse[i]) < 1e-4f * expected_inverse[i]);
        }
    }
}

Test(cpu_norm, batch_and_instance_norm_agree_with_the_oracle) {
    for (int round = 0; round < 200; round++) {
        size_t each = random_size(1, 6), groups = random_size(1, 8);
        size_t dims[3] = {random_size(1, 4), each * groups, random_size(1, 50)};
        int rank = round % 5 == 0 ? 2 : 3;
        struct operation operation = {.kind = OPERATION_BATCH_NORM, .norm = {.epsilon = 1e-5f}};
        struct view in[5] = {floats(x, rank, dims)}, out = in[0];
        fill(x, view_count(&in[0]), -3, 5);
        for (int i = 0; i < 4; i++) {
            fill(parameters[i], dims[1], i == 3 ? 0.1f : -2, 2);
            in[i + 1] = floats(parameters[i], 1, &dims[1]);
        }
        check(&operation, in, &out, 3e-6f);
        operation.kind = OPERATION_INSTANCE_NORM;
        operation.norm.epsilon = 0.01f;
        operation.norm.groups = round & 1 ? groups : 0;
        check(&operation, in, &out, 1e-5f);
    }
}

Test(cpu_norm, what_is_not_float_or_hard_is_left_to_the_oracle) {
    struct operation operation = {.kind = OPERATION_SOFTMAX, .softmax = {.hard = true}};
    struct view view = {x, ELEMENT_F32, 1, {4}};
    cr_assert_null(cpu_norm_find(&operation, &view, &view));
    operation.kind = OPERATION_LRN;
    cr_assert_null(cpu_norm_find(&operation, &view, &view));
}
