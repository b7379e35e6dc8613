#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/lower_convert.h"
#include "tests/fakes/one_node.h"

static struct one_node one;
static struct weir_error err;
static const float x[4] = {-1.5f, 0, 2.75f, 70000};
static const struct tensor_shape shape = {1, {4}};

static void end(void) {
    one_node_end(&one);
}

TestSuite(lower_convert, .fini = end);

static void begin(const char *op, int opset) {
    one_node_begin(&one, op, opset);
    one_node_input(&one, TENSOR_F32, shape, x, false);
}

static enum weir_status lower(int outputs) {
    return one_node_lower(&one, &lower_elementwise_family, outputs, &err);
}

static const void *output(int number, enum tensor_dtype dtype, size_t elements) {
    cr_assert_eq(one_node_fact(&one, number)->dtype, dtype);
    cr_assert_eq(one_node_fact(&one, number)->elements, elements);
    return one_node_output(&one, number);
}

static void assert_refused(enum weir_status status, const char *what) {
    cr_assert_eq(lower(1), status, "%s", err.text);
    cr_assert_not_null(strstr(err.text, what), "%s", err.text);
}

static void begin_cast(int64_t to) {
    begin("Cast", 13);
    one_node_int(&one, "to", to);
}

Test(lower_convert, a_cast_gives_the_wanted_type) {
    begin_cast(7);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    const int64_t *integers = output(0, TENSOR_I64, 4);
    cr_assert(integers[0] == -1 && integers[1] == 0 && integers[2] == 2 && integers[3] == 70000);
    begin_cast(9);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    const unsigned char *bools = output(0, TENSOR_BOOL, 4);
    cr_assert(bools[0] == 1 && bools[1] == 0);
    begin_cast(2);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(((const unsigned char *)output(0, TENSOR_U8, 4))[3], 255);
}

Test(lower_convert, short_floats_are_float32_of_their_precision) {
    begin_cast(16);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.steps[0].operation.through, ELEMENT_BF16);
    cr_assert(((const float *)output(0, TENSOR_F32, 4))[3] == 70144);
    begin_cast(10);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.steps[0].operation.through, ELEMENT_F16);
    cr_assert(((const float *)output(0, TENSOR_F32, 4))[2] == 2.75f);
}

Test(lower_convert, a_cast_that_changes_nothing_is_no_step) {
    for (int64_t to = 1; to <= 11; to += 10) { /* float32, float64 */
        begin_cast(to);
        cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
        cr_assert_eq(one.program.step_count, 0);
        cr_assert_arr_eq(output(0, TENSOR_F32, 4), x, sizeof x);
    }
}

Test(lower_convert, a_cast_to_a_type_that_we_lack_is_refused_by_name) {
    begin_cast(8);
    assert_refused(WEIR_UNSUPPORTED, "string");
    begin_cast(13);
    assert_refused(WEIR_UNSUPPORTED, "uint64");
    begin_cast(99);
    assert_refused(WEIR_UNSUPPORTED, "unknown");
    begin_cast(-1);
    assert_refused(WEIR_UNSUPPORTED, "unknown");
    begin("Cast", 13);
    assert_refused(WEIR_INVALID, "type is missing");
}

Test(lower_convert, cast_like_takes_the_type_of_its_second_input) {
    static const int32_t like = 0;
    begin("CastLike", 15);
    one_node_input(&one, TENSOR_I32, (struct tensor_shape){0, {0}}, &like, false);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.steps[0].input_count, 1);
    cr_assert_eq(((const int32_t *)output(0, TENSOR_I32, 4))[0], -1);
}

Test(lower_convert, identity_is_the_same_memory) {
    begin("Identity", 13);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.step_count, 0);
    cr_assert_arr_eq(output(0, TENSOR_F32, 4), x, sizeof x);
}

