#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_where.h"
#include "kernels/ref/ref_elementwise.h"

static struct view view(enum element element, int rank, const size_t *dims) {
    struct view out = {.element = element, .rank = rank};
    for (int i = 0; i < rank; i++)
        out.dims[i] = dims[i];
    size_t bytes = (view_count(&out) + 1) * view_element_bytes(element);
    unsigned char *data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(element == ELEMENT_BOOL ? i * 7 / 3 % 2 : i * 29 + 5);
    out.data = data;
    return out;
}

static void compare(enum element element, const struct view shapes[4]) {
    struct operation operation = {.kind = OPERATION_WHERE};
    struct view inputs[3], y = view(element, shapes[3].rank, shapes[3].dims);
    struct view expected = view(element, shapes[3].rank, shapes[3].dims);
    for (int k = 0; k < 3; k++)
        inputs[k] = view(k == 0 ? ELEMENT_BOOL : element, shapes[k].rank, shapes[k].dims);
    if (element != ELEMENT_BOOL && view_count(&inputs[2]) > 0) /* else a and b are the same bytes */
        memset(inputs[2].data, 0x3c, view_count(&inputs[2]) * view_element_bytes(element));
    ref_where(&operation, inputs, &expected, NULL);
    operation_function function = cpu_where_find(&operation, inputs, &y);
    cr_assert_not_null(function);
    function(&operation, inputs, &y, NULL);
    cr_assert(memcmp(y.data, expected.data, view_count(&y) * view_element_bytes(element)) == 0);
    for (int k = 0; k < 3; k++)
        free(inputs[k].data);
    free(y.data);
    free(expected.data);
}

Test(cpu_where, all_broadcasts_agree_with_the_oracle) {
    static const struct view shapes[][4] = {
        {{.rank = 0}, {.rank = 0}, {.rank = 0}, {.rank = 0}},
        {{.rank = 2, .dims = {5, 37}},
         {.rank = 2, .dims = {5, 37}},
         {.rank = 2, .dims = {5, 37}},
         {.rank = 2, .dims = {5, 37}}},
        {{.rank = 2, .dims = {5, 37}}, {.rank = 0}, {.rank = 2, .dims = {5, 37}}, {.rank = 2, .dims = {5, 37}}},
        {{.rank = 2, .dims = {5, 37}}, {.rank = 2, .dims = {5, 37}}, {.rank = 0}, {.rank = 2, .dims = {5, 37}}},
        {{.rank = 2, .dims = {5, 37}}, {.rank = 0}, {.rank = 1, .dims = {1}}, {.rank = 2, .dims = {5, 37}}},
        {{.rank = 2, .dims = {5, 1}},
         {.rank = 2, .dims = {5, 37}},
         {.rank = 1, .dims = {37}},
         {.rank = 2, .dims = {5, 37}}},
        {{.rank = 2, .dims = {5, 1}},
         {.rank = 2, .dims = {5, 1}},
         {.rank = 1, .dims = {37}},
         {.rank = 2, .dims = {5, 37}}},
        {{.rank = 0}, {.rank = 1, .dims = {33}}, {.rank = 0}, {.rank = 1, .dims = {33}}},
        {{.rank = 4, .dims = {2, 1, 1, 35}},
         {.rank = 0},
         {.rank = 4, .dims = {2, 3, 4, 35}},
         {.rank = 4, .dims = {2, 3, 4, 35}}},
        {{.rank = 2, .dims = {0, 3}}, {.rank = 0}, {.rank = 1, .dims = {3}}, {.rank = 2, .dims = {0, 3}}},
        {{.rank = 2, .dims = {3, 9000}}, {.rank = 1, .dims = {9000}}, {.rank = 0}, {.rank = 2, .dims = {3, 9000}}},
    };
    static const enum element elements[] = {ELEMENT_F32, ELEMENT_I64, ELEMENT_U8, ELEMENT_I32, ELEMENT_BOOL};
    for (size_t e = 0; e < sizeof elements / sizeof elements[0]; e++)
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            compare(elements[e], shapes[i]);
}

Test(cpu_where, it_chooses) {
    uint8_t condition[3] = {1, 0, 1};
    float a[3] = {1, 2, 3}, b = -1, y[3];
    struct view inputs[3] = {{condition, ELEMENT_BOOL, 1, {3}}, {a, ELEMENT_F32, 1, {3}}, {&b, ELEMENT_F32, 0, {0}}};
    struct view out = {y, ELEMENT_F32, 1, {3}};
    struct operation operation = {.kind = OPERATION_WHERE};
    cpu_where_find(&operation, inputs, &out)(&operation, inputs, &out, NULL);
    cr_assert(y[0] == 1 && y[1] == -1 && y[2] == 3);
}

Test(cpu_where, elements_of_two_bytes_are_the_oracles) {
    struct view inputs[3] = {{NULL, ELEMENT_BOOL, 0, {0}}, {NULL, ELEMENT_F16, 0, {0}}, {NULL, ELEMENT_F16, 0, {0}}};
    struct operation operation = {.kind = OPERATION_WHERE};
    cr_assert_null(cpu_where_find(&operation, inputs, &inputs[1]));
}
