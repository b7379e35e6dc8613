#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/onnx_tensor.h"
#include "tests/fakes/onnx_writer.h"

static struct onnx_model model;
static struct graph *graph;
static struct weir_error err;
static struct onnx_tensor found;
static const struct graph_constant *tensor;

static void make(void) {
    graph = graph_create();
}

static void destroy(void) {
    graph_destroy(graph);
}

TestSuite(onnx_tensor, .init = make, .fini = destroy);

/* Reads the message that is in model.part. */
static enum weir_status read(void) {
    enum weir_status status = onnx_tensor_read(graph, wire_over(model.part.data, model.part.size), &found, &err);
    tensor = found.constant;
    return status;
}

static void put_packed(uint32_t field, const int64_t *values, size_t count) {
    model.piece.size = 0;
    for (size_t i = 0; i < count; i++)
        onnx_put_varint(&model.piece, (uint64_t)values[i]);
    onnx_put_bytes(&model.part, field, model.piece.data, model.piece.size);
}

Test(onnx_tensor, raw_data_stays_where_it_is) {
    static const float values[] = {1, -2, 3.5f, 0, 5, 6};
    onnx_make_tensor(&model, "W", 1, "2,3", values, sizeof values);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert_str_eq(found.name, "W");
    cr_assert(tensor->dtype == TENSOR_F32 && tensor->shape.rank == 2 && tensor->shape.dims[1] == 3);
    cr_assert(tensor->bytes > model.part.data && tensor->bytes < model.part.data + model.part.size);
    cr_assert(constant_element(tensor, 2) == 3.5f);
}

Test(onnx_tensor, typed_fields_are_read_packed_and_single_and_mixed) {
    static const int64_t first[] = {1, -2}, rest[] = {4};
    onnx_make_tensor(&model, "shape", 7, "4", NULL, 0);
    put_packed(7, first, 2);
    onnx_put_number(&model.part, 7, 3);
    put_packed(7, rest, 1);
    cr_assert_eq(read(), WEIR_OK);
    int64_t values[4];
    cr_assert(constant_integers(tensor, values));
    cr_assert(values[0] == 1 && values[1] == -2 && values[2] == 3 && values[3] == 4);
    onnx_make_tensor(&model, "b", 1, "2", NULL, 0);
    onnx_put_float(&model.part, 4, 0.25f);
    onnx_put_bytes(&model.part, 4, "\x00\x00\x00\x40", 4);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(constant_element(tensor, 0) == 0.25f && constant_element(tensor, 1) == 2.0f);
}

Test(onnx_tensor, half_weights_are_bit_patterns_in_the_integer_field_or_raw_bytes) {
    static const uint16_t halves[] = {0x3C00, 0x3800, 0x8000, 0x7BFF, 0x0001, 0x2E66, 0x0400, 0xC200};
    static const float expected[] = {1, 0.5f, -0.0f, 65504, 0x1p-24f, 0.0999755859375f, 0x1p-14f, -3};
    for (int raw = 0; raw < 2; raw++) {
        onnx_make_tensor(&model, "W", 10, "8", raw ? halves : NULL, sizeof halves);
        for (size_t i = 0; !raw && i < 8; i++)
            onnx_put_number(&model.part, 5, halves[i]);
        cr_assert_eq(read(), WEIR_OK);
        for (size_t i = 0; i < 8; i++)
            cr_assert(constant_element(tensor, i) == expected[i] &&
                          signbit(constant_element(tensor, i)) == signbit(expected[i]),
                      "element %zu", i);
    }
}

Test(onnx_tensor, doubles_bytes_and_bools_are_read_from_their_fields) {
    static const double value = -0.5;
    onnx_make_tensor(&model, "d", 11, "1", NULL, 0);
    onnx_put_bytes(&model.part, 10, &value, sizeof value);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(constant_element(tensor, 0) == -0.5f);
    onnx_make_tensor(&model, "i", 3, "1", NULL, 0);
    onnx_put_number(&model.part, 5, -3);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(constant_element(tensor, 0) == -3.0f);
    onnx_make_tensor(&model, "flag", 9, "", NULL, 0);
    onnx_put_number(&model.part, 5, 1);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(tensor->shape.rank == 0 && constant_element(tensor, 0) == 1.0f);
}

Test(onnx_tensor, fewer_or_more_elements_than_the_dimensions_say_are_refused_by_name) {
    static const float values[3] = {1, 2, 3};
    onnx_make_tensor(&model, "short_one", 1, "4", values, sizeof values);
    cr_assert_eq(read(), WEIR_INVALID);
    cr_assert_not_null(strstr(err.text, "short_one"));
    onnx_make_tensor(&model, "typed", 1, "2", NULL, 0);
    onnx_put_float(&model.part, 4, 1.0f);
    cr_assert_eq(read(), WEIR_INVALID);
    onnx_make_tensor(&model, "empty", 1, "2", NULL, 0);
    cr_assert_eq(read(), WEIR_INVALID);
    onnx_make_tensor(&model, "wrong_field", 1, "1", NULL, 0);
    onnx_put_number(&model.part, 7, 1);
    cr_assert_eq(read(), WEIR_INVALID);
    onnx_make_tensor(&model, "two_fields", 7, "2", NULL, 0);
    onnx_put_number(&model.part, 7, 1);
    onnx_put_number(&model.part, 5, 1);
    cr_assert_eq(read(), WEIR_INVALID);
}

