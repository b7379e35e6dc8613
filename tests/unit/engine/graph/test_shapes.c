#include "engine/graph/shapes.h"

#include <criterion/criterion.h>

Test(shapes, an_axis_may_count_from_the_end) {
    int axis = 9;
    cr_assert(shapes_axis(-1, 3, &axis) && axis == 2);
    cr_assert(shapes_axis(0, 3, &axis) && axis == 0);
    cr_assert(!shapes_axis(3, 3, &axis) && !shapes_axis(-4, 3, &axis) && !shapes_axis(0, 0, &axis));
    cr_assert_eq(axis, 0);
    cr_assert(!shapes_axis(INT64_MIN, 3, &axis) && !shapes_axis(INT64_MAX, 3, &axis));
}

Test(shapes, broadcasting_follows_numpy) {
    static const struct {
        struct tensor_shape a, b, out;
        bool fits;
    } rows[] = {
        {{2, {3, 4}}, {1, {4}}, {2, {3, 4}}, true}, {{3, {2, 1, 4}}, {2, {5, 1}}, {3, {2, 5, 4}}, true},
        {{0, {0}}, {2, {3, 4}}, {2, {3, 4}}, true}, {{2, {3, 4}}, {2, {3, 5}}, {0, {0}}, false},
        {{2, {3, 4}}, {1, {3}}, {0, {0}}, false},   {{2, {0, 4}}, {2, {1, 4}}, {2, {0, 4}}, true},
        {{1, {1}}, {1, {0}}, {1, {0}}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tensor_shape out, back;
        cr_assert_eq(shapes_broadcast(&rows[i].a, &rows[i].b, &out), rows[i].fits, "row %zu", i);
        cr_assert_eq(shapes_broadcast(&rows[i].b, &rows[i].a, &back), rows[i].fits, "row %zu", i);
        if (rows[i].fits)
            cr_assert(shapes_equal(&out, &rows[i].out) && shapes_equal(&back, &rows[i].out), "row %zu", i);
    }
}

Test(shapes, products_are_of_a_range) {
    struct tensor_shape shape = {.rank = 3, .dims = {2, 3, 4}};
    cr_assert(shapes_product(&shape, 0, 3) == 24 && shapes_product(&shape, 1, 2) == 3);
    cr_assert_eq(shapes_product(&shape, 2, 2), 1);
}
