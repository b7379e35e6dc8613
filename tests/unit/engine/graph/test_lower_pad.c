#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float x[3] = {1, 2, 3};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_pad, .fini = end);

/* x [1,3] */
static void begin(int opset) {
    one_node_begin(&one, "Pad", opset);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){2, {1, 3}}, x, false);
}

static enum weir_status lower(void) {
    return one_node_lower(&one, &lower_move_family, 1, &err);
}

static void assert_row(const float *want, int64_t count) {
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const struct tensor_shape *shape = &one_node_fact(&one, 0)->shape;
    cr_assert(shape->rank == 2 && shape->dims[0] == 1 && shape->dims[1] == count, "%lld", (long long)shape->dims[1]);
    const float *have = one_node_output(&one, 0);
    for (int64_t i = 0; i < count; i++)
        cr_assert(have[i] == want[i], "element %lld is %g, not %g", (long long)i, (double)have[i], (double)want[i]);
}

Test(lower_pad, older_pads_and_values_are_attributes) {
    begin(10);
    one_node_ints(&one, "pads", (int64_t[]){0, 1, 0, 2}, 4);
    one_node_float(&one, "value", 9);
    assert_row((float[]){9, 1, 2, 3, 9, 9}, 6);
}

Test(lower_pad, newer_pads_and_values_are_inputs) {
    begin(13);
    one_node_integers(&one, (int64_t[]){0, 1, 0, 2}, 4);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){0}, (float[]){9}, false);
    assert_row((float[]){9, 1, 2, 3, 9, 9}, 6);
    begin(13);
    one_node_integers(&one, (int64_t[]){0, 1, 0, 0}, 4);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {0}}, NULL, false);
    assert_row((float[]){0, 1, 2, 3}, 4);
}

Test(lower_pad, axes_choose_what_is_padded) {
    begin(18);
    one_node_integers(&one, (int64_t[]){2, 1}, 2);
    one_node_omit(&one);
    one_node_integers(&one, (int64_t[]){-1}, 1);
    one_node_text(&one, "mode", "reflect");
    assert_row((float[]){3, 2, 1, 2, 3, 2}, 6);
}

Test(lower_pad, negative_pads_cut_off) {
    begin(13);
    one_node_integers(&one, (int64_t[]){0, -1, 0, -1}, 4);
    one_node_text(&one, "mode", "edge");
    assert_row((float[]){2}, 1);
}

Test(lower_pad, pads_of_zero_cost_no_step) {
    begin(13);
    one_node_integers(&one, (int64_t[]){0, 0, 0, 0}, 4);
    assert_row(x, 3);
    cr_assert_eq(one.program.step_count, 0);
}

Test(lower_pad, pads_that_do_not_fit_are_invalid) {
    begin(13);
    one_node_integers(&one, (int64_t[]){0, 1, 0}, 3);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin(13);
    one_node_integers(&one, (int64_t[]){0, -2, 0, -2}, 4);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin(13);
    one_node_integers(&one, (int64_t[]){0, INT64_MIN, 0, INT64_MAX}, 4);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin(13);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin(13);
    one_node_integers(&one, (int64_t[]){0, 1, 0, 0}, 4);
    one_node_text(&one, "mode", "mirror");
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
    begin(13);
    one_node_integers(&one, (int64_t[]){0, 1, 0, 0}, 4);
    one_node_input(&one, TENSOR_I64, (struct tensor_shape){0}, (int64_t[]){1}, true);
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_pad, nothing_can_be_reflected_of_nothing) {
    one_node_begin(&one, "Pad", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {0}}, x, false);
    one_node_integers(&one, (int64_t[]){1, 1}, 2);
    one_node_text(&one, "mode", "reflect");
    cr_assert_eq(lower(), WEIR_INVALID);
}
