#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const struct tensor_shape scalar;

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_make, .fini = end);

static enum weir_status lower(void) {
    return one_node_lower(&one, &lower_make_family, 1, &err);
}

/* The output is known before the program runs, and these are its bytes. */
static void assert_known(enum tensor_dtype dtype, const void *want, size_t count) {
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const struct fact *fact = one_node_fact(&one, 0);
    cr_assert_eq(fact->dtype, dtype);
    cr_assert_eq(fact->elements, count, "%zu elements", fact->elements);
    cr_assert_not_null(fact->known);
    cr_assert_eq(memcmp(fact->known, want, count * tensor_dtype_bytes(dtype)), 0);
}

static void constant_of_shape(enum tensor_dtype dtype, const void *bytes, const int64_t *dims, int rank) {
    static struct graph_constant value;
    value = (struct graph_constant){.dtype = dtype, .elements = 1, .bytes = bytes};
    one_node_begin(&one, "ConstantOfShape", 13);
    one_node_integers(&one, dims, rank);
    one.attributes[one.node.attribute_count++] =
        (struct graph_attribute){.name = "value", .type = GRAPH_ATTRIBUTE_TENSOR, .tensor = &value};
}

Test(lower_make, a_shape_is_filled_with_one_value) {
    constant_of_shape(TENSOR_I64, (int64_t[]){7}, (int64_t[]){2, 1}, 2);
    assert_known(TENSOR_I64, (int64_t[]){7, 7}, 2);
    constant_of_shape(TENSOR_BOOL, (uint8_t[]){1}, NULL, 0);
    assert_known(TENSOR_BOOL, (uint8_t[]){1}, 1);
    constant_of_shape(TENSOR_F16, (uint16_t[]){0x3E00}, (int64_t[]){2}, 1);
    assert_known(TENSOR_F32, (float[]){1.5F, 1.5F}, 2);
    constant_of_shape(TENSOR_BF16, (uint16_t[]){0x3FC0}, (int64_t[]){1}, 1);
    assert_known(TENSOR_F32, (float[]){1.5F}, 1);
    constant_of_shape(TENSOR_F64, (double[]){-0.25}, (int64_t[]){1}, 1);
    assert_known(TENSOR_F32, (float[]){-0.25F}, 1);
}

Test(lower_make, without_a_value_a_shape_is_filled_with_zeros) {
    one_node_begin(&one, "ConstantOfShape", 13);
    one_node_integers(&one, (int64_t[]){3}, 1);
    assert_known(TENSOR_F32, (float[]){0, 0, 0}, 3);
    one_node_begin(&one, "ConstantOfShape", 13);
    one_node_integers(&one, (int64_t[]){0, 3}, 2);
    assert_known(TENSOR_F32, (float[]){0}, 0);
    one_node_begin(&one, "ConstantOfShape", 13);
    one_node_integers(&one, (int64_t[]){1 << 20, 1 << 20}, 2);
    cr_assert_eq(lower(), WEIR_TOO_LARGE);
    one_node_begin(&one, "ConstantOfShape", 13);
    one_node_input(&one, TENSOR_I64, (struct tensor_shape){1, {1}}, (int64_t[]){3}, false);
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
}

static void range(enum tensor_dtype dtype, const void *start, const void *limit, const void *delta) {
    one_node_begin(&one, "Range", 13);
    one_node_input(&one, dtype, scalar, start, true);
    one_node_input(&one, dtype, scalar, limit, true);
    one_node_input(&one, dtype, scalar, delta, true);
}

Test(lower_make, ranges_leave_out_their_limit) {
    range(TENSOR_I64, (int64_t[]){1}, (int64_t[]){8}, (int64_t[]){3});
    assert_known(TENSOR_I64, (int64_t[]){1, 4, 7}, 3);
    range(TENSOR_I32, (int32_t[]){10}, (int32_t[]){4}, (int32_t[]){-2});
    assert_known(TENSOR_I32, (int32_t[]){10, 8, 6}, 3);
    range(TENSOR_F32, (float[]){1}, (float[]){2}, (float[]){0.5F});
    assert_known(TENSOR_F32, (float[]){1, 1.5F}, 2);
    range(TENSOR_I64, (int64_t[]){5}, (int64_t[]){5}, (int64_t[]){1});
    assert_known(TENSOR_I64, (int64_t[]){0}, 0);
    range(TENSOR_I64, (int64_t[]){INT64_MIN}, (int64_t[]){INT64_MAX}, (int64_t[]){INT64_MAX});
    assert_known(TENSOR_I64, (int64_t[]){INT64_MIN, -1, INT64_MAX - 1}, 3);
}

Test(lower_make, ranges_without_an_end_are_invalid) {
    range(TENSOR_I64, (int64_t[]){0}, (int64_t[]){5}, (int64_t[]){0});
    cr_assert_eq(lower(), WEIR_INVALID);
    range(TENSOR_I64, (int64_t[]){INT64_MIN}, (int64_t[]){INT64_MAX}, (int64_t[]){1});
    cr_assert_eq(lower(), WEIR_INVALID);
    range(TENSOR_F32, (float[]){0}, (float[]){5}, (float[]){0});
    cr_assert_eq(lower(), WEIR_INVALID);
    range(TENSOR_F32, (float[]){NAN}, (float[]){5}, (float[]){1});
    cr_assert_eq(lower(), WEIR_INVALID);
    range(TENSOR_U8, (uint8_t[]){0}, (uint8_t[]){5}, (uint8_t[]){1});
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
    one_node_begin(&one, "Range", 13);
    for (int i = 0; i < 3; i++)
        one_node_input(&one, TENSOR_I64, scalar, (int64_t[]){1}, false);
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
}

