#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/operators.h"
#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float x[24] = {1, 2, 3};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_layout, .fini = end);

#define SHAPE(...)                                                                                                     \
    (struct tensor_shape) {                                                                                            \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {                                                   \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

static enum weir_status lower(void) {
    return one_node_lower(&one, &lower_layout_family, 1, &err);
}

/* The result is x itself under that shape. */
static void assert_alias(struct tensor_shape want) {
    char text[160];
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const struct tensor_shape *shape = &one_node_fact(&one, 0)->shape;
    cr_assert_eq(shape->rank, want.rank, "%s", tensor_shape_text(shape, text, sizeof text));
    for (int i = 0; i < want.rank; i++)
        cr_assert_eq(shape->dims[i], want.dims[i], "%s", tensor_shape_text(shape, text, sizeof text));
    cr_assert_eq(one.program.step_count, 0);
    cr_assert_eq(program_root(&one.program, one_node_fact(&one, 0)->buffer), one.facts[0].buffer);
}

static void begin(const char *op, int opset, struct tensor_shape shape) {
    one_node_begin(&one, op, opset);
    one_node_input(&one, TENSOR_F32, shape, x, false);
}

static void reshape(struct tensor_shape from, const int64_t *wanted, int count) {
    begin("Reshape", 14, from);
    one_node_integers(&one, wanted, count);
}

Test(lower_layout, zero_copies_a_dimension_and_minus_one_takes_the_rest) {
    reshape(SHAPE(2, 3, 4), (int64_t[]){0, -1}, 2);
    assert_alias(SHAPE(2, 12));
    reshape(SHAPE(2, 3, 4), (int64_t[]){4, 3, 2}, 3);
    assert_alias(SHAPE(4, 3, 2));
    reshape(SHAPE(1, 1), NULL, 0);
    assert_alias((struct tensor_shape){0});
    reshape(SHAPE(3, 0, 2), (int64_t[]){0, 0, 5}, 3);
    assert_alias(SHAPE(3, 0, 5));
}

Test(lower_layout, zero_is_a_size_where_allowzero_says_so) {
    reshape(SHAPE(0, 3), (int64_t[]){3, 0}, 2);
    one_node_int(&one, "allowzero", 1);
    assert_alias(SHAPE(3, 0));
}

Test(lower_layout, a_wanted_shape_that_does_not_fit_is_invalid) {
    reshape(SHAPE(2, 3), (int64_t[]){-1, -1}, 2);
    cr_assert_eq(lower(), WEIR_INVALID);
    reshape(SHAPE(2, 3), (int64_t[]){-1, 4}, 2);
    cr_assert_eq(lower(), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "6 elements"), "%s", err.text);
    reshape(SHAPE(2, 3), (int64_t[]){2, 3, 0}, 3);
    cr_assert_eq(lower(), WEIR_INVALID);
    reshape(SHAPE(2, 3), (int64_t[]){INT64_MAX, INT64_MAX}, 2);
    cr_assert_eq(lower(), WEIR_INVALID);
    reshape(SHAPE(2, 3), (int64_t[]){2, -3}, 2);
    cr_assert_eq(lower(), WEIR_INVALID);
    reshape(SHAPE(0, 3), (int64_t[]){0, -1}, 2);
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_layout, a_wanted_shape_that_is_computed_from_numbers_is_unsupported) {
    static const int64_t wanted[2] = {3, 2};
    begin("Reshape", 13, SHAPE(2, 3));
    one_node_input(&one, TENSOR_I64, SHAPE(2), wanted, false);
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
}

/* A file exported for `fixed` rows, lowered for `rows`. */
static void exported(uint32_t fixed, uint32_t rows) {
    one.graph->fixed_batch = fixed;
    one.lowering.rows = rows;
}

Test(lower_layout, the_files_batch_in_a_wanted_shape_stands_for_the_rows) {
    reshape(SHAPE(4, 2, 3), (int64_t[]){1, 6}, 2);
    exported(1, 4);
    assert_alias(SHAPE(4, 6));
    reshape(SHAPE(4, 2, 3), (int64_t[]){1, -1}, 2);
    exported(1, 4);
    assert_alias(SHAPE(4, 6));
    reshape(SHAPE(4, 2, 3), (int64_t[]){3, 2, -1}, 3);
    exported(3, 4);
    assert_alias(SHAPE(4, 2, 3));
}

Test(lower_layout, heads_behind_the_files_batch_are_multiplied_by_the_rows) {
    reshape(SHAPE(4, 2, 3), (int64_t[]){2, 1, 3}, 3);
    exported(1, 4);
    assert_alias(SHAPE(8, 1, 3));
    reshape(SHAPE(8, 1, 3), (int64_t[]){1, 2, -1, 3}, 4);
    exported(1, 4);
    assert_alias(SHAPE(4, 2, 1, 3));
    reshape(SHAPE(2, 4, 3), (int64_t[]){2, 3, 1}, 3);
    exported(1, 4);
    assert_alias(SHAPE(2, 12, 1));
}

Test(lower_layout, a_wanted_shape_that_fits_as_it_is_stays) {
    reshape(SHAPE(24), (int64_t[]){1, 24}, 2);
    exported(1, 4);
    assert_alias(SHAPE(1, 24));
    reshape(SHAPE(6, 4), (int64_t[]){1, -1}, 2);
    exported(1, 4);
    assert_alias(SHAPE(1, 24));
    reshape(SHAPE(4, 6), (int64_t[]){-1, 3}, 2);
    exported(1, 4);
    assert_alias(SHAPE(8, 3));
}

Test(lower_layout, flatten_makes_two_dimensions) {
    begin("Flatten", 13, SHAPE(2, 3, 4));
    assert_alias(SHAPE(2, 12));
    begin("Flatten", 13, SHAPE(2, 3, 4));
    one_node_int(&one, "axis", -1);
    assert_alias(SHAPE(6, 4));
    begin("Flatten", 13, SHAPE(2, 3, 4));
    one_node_int(&one, "axis", 3);
    assert_alias(SHAPE(24, 1));
    begin("Flatten", 13, SHAPE(2, 3, 4));
    one_node_int(&one, "axis", 4);
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_layout, squeeze_drops_the_named_dimensions_or_all_ones) {
    begin("Squeeze", 13, SHAPE(1, 3, 1, 4));
    assert_alias(SHAPE(3, 4));
    begin("Squeeze", 13, SHAPE(1, 3, 1, 4));
    one_node_integers(&one, (int64_t[]){-2}, 1);
    assert_alias(SHAPE(1, 3, 4));
    begin("Squeeze", 11, SHAPE(1, 3, 1, 4));
    one_node_ints(&one, "axes", (int64_t[]){0, 2}, 2);
    assert_alias(SHAPE(3, 4));
    begin("Squeeze", 11, SHAPE(1, 3));
    one_node_ints(&one, "axes", (int64_t[]){1}, 1);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin("Squeeze", 11, SHAPE(1, 3));
    one_node_ints(&one, "axes", (int64_t[]){2}, 1);
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_layout, unsqueeze_counts_its_axes_in_the_result) {
    begin("Unsqueeze", 13, SHAPE(3, 4));
    one_node_integers(&one, (int64_t[]){-1, 0, 2}, 3);
    assert_alias(SHAPE(1, 3, 1, 4, 1));
    begin("Unsqueeze", 11, SHAPE(3, 4));
    one_node_ints(&one, "axes", (int64_t[]){1}, 1);
    assert_alias(SHAPE(3, 1, 4));
    begin("Unsqueeze", 13, SHAPE(3, 4));
    one_node_integers(&one, (int64_t[]){1, 1}, 2);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin("Unsqueeze", 13, SHAPE(3, 4));
    one_node_integers(&one, (int64_t[]){0, 1, 2, 3, 4, 5, 6}, 7);
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
    begin("Unsqueeze", 13, SHAPE(3, 4));
    cr_assert_eq(lower(), WEIR_INVALID);
}

/* The integers that the output is known to hold. */
static void assert_known(const int64_t *want, size_t count) {
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const struct fact *fact = one_node_fact(&one, 0);
    cr_assert_eq(fact->dtype, TENSOR_I64);
    cr_assert_eq(fact->elements, count);
    cr_assert_not_null(fact->known);
    cr_assert_eq(memcmp(fact->known, want, count * sizeof want[0]), 0);
}

Test(lower_layout, shapes_are_known_before_the_program_runs) {
    begin("Shape", 13, SHAPE(2, 3, 4));
    assert_known((int64_t[]){2, 3, 4}, 3);
    begin("Shape", 15, SHAPE(2, 3, 4));
    one_node_int(&one, "start", -2);
    assert_known((int64_t[]){3, 4}, 2);
    begin("Shape", 15, SHAPE(2, 3, 4));
    one_node_int(&one, "start", -9);
    one_node_int(&one, "end", -1);
    assert_known((int64_t[]){2, 3}, 2);
    begin("Shape", 15, SHAPE(2, 3, 4));
    one_node_int(&one, "start", 3);
    one_node_int(&one, "end", 1);
    assert_known((int64_t[]){0}, 0);
}

Test(lower_layout, sizes_are_known_before_the_program_runs) {
    begin("Size", 13, SHAPE(2, 3, 4));
    assert_known((int64_t[]){24}, 1);
    cr_assert_eq(one_node_fact(&one, 0)->shape.rank, 0);
}