Test(lower_convert, dropout_lets_all_through) {
    begin("Dropout", 13);
    cr_assert_eq(lower(2), WEIR_OK, "%s", err.text);
    cr_assert_eq(one.program.step_count, 0);
    cr_assert_arr_eq(output(0, TENSOR_F32, 4), x, sizeof x);
    const unsigned char *mask = output(1, TENSOR_BOOL, 4);
    cr_assert(mask[0] == 1 && mask[3] == 1);
    begin("Dropout", 7);
    cr_assert_eq(lower(2), WEIR_OK, "%s", err.text);
    cr_assert(((const float *)output(1, TENSOR_F32, 4))[3] == 1);
    begin("Dropout", 13);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
}

Test(lower_convert, dropout_in_training_is_refused) {
    static const float ratio = 0.5f;
    static const unsigned char yes = 1, no = 0;
    begin("Dropout", 13);
    one_node_input(&one, TENSOR_F32, (struct tensor_shape){0, {0}}, &ratio, true);
    one_node_input(&one, TENSOR_BOOL, (struct tensor_shape){0, {0}}, &yes, true);
    assert_refused(WEIR_UNSUPPORTED, "training_mode");
    begin("Dropout", 13);
    one_node_omit(&one);
    one_node_input(&one, TENSOR_BOOL, (struct tensor_shape){0, {0}}, &no, true);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    begin("Dropout", 13);
    one_node_omit(&one);
    one_node_input(&one, TENSOR_BOOL, (struct tensor_shape){0, {0}}, &no, false);
    assert_refused(WEIR_UNSUPPORTED, "input 2");
}

Test(lower_convert, a_constant_is_one_number_or_a_list) {
    static const float floats[3] = {1, 2, 3};
    static const int64_t integers[2] = {-1, 9};
    one_node_begin(&one, "Constant", 13);
    one_node_float(&one, "value_float", 2.5f);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert(one_node_fact(&one, 0)->shape.rank == 0 && one_node_fact(&one, 0)->known);
    cr_assert(*(const float *)output(0, TENSOR_F32, 1) == 2.5f);
    one_node_begin(&one, "Constant", 13);
    one_node_int(&one, "value_int", -7);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(*(const int64_t *)output(0, TENSOR_I64, 1), -7);
    one_node_begin(&one, "Constant", 13);
    one.attributes[0] = (struct graph_attribute){
        .name = "value_floats", .type = GRAPH_ATTRIBUTE_FLOATS, .floats = floats, .item_count = 3};
    one.node.attribute_count = 1;
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_eq(one_node_fact(&one, 0)->shape.rank, 1);
    cr_assert_arr_eq(output(0, TENSOR_F32, 3), floats, sizeof floats);
    one_node_begin(&one, "Constant", 13);
    one_node_ints(&one, "value_ints", integers, 2);
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    cr_assert_arr_eq(output(0, TENSOR_I64, 2), integers, sizeof integers);
}

Test(lower_convert, a_constant_tensor_has_a_type_of_programs) {
    static const _Alignas(8) unsigned char bytes[] = {0, 0x3c, 0, 0xc0}; /* 1 and -2 in float16 */
    static const struct graph_constant tensor = {TENSOR_F16, {1, {2}}, 2, bytes};
    one_node_begin(&one, "Constant", 13);
    one.attributes[0] = (struct graph_attribute){.name = "value", .type = GRAPH_ATTRIBUTE_TENSOR, .tensor = &tensor};
    one.node.attribute_count = 1;
    cr_assert_eq(lower(1), WEIR_OK, "%s", err.text);
    const float *y = output(0, TENSOR_F32, 2);
    cr_assert(y[0] == 1 && y[1] == -2);
}

Test(lower_convert, a_constant_without_one_value_of_its_type_is_invalid) {
    one_node_begin(&one, "Constant", 13);
    assert_refused(WEIR_INVALID, "0 attributes");
    one_node_begin(&one, "Constant", 13);
    one_node_int(&one, "value_float", 1);
    assert_refused(WEIR_INVALID, "value_float");
}