static void eye(int64_t rows, int64_t cols) {
    static const float zeros[12];
    one_node_begin(&one, "EyeLike", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){2, {rows, cols}}, zeros, false);
}

Test(lower_make, an_eye_has_ones_on_a_diagonal) {
    eye(2, 3);
    assert_known(TENSOR_F32, (float[]){1, 0, 0, 0, 1, 0}, 6);
    eye(2, 3);
    one_node_int(&one, "k", 1);
    one_node_int(&one, "dtype", 7);
    assert_known(TENSOR_I64, (int64_t[]){0, 1, 0, 0, 0, 1}, 6);
    eye(3, 2);
    one_node_int(&one, "k", -1);
    one_node_int(&one, "dtype", 11);
    assert_known(TENSOR_F32, (float[]){0, 0, 1, 0, 0, 1}, 6);
    eye(2, 2);
    one_node_int(&one, "k", INT64_MIN);
    assert_known(TENSOR_F32, (float[]){0, 0, 0, 0}, 4);
    eye(2, 2);
    one_node_int(&one, "dtype", 8);
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
}

static void one_hot(const float *depth, const float *values) {
    static const int64_t indices[2] = {1, -1};
    one_node_begin(&one, "OneHot", 11);
    one_node_input(&one, TENSOR_I64, (struct tensor_shape){1, {2}}, indices, false);
    one_node_input(&one, TENSOR_F32, scalar, depth, true);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {2}}, values, true);
}

static void assert_floats(struct tensor_shape shape, const float *want) {
    cr_assert_eq(lower(), WEIR_OK, "%s", err.text);
    const struct fact *fact = one_node_fact(&one, 0);
    cr_assert_eq(fact->shape.rank, shape.rank);
    for (int d = 0; d < shape.rank; d++)
        cr_assert_eq(fact->shape.dims[d], shape.dims[d]);
    const float *have = one_node_output(&one, 0);
    for (size_t i = 0; i < fact->elements; i++)
        cr_assert(have[i] == want[i], "element %zu is %g, not %g", i, (double)have[i], (double)want[i]);
}

Test(lower_make, one_hot_adds_a_dimension) {
    one_hot((float[]){3}, (float[]){2, 5});
    assert_floats((struct tensor_shape){2, {2, 3}}, (float[]){2, 5, 2, 2, 2, 5});
    one_hot((float[]){3}, (float[]){2, 5});
    one_node_int(&one, "axis", 0);
    assert_floats((struct tensor_shape){2, {3, 2}}, (float[]){2, 2, 5, 2, 2, 5});
    one_hot((float[]){NAN}, (float[]){2, 5});
    cr_assert_eq(lower(), WEIR_INVALID);
    one_hot((float[]){3}, (float[]){2, 5});
    one_node_int(&one, "axis", 2);
    cr_assert_eq(lower(), WEIR_INVALID);
}

static void trilu(void) {
    static const float x[4] = {1, 2, 3, 4};
    one_node_begin(&one, "Trilu", 14);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){2, {2, 2}}, x, false);
}

Test(lower_make, triangles_are_upper_unless_told) {
    trilu();
    assert_floats((struct tensor_shape){2, {2, 2}}, (float[]){1, 2, 0, 4});
    trilu();
    one_node_integers(&one, (int64_t[]){-1}, 1);
    one_node_int(&one, "upper", 0);
    assert_floats((struct tensor_shape){2, {2, 2}}, (float[]){0, 0, 3, 0});
    trilu();
    one_node_integers(&one, (int64_t[]){INT64_MAX}, 1);
    assert_floats((struct tensor_shape){2, {2, 2}}, (float[]){0, 0, 0, 0});
    one_node_begin(&one, "Trilu", 14);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){1, {1}}, (float[]){1}, false);
    cr_assert_eq(lower(), WEIR_INVALID);
}

Test(lower_make, places_that_are_not_zero_are_found_where_they_are_known) {
    one_node_begin(&one, "NonZero", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){2, {2, 2}}, (float[]){1, -0.0F, 3, 4}, true);
    assert_known(TENSOR_I64, (int64_t[]){0, 1, 1, 0, 0, 1}, 6);
    one_node_begin(&one, "NonZero", 13);
    one_node_input(&one, TENSOR_BOOL, (struct tensor_shape){1, {3}}, (uint8_t[]){0, 1, 1}, true);
    assert_known(TENSOR_I64, (int64_t[]){1, 2}, 2);
    one_node_begin(&one, "NonZero", 13);
    one_node_input(&one, TENSOR_BOOL, (struct tensor_shape){1, {3}}, (uint8_t[]){0, 1, 1}, false);
    cr_assert_eq(lower(), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.text, "size"), "%s", err.text);
}
