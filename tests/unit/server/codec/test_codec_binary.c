#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "server/codec/codec_binary.h"
#include "tests/unit/server/codec/codec_helpers.h"

static const int64_t four[] = {4};

static struct outcome decode(const void *body, size_t size, size_t announced, uint32_t max_rows, size_t piece) {
    static struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    struct decoder_options options = {
        .format = CODEC_RAW_F32, .signature = &model.signature, .body_bytes = announced, .max_rows = max_rows};
    return decode_in_pieces(&options, body, size, piece, piece);
}

Test(codec_binary, rows_are_copied_wherever_the_pieces_end) {
    const float values[] = {1, -2, NAN, INFINITY, -INFINITY, -0.0F, 1e-45F, 8};
    for (size_t piece = 1; piece <= sizeof values; piece++)
        for (size_t announced = 0; announced <= sizeof values; announced += sizeof values / 2) {
            struct outcome outcome = decode(values, sizeof values, announced, UINT32_MAX, piece);
            cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
            cr_assert(eq(sz, outcome.decoded.rows, 2));
            cr_assert(eq(sz, outcome.decoded.inputs[0].row_bytes, 16));
            cr_assert(memcmp(outcome.decoded.inputs[0].data, values, sizeof values) == 0);
            decoded_release(&outcome.decoded, 1);
        }
}

Test(codec_binary, bytes_are_little_endian) {
    static const unsigned char body[16] = {0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0};
    struct outcome outcome = decode(body, sizeof body, sizeof body, UINT32_MAX, 16);
    cr_assert(outcome.status == WEIR_OK);
    cr_assert(outcome_value(&outcome, 0) == 1);
    cr_assert(outcome_value(&outcome, 1) == -2);
    decoded_release(&outcome.decoded, 1);
}

Test(codec_binary, a_length_that_is_no_whole_number_of_rows_is_refused_with_both) {
    char body[64] = {0};
    struct outcome outcome = decode(body, 17, 17, UINT32_MAX, 100);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(eq(str, outcome.err.text, "the body has 17 bytes, expected a multiple of 16 (rows of float32 [4])"));
    outcome = decode(body, 15, 0, UINT32_MAX, 4);
    cr_assert(outcome.status == WEIR_INVALID);
    outcome = decode(body, 0, 0, UINT32_MAX, 4);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(eq(str, outcome.err.text, "the body is empty, expected rows of 16 bytes"));
}

Test(codec_binary, rows_past_the_limit_are_refused) {
    char body[64] = {0};
    struct outcome outcome = decode(body, 32, 32, 2, 5);
    cr_assert(outcome.status == WEIR_OK);
    decoded_release(&outcome.decoded, 1);
    outcome = decode(body, 48, 48, 2, 5);
    cr_assert(outcome.status == WEIR_TOO_LARGE);
    cr_assert(eq(str, outcome.err.text, "more than 2 rows of 16 bytes in the body"));
}

Test(codec_binary, an_answer_is_the_rows_as_they_are) {
    float values[] = {1, NAN, -0.0F, INFINITY, 5, 6, 7, 8};
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    struct job_tensor output = {.data = values, .row_bytes = 16};
    struct bytes out = {0};
    struct weir_error err;
    bytes_text(&out, "x");
    cr_assert(codec_binary_encode(&model.signature, 2, &output, &out, &err) == WEIR_OK);
    cr_assert(eq(sz, out.size, 1 + sizeof values));
    cr_assert(memcmp(out.data + 1, values, sizeof values) == 0);
    bytes_release(&out);
}

Test(codec_binary, several_outputs_or_another_type_are_not_supported) {
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    struct tensor_spec specs[] = {model.output, model.output};
    struct signature signature = {.outputs = specs, .output_count = 2};
    struct job_tensor outputs[2] = {{0}};
    struct bytes out = {0};
    struct weir_error err;
    cr_assert(codec_binary_encode(&signature, 1, outputs, &out, &err) == WEIR_UNSUPPORTED);
    signature.output_count = 1;
    specs[0].dtype = TENSOR_I64;
    cr_assert(codec_binary_encode(&signature, 1, outputs, &out, &err) == WEIR_UNSUPPORTED);
    cr_assert(eq(str, err.text, "output \"y\" is int64: raw answers carry float32"));
}
