#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/lower_move.h"
#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static float x[64];

static void start(void) {
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
}

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_move, .init = start, .fini = end);

#define SHAPE(...)                                                                                                     \
    (struct tensor_shape) {                                                                                            \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {                                                   \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

static void begin(const char *op, int opset, struct tensor_shape shape) {
    one_node_begin(&one, op, opset);
    one_node_input(&one, TENSOR_F32, shape, x, false);
}

static enum weir_status lower(int outputs) {
    return one_node_lower(&one, &lower_move_family, outputs, &err);
}

static void assert_output(int output, struct tensor_shape shape, const float *want) {
    const struct fact *fact = one_node_fact(&one, output);
    char text[160];
    cr_assert_eq(fact->shape.rank, shape.rank);
    for (int d = 0; d < shape.rank; d++)
        cr_assert_eq(fact->shape.dims[d], shape.dims[d], "%s", tensor_shape_text(&fact->shape, text, sizeof text));
    const float *have = one_node_output(&one, output);
    for (size_t i = 0; i < fact->elements; i++)
        cr_assert(have[i] == want[i], "element %zu is %g, not %g", i, (double)have[i], (double)want[i]);
}

static void assert_gives(struct tensor_shape shape, const float *want) {
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    assert_output(0, shape, want);
}

static void assert_refused(enum weir_status status, const char *what) {
    cr_assert_eq(lower(1), status, "%s", err.text);
    cr_assert_not_null(strstr(err.text, what), "%s", err.text);
}

Test(lower_move, without_perm_the_dimensions_are_reversed) {
    begin("Transpose", 13, SHAPE(2, 3));
    assert_gives(SHAPE(3, 2), (float[]){0, 3, 1, 4, 2, 5});
    cr_assert_eq(one.program.step_count, 1);
}

Test(lower_move, an_order_that_moves_no_element_costs_no_step) {
    begin("Transpose", 13, SHAPE(1, 3, 1, 2));
    one_node_ints(&one, "perm", (int64_t[]){1, 0, 3, 2}, 4);
    assert_gives(SHAPE(3, 1, 2, 1), x);
    cr_assert_eq(one.program.step_count, 0);
}

Test(lower_move, what_is_no_permutation_is_invalid) {
    begin("Transpose", 13, SHAPE(2, 3));
    one_node_ints(&one, "perm", (int64_t[]){0, 0}, 2);
    assert_refused(WEIR_INVALID, "permutation");
    begin("Transpose", 13, SHAPE(2, 3));
    one_node_ints(&one, "perm", (int64_t[]){0, 2}, 2);
    assert_refused(WEIR_INVALID, "permutation");
    begin("Transpose", 13, SHAPE(2, 3));
    one_node_ints(&one, "perm", (int64_t[]){0}, 1);
    assert_refused(WEIR_INVALID, "perm has 1 numbers for 2 dimensions");
}

/* x [2,5], sliced along its last axis. */
static void slice(int64_t from, int64_t to, int64_t step) {
    static int64_t starts[1], ends[1], steps[1], axes[1] = {-1};
    starts[0] = from;
    ends[0] = to;
    steps[0] = step;
    begin("Slice", 13, SHAPE(2, 5));
    one_node_integers(&one, starts, 1);
    one_node_integers(&one, ends, 1);
    one_node_integers(&one, axes, 1);
    one_node_integers(&one, steps, 1);
}

Test(lower_move, slices_count_from_the_end_and_are_clamped) {
    slice(1, 3, 1);
    assert_gives(SHAPE(2, 2), (float[]){1, 2, 6, 7});
    slice(-2, INT64_MAX, 1);
    assert_gives(SHAPE(2, 2), (float[]){3, 4, 8, 9});
    slice(-100, -3, 1);
    assert_gives(SHAPE(2, 2), (float[]){0, 1, 5, 6});
    slice(0, 100, 2);
    assert_gives(SHAPE(2, 3), (float[]){0, 2, 4, 5, 7, 9});
    slice(4, 2, 1);
    assert_gives(SHAPE(2, 0), NULL);
    slice(100, INT64_MAX, 1);
    assert_gives(SHAPE(2, 0), NULL);
}

Test(lower_move, slices_may_walk_backwards) {
    slice(-1, INT64_MIN, -1);
    assert_gives(SHAPE(2, 5), (float[]){4, 3, 2, 1, 0, 9, 8, 7, 6, 5});
    slice(100, 0, -2);
    assert_gives(SHAPE(2, 2), (float[]){4, 2, 9, 7});
    slice(2, -100, INT64_MIN);
    assert_gives(SHAPE(2, 1), (float[]){2, 7});
}

Test(lower_move, a_slice_of_nothing_is_nothing) {
    begin("Slice", 13, SHAPE(2, 0));
    one_node_integers(&one, (int64_t[]){0, -1}, 2);
    one_node_integers(&one, (int64_t[]){9, INT64_MIN}, 2);
    one_node_omit(&one);
    one_node_integers(&one, (int64_t[]){1, -1}, 2);
    assert_gives(SHAPE(2, 0), NULL);
}

Test(lower_move, a_slice_of_all_costs_no_step) {
    slice(0, INT64_MAX, 1);
    assert_gives(SHAPE(2, 5), x);
    cr_assert_eq(one.program.step_count, 0);
}

Test(lower_move, before_opset_10_slices_have_attributes) {
    begin("Slice", 9, SHAPE(2, 5));
    one_node_ints(&one, "starts", (int64_t[]){1, 3}, 2);
    one_node_ints(&one, "ends", (int64_t[]){2, -1}, 2);
    assert_gives(SHAPE(1, 1), (float[]){8});
}

Test(lower_move, slices_that_make_no_sense_are_invalid) {
    slice(0, 5, 0);
    assert_refused(WEIR_INVALID, "step is 0");
    begin("Slice", 13, SHAPE(2, 5));
    one_node_integers(&one, (int64_t[]){0, 0}, 2);
    one_node_integers(&one, (int64_t[]){1}, 1);
    assert_refused(WEIR_INVALID, "differ in length");
    begin("Slice", 13, SHAPE(2, 5));
    one_node_integers(&one, (int64_t[]){0, 0}, 2);
    one_node_integers(&one, (int64_t[]){1, 1}, 2);
    one_node_integers(&one, (int64_t[]){1, -1}, 2);
    assert_refused(WEIR_INVALID, "axis 1 is there twice");
    begin("Slice", 9, SHAPE(2, 5));
    assert_refused(WEIR_INVALID, "missing");
}

Test(lower_move, tensors_are_joined_along_the_axis) {
    begin("Concat", 13, SHAPE(2, 1));
    one_node_input(&one, TENSOR_F32, SHAPE(2, 0), x, false);
    one_node_input(&one, TENSOR_F32, SHAPE(2, 2), (float[]){7, 8, 9, 10}, true);
    one_node_int(&one, "axis", -1);
    assert_gives(SHAPE(2, 3), (float[]){0, 7, 8, 1, 9, 10});
}

Test(lower_move, one_tensor_joined_is_itself) {
    begin("Concat", 13, SHAPE(2, 3));
    one_node_int(&one, "axis", 0);
    assert_gives(SHAPE(2, 3), x);
    cr_assert_eq(one.program.step_count, 0);
}

Test(lower_move, a_constant_of_one_row_is_joined_to_every_row) {
    begin("Concat", 13, SHAPE(2, 2));
    one_node_input(&one, TENSOR_F32, SHAPE(1, 1), (float[]){9}, true);
    one_node_int(&one, "axis", 1);
    one.graph->fixed_batch = 1;
    one.lowering.rows = 2;
    assert_gives(SHAPE(2, 3), (float[]){0, 1, 9, 2, 3, 9});
    one_node_begin(&one, "Concat", 13);
    one_node_input(&one, TENSOR_F32, SHAPE(1, 1), (float[]){9}, true);
    one_node_input(&one, TENSOR_F32, SHAPE(2, 2), x, false);
    one_node_int(&one, "axis", 1);
    one.graph->fixed_batch = 1;
    one.lowering.rows = 2;
    assert_gives(SHAPE(2, 3), (float[]){9, 0, 1, 9, 2, 3});
}

Test(lower_move, tensors_that_do_not_fit_are_not_joined) {
    begin("Concat", 13, SHAPE(2, 3));
    one_node_input(&one, TENSOR_F32, SHAPE(3, 3), x, false);
    one_node_int(&one, "axis", 1);
    assert_refused(WEIR_INVALID, "input 1, float32 [3,3], does not fit float32 [2,3]");
    begin("Concat", 13, SHAPE(2, 3));
    assert_refused(WEIR_INVALID, "axis is missing");
}

Test(lower_move, equal_parts_are_split_off) {
    begin("Split", 13, SHAPE(2, 4));
    one_node_int(&one, "axis", 1);
    cr_assert_eq(lower(2), WEIR_OK, "%s", err.text);
    assert_output(0, SHAPE(2, 2), (float[]){0, 1, 4, 5});
    assert_output(1, SHAPE(2, 2), (float[]){2, 3, 6, 7});
}

Test(lower_move, parts_of_given_sizes_are_split_off) {
    begin("Split", 13, SHAPE(4));
    one_node_integers(&one, (int64_t[]){1, 0, 3}, 3);
    cr_assert_eq(lower(3), WEIR_OK, "%s", err.text);
    assert_output(0, SHAPE(1), (float[]){0});
    assert_output(1, SHAPE(0), NULL);
    assert_output(2, SHAPE(3), (float[]){1, 2, 3});
    begin("Split", 11, SHAPE(4));
    one_node_ints(&one, "split", (int64_t[]){3, 1}, 2);
    cr_assert_eq(lower(2), WEIR_OK, "%s", err.text);
    assert_output(1, SHAPE(1), (float[]){3});
}

Test(lower_move, from_opset_18_the_last_part_may_be_smaller) {
    begin("Split", 18, SHAPE(7));
    one_node_int(&one, "num_outputs", 3);
    cr_assert_eq(lower(3), WEIR_OK, "%s", err.text);
    assert_output(0, SHAPE(3), (float[]){0, 1, 2});
    assert_output(2, SHAPE(1), (float[]){6});
}

Test(lower_move, parts_that_do_not_make_up_the_whole_are_invalid) {
    begin("Split", 13, SHAPE(4));
    one_node_integers(&one, (int64_t[]){1, 2}, 2);
    cr_assert_eq(lower(2), WEIR_INVALID);
    begin("Split", 13, SHAPE(4));
    one_node_integers(&one, (int64_t[]){5, -1}, 2);
    cr_assert_eq(lower(2), WEIR_INVALID);
    begin("Split", 13, SHAPE(4));
    cr_assert_eq(lower(3), WEIR_INVALID);
    begin("Split", 18, SHAPE(4));
    one_node_int(&one, "num_outputs", 0);
    cr_assert_eq(lower(2), WEIR_INVALID);
}

Test(lower_move, expanding_broadcasts_both_ways) {
    begin("Expand", 13, SHAPE(3, 1));
    one_node_integers(&one, (int64_t[]){2, 1, 2}, 3);
    assert_gives(SHAPE(2, 3, 2), (float[]){0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
    begin("Expand", 13, SHAPE(2, 3));
    one_node_integers(&one, (int64_t[]){1, 1, 1}, 3);
    assert_gives(SHAPE(1, 2, 3), x);
    cr_assert_eq(one.program.step_count, 0);
    begin("Expand", 13, SHAPE(2, 3));
    one_node_integers(&one, (int64_t[]){2}, 1);
    assert_refused(WEIR_INVALID, "[2,3] does not broadcast to [2]");
}

Test(lower_move, the_files_batch_in_a_wanted_shape_stands_for_the_rows) {
    begin("Expand", 13, SHAPE(2, 1));
    one_node_integers(&one, (int64_t[]){3, 2}, 2);
    one.graph->fixed_batch = 3;
    one.lowering.rows = 2;
    assert_gives(SHAPE(2, 2), (float[]){0, 0, 1, 1});
}

Test(lower_move, tiling_repeats_each_dimension) {
    begin("Tile", 13, SHAPE(1, 2));
    one_node_integers(&one, (int64_t[]){2, 2}, 2);
    assert_gives(SHAPE(2, 4), (float[]){0, 1, 0, 1, 0, 1, 0, 1});
    begin("Tile", 13, SHAPE(1, 2));
    one_node_integers(&one, (int64_t[]){2}, 1);
    assert_refused(WEIR_INVALID, "repeats");
    begin("Tile", 13, SHAPE(1, 2));
    one_node_integers(&one, (int64_t[]){1, INT64_MAX}, 2);
    assert_refused(WEIR_INVALID, "repeats");
    begin("Tile", 13, SHAPE(1, 2));
    one_node_integers(&one, (int64_t[]){1 << 20, 1 << 20}, 2);
    assert_refused(WEIR_TOO_LARGE, "elements");
}

/* ONNX's own example, cut down to one row. */
Test(lower_move, depth_becomes_space_in_both_orders_and_back) {
    begin("DepthToSpace", 13, SHAPE(1, 8, 1, 2));
    one_node_int(&one, "blocksize", 2);
    assert_gives(SHAPE(1, 2, 2, 4), (float[]){0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15});
    cr_assert_eq(one.program.step_count, 1);
    begin("DepthToSpace", 13, SHAPE(1, 8, 1, 2));
    one_node_int(&one, "blocksize", 2);
    one_node_text(&one, "mode", "CRD");
    assert_gives(SHAPE(1, 2, 2, 4), (float[]){0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15});
    begin("SpaceToDepth", 13, SHAPE(1, 1, 2, 4));
    one_node_int(&one, "blocksize", 2);
    assert_gives(SHAPE(1, 4, 1, 2), (float[]){0, 2, 1, 3, 4, 6, 5, 7});
    begin("DepthToSpace", 13, SHAPE(1, 6, 1, 2));
    one_node_int(&one, "blocksize", 2);
    assert_refused(WEIR_INVALID, "blocks of 2");
    begin("SpaceToDepth", 13, SHAPE(1, 1, 2, 4));
    assert_refused(WEIR_INVALID, "blocks of 0");
}

Test(lower_move, a_list_of_int32_counts_as_well) {
    begin("Split", 13, SHAPE(4));
    one_node_input(&one, TENSOR_I32, SHAPE(2), (int32_t[]){1, 3}, true);
    cr_assert_eq(lower(2), WEIR_OK, "%s", err.text);
    assert_output(1, SHAPE(3), (float[]){1, 2, 3});
    begin("Split", 13, SHAPE(4));
    one_node_input(&one, TENSOR_I64, SHAPE(2), (int64_t[]){1, 3}, false);
    cr_assert_eq(lower(2), WEIR_UNSUPPORTED);
    begin("Split", 13, SHAPE(4));
    one_node_input(&one, TENSOR_F32, SHAPE(2), (float[]){1, 3}, true);
    cr_assert_eq(lower(2), WEIR_INVALID);
}
