#include <criterion/criterion.h>
#include <math.h>

#include "kernels/cpu/cpu_reduce.h"
#include "kernels/ref/ref.h"

enum { MOST = 1 << 20 };

static float x[MOST], y[MOST], expected[MOST];
static int64_t at[4096], expected_at[4096];
static unsigned state = 7;

static unsigned next(unsigned below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void fill(size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = (float)next(20001) / 1000.0f - 10.0f;
}

static void check(const struct operation *operation, const struct view *in, double scale) {
    struct view out = {y, ELEMENT_F32, 0, {0}};
    size_t count = 1;
    for (int i = 0; i < in->rank; i++)
        count *= operation->reduce.axes >> i & 1 ? 1 : in->dims[i];
    out.data = expected;
    ref_find(OPERATION_REDUCE)(operation, in, &out, NULL);
    out.data = y;
    operation_function kernel = cpu_reduce_find(operation, in, &out);
    cr_assert(kernel);
    kernel(operation, in, &out, NULL);
    for (size_t i = 0; i < count; i++)
        cr_assert(y[i] == expected[i] || (isnan(y[i]) && isnan(expected[i])) || fabs(y[i] - expected[i]) < scale,
                  "kind %d, %zu: %.9g, not %.9g", (int)operation->reduce.kind, i, (double)y[i], (double)expected[i]);
}

static const enum reduce_kind kinds[] = {REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX,       REDUCE_MIN,
                                         REDUCE_L1,  REDUCE_L2,   REDUCE_SUM_SQUARE};

Test(cpu_reduce, neighbouring_dimensions_agree_with_the_oracle) {
    static const uint32_t axes[] = {8, 12, 14, 15, 1, 3, 7, 2, 4, 6};
    for (int round = 0; round < 400; round++) {
        struct view in = {x, ELEMENT_F32, 4, {1 + next(4), 1 + next(9), 1 + next(7), 1 + next(40)}};
        struct operation operation = {.kind = OPERATION_REDUCE, .reduce = {kinds[next(7)], axes[round % 10]}};
        fill(view_count(&in));
        if (round % 9 == 0)
            x[next((unsigned)view_count(&in))] = round % 18 ? NAN : INFINITY;
        check(&operation, &in, operation.reduce.kind == REDUCE_SUM_SQUARE ? 0.2 : 5e-3);
    }
}

Test(cpu_reduce, long_sums_lose_little) {
    struct view in = {x, ELEMENT_F32, 1, {MOST - 5}};
    struct operation operation = {.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 1}};
    for (size_t i = 0; i < MOST; i++)
        x[i] = 0.1f;
    check(&operation, &in, 0.15); /* of 104857 */
    in = (struct view){x, ELEMENT_F32, 2, {MOST / 3, 3}};
    check(&operation, &in, 0.15);
}

Test(cpu_reduce, dimensions_of_one_may_lie_between) {
    struct view in = {x, ELEMENT_F32, 4, {3, 5, 1, 7}}, out = {y, ELEMENT_F32, 1, {3}};
    struct operation operation = {.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 2 | 8}};
    fill(105);
    check(&operation, &in, 1e-4);
    in.dims[2] = 2;
    cr_assert_null(cpu_reduce_find(&operation, &in, &out));
}

Test(cpu_reduce, arg_agrees_with_the_oracle) {
    for (int round = 0; round < 200; round++) {
        struct view in = {x, ELEMENT_F32, 2, {1 + next(9), 1 + next(100)}}, out = {at, ELEMENT_I64, 1, {0}};
        struct operation operation = {.kind = OPERATION_ARG, .arg = {1, round & 1, round & 2}};
        for (size_t i = 0; i < view_count(&in); i++)
            x[i] = (float)next(20);
        if (round % 7 == 0)
            x[next((unsigned)view_count(&in))] = NAN;
        cpu_reduce_find(&operation, &in, &out)(&operation, &in, &out, NULL);
        out.data = expected_at;
        ref_find(OPERATION_ARG)(&operation, &in, &out, NULL);
        for (size_t i = 0; i < in.dims[0]; i++)
            cr_assert_eq(at[i], expected_at[i], "round %d, row %zu", round, i);
    }
}

Test(cpu_reduce, what_it_cannot_do_is_left_to_the_oracle) {
    struct view in = {x, ELEMENT_I32, 2, {2, 2}}, out = {y, ELEMENT_I32, 1, {2}};
    struct operation operation = {.kind = OPERATION_REDUCE, .reduce = {REDUCE_SUM, 2}};
    cr_assert_null(cpu_reduce_find(&operation, &in, &out));
    in.element = ELEMENT_F32;
    operation.reduce.kind = REDUCE_PRODUCT;
    cr_assert_null(cpu_reduce_find(&operation, &in, &out));
    operation = (struct operation){.kind = OPERATION_ARG, .arg = {.axis = 0}};
    cr_assert_null(cpu_reduce_find(&operation, &in, &out));
}
