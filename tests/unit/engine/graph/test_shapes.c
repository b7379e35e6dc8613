#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/shapes.h"

#define SHAPE(...)                                                                                                     \
    (struct tensor_shape) {                                                                                            \
        .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { __VA_ARGS__ }                            \
    }
#define LIST(...)                                                                                                      \
    (struct shapes_list) {                                                                                             \
        .items = {__VA_ARGS__}, .count = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)                            \
    }
static const struct shapes_list no_list = {.count = -1};
static struct tensor_shape out;
static const char *fault;

static enum weir_status reshape(struct tensor_shape in, struct shapes_list wanted, uint32_t fixed_batch) {
    return shapes_reshape(&in, &wanted, false, fixed_batch, &out, &fault);
}

static bool gives(struct tensor_shape expected) {
    return shapes_equal(&out, &expected);
}

Test(shapes, a_reshape_that_keeps_the_rows_is_followed) {
    cr_assert_eq(reshape(SHAPE(-1, 2, 6), LIST(-1, 12), 0), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 12)));
    cr_assert_eq(reshape(SHAPE(-1, 2, 6), LIST(0, -1), 0), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 12)));
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(0, 3, -1), 0), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 3, 4)));
    cr_assert_eq(reshape(SHAPE(-1, 2, 6), LIST(-1, 0, 3, 2), 0), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 2, 3, 2)));
    cr_assert_eq(reshape(SHAPE(-1, 1), LIST(-1), 0), WEIR_OK);
    cr_assert(gives(SHAPE(-1)));
}

Test(shapes, a_reshape_to_the_fixed_batch_keeps_the_rows) {
    cr_assert_eq(reshape(SHAPE(-1, 2, 6), LIST(1, -1), 1), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 12)));
    cr_assert_eq(reshape(SHAPE(-1, 2, 6), LIST(8, 12), 8), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 12)));
}

Test(shapes, a_reshape_that_mixes_rows_is_unsupported) {
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(-1, 6), 0), WEIR_UNSUPPORTED);
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(1, -1), 0), WEIR_UNSUPPORTED);
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(1, -1), 8), WEIR_UNSUPPORTED);
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(3, -1), 0), WEIR_UNSUPPORTED);
    struct shapes_list scalar = {.count = 0};
    cr_assert_eq(reshape(SHAPE(-1, 1), scalar, 0), WEIR_UNSUPPORTED);
}

Test(shapes, a_reshape_that_does_not_add_up_is_invalid) {
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(0, 5, -1), 0), WEIR_INVALID);
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(0, 13), 0), WEIR_INVALID);
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(-1, -1), 0), WEIR_INVALID);
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(0, -2), 0), WEIR_INVALID);
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(0, 12, 0), 0), WEIR_INVALID);
    cr_assert_eq(reshape(SHAPE(2, 3), LIST(7), 0), WEIR_INVALID);
    cr_assert_eq(reshape(SHAPE(-1, 12), LIST(0, INT64_MAX, INT64_MAX), 0), WEIR_INVALID);
    struct tensor_shape in = SHAPE(-1, 12);
    struct shapes_list wanted = LIST(0, 12);
    cr_assert_eq(shapes_reshape(&in, &wanted, true, 0, &out, &fault), WEIR_UNSUPPORTED);
}

Test(shapes, a_constant_is_reshaped_freely) {
    cr_assert_eq(reshape(SHAPE(2, 6), LIST(-1, 4), 0), WEIR_OK);
    cr_assert(gives(SHAPE(3, 4)));
    struct shapes_list scalar = {.count = 0};
    cr_assert_eq(reshape(SHAPE(1, 1), scalar, 0), WEIR_OK);
    cr_assert_eq(out.rank, 0);
}

Test(shapes, flatten_keeps_the_batch_or_is_unsupported) {
    struct tensor_shape in = SHAPE(-1, 2, 3, 4);
    cr_assert_eq(shapes_flatten(&in, 1, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 24)));
    cr_assert_eq(shapes_flatten(&in, -3, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 24)));
    cr_assert_eq(shapes_flatten(&in, 2, &out, &fault), WEIR_UNSUPPORTED);
    cr_assert_eq(shapes_flatten(&in, 0, &out, &fault), WEIR_UNSUPPORTED);
    cr_assert_eq(shapes_flatten(&in, 5, &out, &fault), WEIR_INVALID);
    in = SHAPE(-1, 1, 3);
    cr_assert_eq(shapes_flatten(&in, 2, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 3)));
    in = SHAPE(2, 3, 4);
    cr_assert_eq(shapes_flatten(&in, 2, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(6, 4)));
}

