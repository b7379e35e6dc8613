#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float x[6] = {0, 1, 2, 3, 4, 5};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_gather, .fini = end);

#define SHAPE(...)                                                                                                     \
    (struct tensor_shape) {                                                                                            \
        (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {                                                   \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

/* x [2,3] and computed indices. */
static void begin(const char *op, struct tensor_shape shape, const int64_t *indices) {
    one_node_begin(&one, op, 16);
    one_node_input(&one, TENSOR_F32, SHAPE(2, 3), x, false);
    one_node_input(&one, TENSOR_I64, shape, indices, false);
}

static enum weir_status lower(void) {
    return one_node_lower(&one, &lower_move_family, 1, &err);
}

static void assert_gives(struct tensor_shape shape, const float *want) {
    char text[160];
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const struct fact *fact = one_node_fact(&one, 0);
    cr_assert_eq(fact->shape.rank, shape.rank, "%s", tensor_shape_text(&fact->shape, text, sizeof text));
    for (int d = 0; d < shape.rank; d++)
        cr_assert_eq(fact->shape.dims[d], shape.dims[d], "%s", tensor_shape_text(&fact->shape, text, sizeof text));
    const float *have = one_node_output(&one, 0);
    for (size_t i = 0; i < fact->elements; i++)
        cr_assert(have[i] == want[i], "element %zu is %g, not %g", i, (double)have[i], (double)want[i]);
}

Test(lower_gather, the_indices_shape_takes_the_axis_place) {
    begin("Gather", SHAPE(1, 2), (int64_t[]){-1, 0});
    one_node_int(&one, "axis", -1);
    assert_gives(SHAPE(2, 1, 2), (float[]){2, 0, 5, 3});
    begin("Gather", (struct tensor_shape){0}, (int64_t[]){1});
    assert_gives(SHAPE(3), (float[]){3, 4, 5});
    begin("Gather", SHAPE(1, 1, 1, 1, 1, 1, 1, 1), (int64_t[]){1});
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
}

Test(lower_gather, indices_are_integers_and_data_no_scalar) {
    one_node_begin(&one, "Gather", 13);
    one_node_input(&one, TENSOR_F32, SHAPE(2, 3), x, false);
    one_node_input(&one, TENSOR_F32, SHAPE(1), x, false);
    cr_assert_eq(lower(), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "float32"), "%s", err.text);
    one_node_begin(&one, "Gather", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){0}, x, false);
    one_node_input(&one, TENSOR_I32, SHAPE(1), x, false);
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_gather, elements_have_the_shape_of_the_indices) {
    begin("GatherElements", SHAPE(1, 3), (int64_t[]){1, 0, -1});
    assert_gives(SHAPE(1, 3), (float[]){3, 1, 5});
    begin("GatherElements", SHAPE(1, 4), (int64_t[]){1, 0, -1, 0});
    cr_assert_eq(lower(), WEIR_INVALID);
    begin("GatherElements", SHAPE(3), (int64_t[]){1, 0, -1});
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_gather, tuples_choose_slices) {
    begin("GatherND", SHAPE(2, 1), (int64_t[]){1, 0});
    assert_gives(SHAPE(2, 3), (float[]){3, 4, 5, 0, 1, 2});
    begin("GatherND", SHAPE(2, 1), (int64_t[]){2, 0});
    one_node_int(&one, "batch_dims", 1);
    assert_gives(SHAPE(2), (float[]){2, 3});
    begin("GatherND", SHAPE(1, 3), (int64_t[]){0, 0, 0});
    cr_assert_eq(lower(), WEIR_INVALID);
    begin("GatherND", SHAPE(1, 1), (int64_t[]){0});
    one_node_int(&one, "batch_dims", 1);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin("GatherND", SHAPE(1, 1), (int64_t[]){0});
    one_node_int(&one, "batch_dims", INT64_MAX);
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_gather, updates_go_where_the_indices_say) {
    begin("ScatterElements", SHAPE(1, 2), (int64_t[]){1, -2});
    one_node_input(&one, TENSOR_F32, SHAPE(1, 2), (float[]){10, 20}, false);
    assert_gives(SHAPE(2, 3), (float[]){0, 20, 2, 10, 4, 5});
    begin("Scatter", SHAPE(1, 2), (int64_t[]){1, 1});
    one_node_input(&one, TENSOR_F32, SHAPE(1, 2), (float[]){10, 20}, false);
    one_node_int(&one, "axis", 1);
    assert_gives(SHAPE(2, 3), (float[]){0, 20, 2, 3, 4, 5});
    begin("ScatterElements", SHAPE(1, 2), (int64_t[]){1, 1});
    one_node_input(&one, TENSOR_F32, SHAPE(1, 2), (float[]){10, 20}, false);
    one_node_text(&one, "reduction", "add");
    assert_gives(SHAPE(2, 3), (float[]){0, 1, 2, 13, 24, 5});
}

Test(lower_gather, tuples_scatter_slices) {
    begin("ScatterND", SHAPE(1, 1), (int64_t[]){1});
    one_node_input(&one, TENSOR_F32, SHAPE(1, 3), (float[]){10, 2, 30}, false);
    one_node_text(&one, "reduction", "max");
    assert_gives(SHAPE(2, 3), (float[]){0, 1, 2, 10, 4, 30});
}

Test(lower_gather, updates_of_another_shape_or_type_are_invalid) {
    begin("ScatterND", SHAPE(1, 1), (int64_t[]){1});
    one_node_input(&one, TENSOR_F32, SHAPE(1, 2), (float[]){10, 20}, false);
    cr_assert_eq(lower(), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "updates are float32 [1,2], not float32 [1,3]"), "%s", err.text);
    begin("ScatterElements", SHAPE(1, 1), (int64_t[]){1});
    one_node_input(&one, TENSOR_I64, SHAPE(1, 1), (int64_t[]){10}, false);
    cr_assert_eq(lower(), WEIR_INVALID);
    begin("ScatterElements", SHAPE(1, 1), (int64_t[]){1});
    one_node_input(&one, TENSOR_F32, SHAPE(1, 1), x, false);
    one_node_text(&one, "reduction", "mean");
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
}

Test(lower_gather, known_indices_must_be_within_their_dimension) {
    static const char *const ops[] = {"Gather", "GatherElements", "ScatterElements", "GatherND", "ScatterND"};
    static const int64_t wrong[] = {2, -3, INT64_MIN, INT64_MAX};
    for (size_t op = 0; op < sizeof ops / sizeof ops[0]; op++)
        for (size_t i = 0; i < 1 + sizeof wrong / sizeof wrong[0]; i++) {
            const int64_t indices[2] = {-2, i == 0 ? 1 : wrong[i - 1]}; /* of the first or, of tuples, the second */
            bool tuples = op > 2;
            one_node_begin(&one, ops[op], 16);
            one_node_input(&one, TENSOR_F32, SHAPE(2, 2), x, false);
            one_node_input(&one, TENSOR_I64, SHAPE(1, 2), indices, true);
            if (ops[op][0] == 'S')
                one_node_input(&one, TENSOR_F32, tuples ? SHAPE(1) : SHAPE(1, 2), x, false);
            cr_assert_eq(lower(), i == 0 ? WEIR_OK : WEIR_INVALID, "%s %zu: %s", ops[op], i, err.text);
            if (i > 0)
                cr_assert_not_null(strstr(err.text, "of a dimension of 2"), "%s", err.text);
        }
}