Test(onnx_tensor, dimensions_that_claim_what_is_not_there_take_no_memory) {
    onnx_make_tensor(&model, "huge", 1, "4611686018427387904", NULL, 0);
    cr_assert_eq(read(), WEIR_INVALID);
    onnx_make_tensor(&model, "wide", 1, "1000000,1000000,1000000,1000000", NULL, 0);
    cr_assert_eq(read(), WEIR_INVALID);
    onnx_make_tensor(&model, "zero", 1, "0,4611686018427387904,4", NULL, 0);
    cr_assert_eq(read(), WEIR_INVALID);
    onnx_make_tensor(&model, "below", 1, "-3", NULL, 0);
    cr_assert_eq(read(), WEIR_INVALID);
    onnx_make_tensor(&model, "gigabyte", 1, "1000000000", "abcd", 4);
    cr_assert_eq(read(), WEIR_INVALID);
    onnx_make_tensor(&model, "nine", 1, "1,1,1,1,1,1,1,1,1", "abcd", 4);
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    onnx_make_tensor(&model, "none", 7, "0", "", 0);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert_eq(tensor->elements, 0);
}

Test(onnx_tensor, a_type_that_cannot_be_used_is_noted_and_nothing_else_is_read) {
    onnx_make_tensor(&model, "words", 8, "1", NULL, 0);
    onnx_put_bytes(&model.part, 6, "cat", 3);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert_str_eq(found.name, "words");
    cr_assert(found.constant == NULL && found.unsupported_type == 8);
    onnx_make_tensor(&model, "typeless", 0, "1", "abcd", 4);
    cr_assert_eq(read(), WEIR_INVALID);
}

Test(onnx_tensor, integers_of_other_widths_are_made_wider) {
    static const int16_t shorts[] = {-5, 32767};
    static const uint32_t words[] = {1, 4294967295u};
    int64_t values[2];
    onnx_make_tensor(&model, "short", 5, "2", shorts, sizeof shorts);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(tensor->dtype == TENSOR_I32 && constant_integers(tensor, values));
    cr_assert(values[0] == -5 && values[1] == 32767);
    onnx_make_tensor(&model, "ushort", 4, "2", NULL, 0);
    onnx_put_number(&model.part, 5, 65535);
    onnx_put_number(&model.part, 5, 0);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(tensor->dtype == TENSOR_I32 && constant_integers(tensor, values) && values[0] == 65535);
    onnx_make_tensor(&model, "word", 12, "2", words, sizeof words);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(tensor->dtype == TENSOR_I64 && constant_integers(tensor, values) && values[1] == 4294967295);
    onnx_make_tensor(&model, "wide", 13, "1", NULL, 0);
    onnx_put_number(&model.part, 11, 77);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(tensor->dtype == TENSOR_I64 && constant_integers(tensor, values) && values[0] == 77);
}

Test(onnx_tensor, an_integer_that_has_no_place_in_the_wider_type_cannot_be_used) {
    static const uint64_t huge[] = {UINT64_MAX};
    onnx_make_tensor(&model, "huge", 13, "1", huge, sizeof huge);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(found.constant == NULL && found.unsupported_type == 13);
}

Test(onnx_tensor, a_bool_is_zero_or_one) {
    static const unsigned char flags[] = {0, 2, 1, 255};
    onnx_make_tensor(&model, "flags", 9, "4", flags, sizeof flags);
    cr_assert_eq(read(), WEIR_OK);
    cr_assert(memcmp(tensor->bytes, "\0\1\1\1", 4) == 0);
}

Test(onnx_tensor, a_broken_external_entry_is_refused) {
    static const char *const numbers[] = {"", "-1", "1x", "0x10", "18446744073709551616", " 1"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        onnx_make_tensor(&model, "W", 1, "1", NULL, 0);
        model.piece.size = 0;
        onnx_put_bytes(&model.piece, 1, "offset", 6);
        onnx_put_bytes(&model.piece, 2, numbers[i], strlen(numbers[i]));
        onnx_put_bytes(&model.part, 13, model.piece.data, model.piece.size);
        onnx_put_number(&model.part, 14, 1);
        cr_assert_eq(read(), WEIR_INVALID, "%s", numbers[i]);
    }
}

Test(onnx_tensor, every_cut_of_a_tensor_is_refused_or_read_without_a_fault) {
    static const float values[] = {1, 2, 3, 4};
    onnx_make_tensor(&model, "W", 1, "2,2", values, sizeof values);
    size_t whole = model.part.size;
    for (size_t size = 0; size < whole; size++) {
        model.part.size = size;
        cr_assert_neq(read(), WEIR_OK, "cut at %zu", size);
    }
}