Test(shapes, squeeze_and_unsqueeze_move_ones_but_not_the_batch) {
    struct tensor_shape in = SHAPE(-1, 1, 3, 1);
    struct shapes_list axes = LIST(1, -1);
    cr_assert_eq(shapes_squeeze(&in, &axes, 0, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 3)));
    cr_assert_eq(shapes_squeeze(&in, &no_list, 0, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 3)));
    cr_assert_eq(shapes_squeeze(&in, &no_list, 1, &out, &fault), WEIR_UNSUPPORTED);
    axes = LIST(0);
    cr_assert_eq(shapes_squeeze(&in, &axes, 1, &out, &fault), WEIR_UNSUPPORTED);
    axes = LIST(2);
    cr_assert_eq(shapes_squeeze(&in, &axes, 0, &out, &fault), WEIR_INVALID);
    in = SHAPE(-1, 3);
    axes = LIST(1, -1);
    cr_assert_eq(shapes_unsqueeze(&in, &axes, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 1, 3, 1)));
    axes = LIST(0);
    cr_assert_eq(shapes_unsqueeze(&in, &axes, &out, &fault), WEIR_UNSUPPORTED);
    axes = LIST(1, 1);
    cr_assert_eq(shapes_unsqueeze(&in, &axes, &out, &fault), WEIR_INVALID);
    axes = LIST(7);
    cr_assert_eq(shapes_unsqueeze(&in, &axes, &out, &fault), WEIR_INVALID);
}

Test(shapes, a_batch_is_transposed_only_where_no_element_moves) {
    int order[TENSOR_MAX_RANK];
    struct tensor_shape in = SHAPE(-1, 1, 3);
    struct shapes_list permutation = LIST(0, 2, 1);
    cr_assert_eq(shapes_transpose(&in, &permutation, order, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(-1, 3, 1)));
    in = SHAPE(-1, 2, 3);
    cr_assert_eq(shapes_transpose(&in, &permutation, order, &out, &fault), WEIR_UNSUPPORTED);
    permutation = LIST(1, 0, 2);
    in = SHAPE(-1, 1, 3);
    cr_assert_eq(shapes_transpose(&in, &permutation, order, &out, &fault), WEIR_UNSUPPORTED);
    in = SHAPE(2, 3);
    cr_assert_eq(shapes_transpose(&in, &no_list, order, &out, &fault), WEIR_OK);
    cr_assert(gives(SHAPE(3, 2)) && order[0] == 1 && order[1] == 0);
    permutation = LIST(0, 0);
    cr_assert_eq(shapes_transpose(&in, &permutation, order, &out, &fault), WEIR_INVALID);
    permutation = LIST(0);
    cr_assert_eq(shapes_transpose(&in, &permutation, order, &out, &fault), WEIR_INVALID);
}

static enum weir_status broadcast(struct tensor_shape batch, struct tensor_shape constant, size_t *period) {
    return shapes_broadcast(&batch, &constant, period, &fault);
}

Test(shapes, a_constant_broadcasts_as_a_scalar_a_suffix_or_a_whole_row) {
    size_t period = 99;
    struct tensor_shape scalar = {.rank = 0};
    cr_assert_eq(broadcast(SHAPE(-1, 4), scalar, &period), WEIR_OK);
    cr_assert_eq(period, 1);
    cr_assert_eq(broadcast(SHAPE(-1, 4), SHAPE(1, 1), &period), WEIR_OK);
    cr_assert_eq(period, 1);
    cr_assert_eq(broadcast(SHAPE(-1, 3, 4), SHAPE(4), &period), WEIR_OK);
    cr_assert_eq(period, 4);
    cr_assert_eq(broadcast(SHAPE(-1, 3, 4), SHAPE(1, 3, 4), &period), WEIR_OK);
    cr_assert_eq(period, 12);
    cr_assert_eq(broadcast(SHAPE(-1, 3, 4), SHAPE(3, 1), &period), WEIR_OK);
    cr_assert_eq(period, 0);
    cr_assert_eq(broadcast(SHAPE(-1, 3, 1, 4), SHAPE(3, 1, 4), &period), WEIR_OK);
    cr_assert_eq(period, 12);
}

Test(shapes, a_constant_that_does_not_fit_the_rows_is_refused) {
    size_t period;
    cr_assert_eq(broadcast(SHAPE(-1, 4), SHAPE(3), &period), WEIR_INVALID);
    cr_assert_eq(broadcast(SHAPE(-1, 4), SHAPE(2, 4), &period), WEIR_UNSUPPORTED);
    cr_assert_eq(broadcast(SHAPE(-1, 4), SHAPE(2, 1), &period), WEIR_UNSUPPORTED);
    cr_assert_eq(broadcast(SHAPE(-1, 1), SHAPE(4), &period), WEIR_UNSUPPORTED);
    cr_assert_eq(broadcast(SHAPE(-1, 4), SHAPE(2, 1, 4), &period), WEIR_UNSUPPORTED);
    cr_assert_eq(broadcast(SHAPE(-1, 4), SHAPE(1, 1, 4), &period), WEIR_UNSUPPORTED);
}

Test(shapes, negative_axes_count_from_the_end) {
    int axis = 9;
    cr_assert(shapes_axis(-1, 3, &axis) && axis == 2);
    cr_assert(shapes_axis(0, 3, &axis) && axis == 0);
    cr_assert_not(shapes_axis(3, 3, &axis));
    cr_assert_not(shapes_axis(-4, 3, &axis));
}
