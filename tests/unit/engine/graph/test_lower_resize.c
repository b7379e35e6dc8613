#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float x[4] = {1, 2, 3, 4};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_resize, .fini = end);

static const struct tensor_shape square = {4, {1, 1, 2, 2}}, four = {1, {4}};

static void begin(const char *op, int opset) {
    one_node_begin(&one, op, opset);
    one_node_input(&one, TENSOR_F32, square, x, false);
}

/* x, no region, scales. */
static void begin_scales(const float scales[4]) {
    begin("Resize", 13);
    one_node_omit(&one);
    one_node_input(&one, TENSOR_F32, four, scales, true);
}

static void begin_sizes(int opset, const int64_t sizes[4]) {
    begin("Resize", opset);
    one_node_omit(&one);
    one_node_omit(&one);
    one_node_integers(&one, sizes, 4);
}

static enum weir_status lower(void) {
    return one_node_lower(&one, &lower_move_family, 1, &err);
}

static void assert_image(int64_t height, int64_t width, const float *want) {
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const struct tensor_shape *shape = &one_node_fact(&one, 0)->shape;
    cr_assert(shape->dims[2] == height && shape->dims[3] == width, "%lld x %lld", (long long)shape->dims[2],
              (long long)shape->dims[3]);
    const float *have = one_node_output(&one, 0);
    for (int64_t i = 0; i < height * width; i++)
        cr_assert(fabsf(have[i] - want[i]) < 1e-5F, "element %lld is %g, not %g", (long long)i, (double)have[i],
                  (double)want[i]);
}

Test(lower_resize, scales_enlarge_to_the_nearest) {
    begin_scales((float[]){1, 1, 1, 2});
    assert_image(2, 4, (float[]){1, 1, 2, 2, 3, 3, 4, 4});
}

Test(lower_resize, sizes_enlarge_with_blending) {
    begin_sizes(13, (int64_t[]){1, 1, 2, 4});
    one_node_text(&one, "mode", "linear");
    assert_image(2, 4, (float[]){1, 1.25F, 1.75F, 2, 3, 3.25F, 3.75F, 4});
    begin_sizes(13, (int64_t[]){1, 1, 2, 3});
    one_node_text(&one, "mode", "linear");
    one_node_text(&one, "coordinate_transformation_mode", "align_corners");
    assert_image(2, 3, (float[]){1, 1.5F, 2, 3, 3.5F, 4});
}

Test(lower_resize, upsample_takes_scales_as_attribute_or_input) {
    begin("Upsample", 7);
    struct graph_attribute *scales = &one.attributes[one.node.attribute_count++];
    *scales = (struct graph_attribute){
        .name = "scales", .type = GRAPH_ATTRIBUTE_FLOATS, .floats = (float[]){1, 1, 1, 2}, .item_count = 4};
    assert_image(2, 4, (float[]){1, 1, 2, 2, 3, 3, 4, 4});
    begin("Upsample", 9);
    one_node_input(&one, TENSOR_F32, four, (float[]){1, 1, 1, 2}, true);
    one_node_text(&one, "mode", "linear");
    assert_image(2, 4, (float[]){1, 1.5F, 2, 2, 3, 3.5F, 4, 4});
}

Test(lower_resize, opset_10_rounds_up_where_it_shrinks) {
    static const struct tensor_shape line = {1, {4}}, single = {1, {1}};
    one_node_begin(&one, "Resize", 10);
    one_node_input(&one, TENSOR_F32, line, x, false);
    one_node_input(&one, TENSOR_F32, single, (float[]){0.6F}, true);
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    cr_assert_eq(one_node_fact(&one, 0)->elements, 2);
    cr_assert(((const float *)one_node_output(&one, 0))[1] == 3);
    begin("Resize", 10);
    one_node_input(&one, TENSOR_F32, four, (float[]){1, 1, 2, 0.5F}, true);
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
}

Test(lower_resize, a_policy_keeps_the_aspect_ratio) {
    begin("Resize", 18);
    one_node_omit(&one);
    one_node_omit(&one);
    one_node_integers(&one, (int64_t[]){4, 8}, 2);
    one_node_ints(&one, "axes", (int64_t[]){2, -1}, 2);
    one_node_text(&one, "keep_aspect_ratio_policy", "not_larger");
    assert_image(4, 4, (float[]){1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
    begin("Resize", 18);
    one_node_omit(&one);
    one_node_omit(&one);
    one_node_integers(&one, (int64_t[]){1, 4}, 2);
    one_node_ints(&one, "axes", (int64_t[]){2, 3}, 2);
    one_node_text(&one, "keep_aspect_ratio_policy", "not_smaller");
    assert_image(4, 4, (float[]){1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
}

Test(lower_resize, the_files_batch_in_sizes_stands_for_the_rows) {
    one_node_begin(&one, "Resize", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){4, {4, 1, 1, 1}}, x, false);
    one_node_omit(&one);
    one_node_omit(&one);
    one_node_integers(&one, (int64_t[]){1, 1, 1, 2}, 4);
    one.graph->fixed_batch = 1;
    one.lowering.rows = 4;
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    cr_assert_eq(one_node_fact(&one, 0)->shape.dims[0], 4);
    cr_assert_eq(one_node_fact(&one, 0)->shape.dims[3], 2);
}

Test(lower_resize, what_changes_nothing_costs_no_step) {
    begin_scales((float[]){1, 1, 1, 1});
    assert_image(2, 2, x);
    cr_assert_eq(one.program.step_count, 0);
}

Test(lower_resize, a_region_of_interest_is_cropped) {
    begin("Resize", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {8}}, (float[]){0, 0, 0, 0.5F, 1, 1, 1, 1}, true);
    one_node_omit(&one);
    one_node_integers(&one, (int64_t[]){1, 1, 2, 2}, 4);
    one_node_text(&one, "mode", "linear");
    one_node_text(&one, "coordinate_transformation_mode", "tf_crop_and_resize");
    assert_image(2, 2, (float[]){1.5F, 2, 3.5F, 4});
    begin_sizes(13, (int64_t[]){1, 1, 2, 2});
    one_node_text(&one, "coordinate_transformation_mode", "tf_crop_and_resize");
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_resize, wants_that_make_no_sense_are_refused) {
    begin("Resize", 13);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin_scales((float[]){1, 1, 1, 0});
    cr_assert_eq(lower(), WEIR_INVALID);
    begin_scales((float[]){1, 1, 1, INFINITY});
    cr_assert_eq(lower(), WEIR_INVALID);
    begin_scales((float[]){1, 1, 1, -1});
    cr_assert_eq(lower(), WEIR_INVALID);
    begin_scales((float[]){1, 1, 1, 1e30F});
    cr_assert_eq(lower(), WEIR_INVALID);
    begin_sizes(13, (int64_t[]){1, 1, 0, 2});
    cr_assert_eq(lower(), WEIR_INVALID);
    begin_scales((float[]){1, 1, 1, 2});
    one_node_text(&one, "mode", "linear");
    one_node_int(&one, "antialias", 1);
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
    one_node_begin(&one, "Resize", 13);
    one_node_input(&one, TENSOR_I64, (struct tensor_shape){1, {1}}, (int64_t[]){1}, false);
    one_node_omit(&one);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {1}}, (float[]){2}, true);
    one_node_text(&one, "mode", "linear");
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
}
