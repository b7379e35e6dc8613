#include <criterion/criterion.h>

#include "kernels/broadcast.h"

static struct view shape(int rank, const size_t *dims) {
    struct view view = {.rank = rank};
    for (int i = 0; i < rank; i++)
        view.dims[i] = dims[i];
    return view;
}

Test(broadcast, equal_shapes_become_one_row) {
    struct view y = shape(3, (size_t[]){2, 3, 4}), inputs[2] = {y, y};
    struct broadcast broadcast = broadcast_over(inputs, 2, &y);
    cr_assert_eq(broadcast.rank, 1);
    cr_assert_eq(broadcast.dims[0], 24);
    cr_assert(broadcast.strides[0][0] == 1 && broadcast.strides[1][0] == 1);
    cr_assert_eq(broadcast_rows(&broadcast), 1);
}

Test(broadcast, a_scalar_is_repeated) {
    struct view y = shape(2, (size_t[]){5, 7}), inputs[2] = {y, shape(0, NULL)};
    struct broadcast broadcast = broadcast_over(inputs, 2, &y);
    cr_assert(broadcast.rank == 1 && broadcast.dims[0] == 35);
    cr_assert(broadcast.strides[0][0] == 1 && broadcast.strides[1][0] == 0);
}

Test(broadcast, a_channel_keeps_three_dimensions) {
    struct view y = shape(4, (size_t[]){2, 3, 4, 5}), inputs[2] = {y, shape(3, (size_t[]){3, 1, 1})};
    struct broadcast broadcast = broadcast_over(inputs, 2, &y);
    cr_assert_eq(broadcast.rank, 3);
    cr_assert(broadcast.dims[0] == 2 && broadcast.dims[1] == 3 && broadcast.dims[2] == 20);
    cr_assert(broadcast.strides[1][0] == 0 && broadcast.strides[1][1] == 1 && broadcast.strides[1][2] == 0);
    cr_assert_eq(broadcast_rows(&broadcast), 6);
}

/* Walks all rows one by one, and compares with the place that each is asked for directly. */
static void check_walk(const struct view *inputs, int count, const struct view *y) {
    struct broadcast broadcast = broadcast_over(inputs, count, y);
    struct broadcast_place place = {{0}, {0}};
    size_t rows = broadcast_rows(&broadcast);
    for (size_t row = 0; row < rows; row++) {
        struct broadcast_place direct = broadcast_row(&broadcast, row);
        for (int k = 0; k < count; k++)
            cr_assert_eq(direct.starts[k], place.starts[k], "row %zu input %d", row, k);
        broadcast_next(&broadcast, &place);
    }
    for (int k = 0; k < count; k++)
        cr_assert_eq(place.starts[k], 0); /* it begins anew */
}

Test(broadcast, every_element_is_found) {
    struct view y = shape(4, (size_t[]){2, 3, 4, 5});
    struct view inputs[3] = {shape(4, (size_t[]){2, 1, 4, 1}), shape(3, (size_t[]){3, 1, 5}), shape(1, (size_t[]){5})};
    struct broadcast broadcast = broadcast_over(inputs, 3, &y);
    size_t cols = broadcast.dims[broadcast.rank - 1], last = (size_t)broadcast.rank - 1;
    check_walk(inputs, 3, &y);
    for (size_t i = 0; i < 120; i++) {
        size_t d0 = i / 60, d1 = i / 20 % 3, d2 = i / 5 % 4, d3 = i % 5;
        struct broadcast_place place = broadcast_row(&broadcast, i / cols);
        cr_assert_eq(place.starts[0] + i % cols * broadcast.strides[0][last], d0 * 4 + d2);
        cr_assert_eq(place.starts[1] + i % cols * broadcast.strides[1][last], d1 * 5 + d3);
        cr_assert_eq(place.starts[2] + i % cols * broadcast.strides[2][last], d3);
    }
}

Test(broadcast, ones_in_front_do_not_matter) {
    struct view y = shape(1, (size_t[]){6}), inputs[2] = {y, shape(3, (size_t[]){1, 1, 1})};
    struct broadcast broadcast = broadcast_over(inputs, 2, &y);
    cr_assert(broadcast.rank == 1 && broadcast.dims[0] == 6 && broadcast.strides[1][0] == 0);
}

Test(broadcast, no_elements_and_one_element) {
    struct view y = shape(2, (size_t[]){0, 3}), inputs[2] = {y, shape(1, (size_t[]){3})};
    struct broadcast broadcast = broadcast_over(inputs, 2, &y);
    cr_assert_eq(broadcast_rows(&broadcast) * broadcast.dims[broadcast.rank - 1], 0);
    y = shape(2, (size_t[]){1, 1});
    inputs[0] = inputs[1] = y;
    broadcast = broadcast_over(inputs, 2, &y);
    cr_assert(broadcast.rank == 1 && broadcast.dims[0] == 1 && broadcast_rows(&broadcast) == 1);
}
