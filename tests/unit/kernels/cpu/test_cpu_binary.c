#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_binary.h"
#include "kernels/ref/ref_binary.h"

static uint64_t seed = 1;

static uint32_t draw(void) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(seed >> 33);
}

static struct view view(enum element element, int rank, const size_t *dims) {
    struct view out = {.element = element, .rank = rank};
    for (int i = 0; i < rank; i++)
        out.dims[i] = dims[i];
    out.data = calloc(view_count(&out) + 1, view_element_bytes(element));
    return out;
}

static void fill(const struct view *x) {
    size_t count = view_count(x);
    for (size_t i = 0; i < count; i++) {
        if (x->element == ELEMENT_F32)
            ((float *)x->data)[i] = draw() % 50 == 0   ? NAN
                                    : draw() % 50 == 0 ? INFINITY
                                                       : (float)(draw() % 9) - 4 + 0.5f * (float)(draw() % 2);
        else if (x->element == ELEMENT_I32)
            ((int32_t *)x->data)[i] = (int32_t)(draw() % 7) - 3;
        else if (x->element == ELEMENT_I64)
            ((int64_t *)x->data)[i] = (int64_t)(draw() % 7) - 3;
        else
            ((uint8_t *)x->data)[i] = draw() % 2;
    }
}

/* Same numbers, or both NaN. */
static bool same(const struct view *a, const struct view *b, float tolerance) {
    size_t count = view_count(a);
    if (a->element != ELEMENT_F32)
        return memcmp(a->data, b->data, count * view_element_bytes(a->element)) == 0;
    for (size_t i = 0; i < count; i++) {
        float left = ((const float *)a->data)[i], right = ((const float *)b->data)[i];
        if (!(left == right || (isnan(left) && isnan(right)) || fabsf(left - right) <= tolerance * fabsf(right)))
            return false;
    }
    return true;
}

static void compare(enum binary_kind kind, struct view a, struct view b, struct view y) {
    struct operation operation = {.kind = OPERATION_BINARY, .binary = kind};
    struct view inputs[2] = {a, b}, expected = view(y.element, y.rank, y.dims);
    operation_function function = cpu_binary_find(&operation, inputs, &y);
    cr_assert_not_null(function, "%s", operation_binary_text(kind));
    fill(&a);
    fill(&b);
    ref_binary(&operation, inputs, &expected, NULL);
    function(&operation, inputs, &y, NULL);
    cr_assert(same(&y, &expected, kind == BINARY_POWER ? 2e-7f : 0), "%s, rank %d", operation_binary_text(kind),
              y.rank);
    free(expected.data);
}

static const struct {
    int a_rank, b_rank, y_rank;
    size_t a[4], b[4], y[4];
} shapes[] = {
    {0, 0, 0, {0}, {0}, {0}},                               /* numbers */
    {1, 1, 1, {1}, {1}, {1}},                               /* lists of one */
    {2, 2, 2, {7, 13}, {7, 13}, {7, 13}},                   /* the same */
    {2, 0, 2, {9, 11}, {0}, {9, 11}},                       /* with a number */
    {0, 2, 2, {0}, {9, 11}, {9, 11}},                       /* a number with */
    {3, 1, 3, {3, 5, 67}, {67}, {3, 5, 67}},                /* a bias */
    {1, 2, 2, {33}, {4, 33}, {4, 33}},                      /* a bias on the left */
    {4, 3, 4, {2, 3, 5, 7}, {3, 1, 1}, {2, 3, 5, 7}},       /* by channel */
    {2, 2, 2, {5, 1}, {1, 41}, {5, 41}},                    /* outer product */
    {4, 4, 4, {2, 1, 3, 1}, {1, 4, 1, 5}, {2, 4, 3, 5}},    /* crossed */
    {4, 4, 4, {2, 3, 4, 32}, {2, 1, 1, 32}, {2, 3, 4, 32}}, /* a mask over heads */
    {3, 3, 3, {6, 3, 2}, {1, 3, 1}, {6, 3, 2}},             /* small rows */
    {2, 2, 2, {0, 3}, {1, 3}, {0, 3}},                      /* nothing */
    {2, 1, 2, {3, 17000}, {17000}, {3, 17000}},             /* rows in pieces */
    {2, 2, 2, {3, 17000}, {3, 1}, {3, 17000}},              /* likewise */
};

static void compare_all(enum binary_kind kind, enum element element, enum element result) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct view a = view(element, shapes[i].a_rank, shapes[i].a), b = view(element, shapes[i].b_rank, shapes[i].b);
        struct view y = view(result, shapes[i].y_rank, shapes[i].y);
        compare(kind, a, b, y);
        free(a.data);
        free(b.data);
        free(y.data);
    }
}

Test(cpu_binary, arithmetic_agrees_with_the_oracle_over_all_shapes) {
    static const enum binary_kind kinds[] = {BINARY_ADD,     BINARY_SUBTRACT, BINARY_MULTIPLY, BINARY_DIVIDE,
                                             BINARY_MINIMUM, BINARY_MAXIMUM,  BINARY_PRELU,    BINARY_POWER};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        compare_all(kinds[i], ELEMENT_F32, ELEMENT_F32);
}

Test(cpu_binary, comparisons_agree_for_all_elements) {
    for (int kind = BINARY_EQUAL; kind <= BINARY_GREATER_EQUAL; kind++) {
        compare_all((enum binary_kind)kind, ELEMENT_F32, ELEMENT_BOOL);
        compare_all((enum binary_kind)kind, ELEMENT_I32, ELEMENT_BOOL);
        compare_all((enum binary_kind)kind, ELEMENT_I64, ELEMENT_BOOL);
    }
}

Test(cpu_binary, logic_agrees) {
    compare_all(BINARY_AND, ELEMENT_BOOL, ELEMENT_BOOL);
    compare_all(BINARY_OR, ELEMENT_BOOL, ELEMENT_BOOL);
    compare_all(BINARY_XOR, ELEMENT_BOOL, ELEMENT_BOOL);
    compare_all(BINARY_EQUAL, ELEMENT_BOOL, ELEMENT_BOOL);
}

Test(cpu_binary, usual_exponents_have_their_own_way) {
    static const float exponents[] = {2, 3, 0.5f, 1, -1, 0, 1.7f};
    float x[37], y[37];
    for (size_t i = 0; i < 37; i++)
        x[i] = (float)i * 0.7f - 3;
    x[30] = -0.0f;
    x[31] = -INFINITY;
    x[32] = INFINITY;
    x[33] = NAN;
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
        float exponent = exponents[e];
        struct view inputs[2] = {{x, ELEMENT_F32, 1, {37}}, {&exponent, ELEMENT_F32, 0, {0}}};
        struct view out = {y, ELEMENT_F32, 1, {37}};
        struct operation operation = {.kind = OPERATION_BINARY, .binary = BINARY_POWER};
        cpu_binary_find(&operation, inputs, &out)(&operation, inputs, &out, NULL);
        for (size_t i = 0; i < 37; i++) {
            float expected = (float)pow((double)x[i], (double)exponent);
            cr_assert((isnan(expected) && isnan(y[i])) || expected == y[i] ||
                          fabsf(expected - y[i]) <= 2e-7f * fabsf(expected),
                      "%g ^ %g: %g", (double)x[i], (double)exponent, (double)y[i]);
        }
        cr_assert(!signbit(y[30]) || exponent == 1 || exponent == 3 || exponent == -1);
    }
}

static void compute(enum binary_kind kind, float *a, float *b, float *y, size_t count) {
    struct view inputs[2] = {{a, ELEMENT_F32, 1, {count}}, {b, ELEMENT_F32, 1, {count}}};
    struct view out = {y, ELEMENT_F32, 1, {count}};
    struct operation operation = {.kind = OPERATION_BINARY, .binary = kind};
    cpu_binary_find(&operation, inputs, &out)(&operation, inputs, &out, NULL);
}

Test(cpu_binary, a_result_may_take_the_place_of_an_operand) {
    float a[50], b[50], sum[50];
    for (size_t i = 0; i < 50; i++) {
        a[i] = (float)i;
        b[i] = 100.0f * (float)i;
        sum[i] = a[i] + b[i];
    }
    compute(BINARY_ADD, a, b, a, 50);
    cr_assert_arr_eq(a, sum, sizeof sum);
    compute(BINARY_SUBTRACT, a, b, b, 50);
    cr_assert(b[7] == 7 && b[49] == 49);
    compute(BINARY_MULTIPLY, a, a, a, 0);
    cr_assert(a[1] == 101);
}

Test(cpu_binary, what_it_does_not_have_is_the_oracles) {
    struct view floats[2] = {{NULL, ELEMENT_F32, 1, {4}}, {NULL, ELEMENT_F32, 1, {4}}};
    struct view mixed[2] = {{NULL, ELEMENT_F32, 1, {4}}, {NULL, ELEMENT_I64, 1, {4}}};
    struct view integers[2] = {{NULL, ELEMENT_I64, 1, {4}}, {NULL, ELEMENT_I64, 1, {4}}};
    struct operation operation = {.kind = OPERATION_BINARY, .binary = BINARY_REMAINDER};
    cr_assert_null(cpu_binary_find(&operation, floats, floats));
    operation.binary = BINARY_POWER;
    cr_assert_null(cpu_binary_find(&operation, mixed, floats));
    operation.binary = BINARY_ADD;
    cr_assert_null(cpu_binary_find(&operation, integers, integers));
}
