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
        .format = CODEC_RAW, .signature = &model.signature, .body_bytes = announced, .max_rows = max_rows};
    return decode_in_pieces(&options, body, size, piece, piece);
}

Test(codec_binary, rows_are_copied_wherever_the_pieces_end) {
    const float values[] = {1, -2, NAN, INFINITY, -INFINITY, -0.0F, 1e-45F, 8};
    for (size_t piece = 1; piece <= sizeof values; piece++)
        for (size_t announced = 0; announced <= sizeof values; announced += sizeof values / 2) {
            struct outcome outcome = decode(values, sizeof values, announced, UINT32_MAX, piece);
            cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
            cr_assert(eq(sz, outcome.decoded.dims.rows, 2));
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

Test(codec_binary, several_outputs_are_not_supported) {
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    struct tensor_spec specs[] = {model.output, model.output};
    struct signature signature = {.outputs = specs, .output_count = 2};
    struct job_tensor outputs[2] = {{0}};
    struct bytes out = {0};
    struct weir_error err;
    cr_assert(codec_binary_encode(&signature, 1, outputs, &out, &err) == WEIR_UNSUPPORTED);
    cr_assert(eq(str, err.text, "raw answers carry one output, the model has 2"));
}

Test(codec_binary, several_inputs_are_not_supported_and_named) {
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    struct tensor_spec specs[] = {model.input, model.output};
    struct signature signature = {.inputs = specs, .input_count = 2};
    struct decoder_options options = {.format = CODEC_RAW, .signature = &signature};
    struct decoder *decoder;
    struct weir_error err;
    cr_assert(codec_binary_open(&options, &decoder, &err) == WEIR_UNSUPPORTED);
    cr_assert(eq(str, err.text, "the model takes 2 inputs: \"x\", \"y\"; a raw body carries one"));
}

/* An input of this type and shape. */
static struct outcome decode_as(enum tensor_dtype dtype, struct tensor_shape shape, const void *body, size_t size) {
    struct tensor_spec spec = {.name = "x", .dtype = dtype, .shape = shape};
    cr_assert(tensor_spec_measure(&spec));
    struct signature signature = {.inputs = &spec, .input_count = 1, .free_count = 2};
    struct decoder_options options = {
        .format = CODEC_RAW, .signature = &signature, .body_bytes = size, .max_rows = UINT32_MAX};
    return decode_in_pieces(&options, body, size, 3, 7);
}

Test(codec_binary, every_type_is_carried) {
    static const int64_t numbers[] = {1, -2, INT64_MIN, INT64_MAX};
    for (int dtype = 0; dtype < TENSOR_DTYPE_COUNT; dtype++) {
        const struct tensor_shape shape = {.rank = 2, .dims = {TENSOR_BATCH, 4}};
        const unsigned char booleans[32] = {1, 0, 1};
        const void *body = dtype == TENSOR_BOOL ? (const void *)booleans : numbers;
        struct outcome outcome = decode_as((enum tensor_dtype)dtype, shape, body, sizeof numbers);
        cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
        size_t row_bytes = 4 * tensor_dtype_bytes((enum tensor_dtype)dtype);
        cr_assert(eq(sz, outcome.decoded.dims.rows, sizeof numbers / row_bytes));
        cr_assert(eq(sz, outcome.decoded.inputs[0].row_bytes, row_bytes));
        cr_assert(memcmp(outcome.decoded.inputs[0].data, body, sizeof numbers) == 0);
        decoded_release(&outcome.decoded, 1);
    }
}

Test(codec_binary, a_bool_is_zero_or_one) {
    const struct tensor_shape shape = {.rank = 1, .dims = {TENSOR_BATCH}};
    struct outcome outcome = decode_as(TENSOR_BOOL, shape, "\1\0\2", 3);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(eq(str, outcome.err.text, "byte 2 of the body is 2, a bool is 0 or 1"));
}

Test(codec_binary, a_free_dimension_follows_from_the_length_and_makes_one_row) {
    const struct tensor_shape shape = {.rank = 3, .dims = {TENSOR_BATCH, TENSOR_FREE(1), 2}};
    const int32_t numbers[] = {1, 2, 3, 4, 5, 6};
    struct outcome outcome = decode_as(TENSOR_I32, shape, numbers, sizeof numbers);
    cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
    cr_assert(eq(u32, outcome.decoded.dims.rows, 1));
    cr_assert(eq(int, outcome.decoded.dims.free_count, 2));
    cr_assert(eq(i64, outcome.decoded.dims.free[1], 3));
    cr_assert(eq(sz, outcome.decoded.inputs[0].row_bytes, sizeof numbers));
    cr_assert(eq(int, outcome.decoded.inputs[0].row.rank, 2));
    cr_assert(eq(i64, outcome.decoded.inputs[0].row.dims[0], 3));
    decoded_release(&outcome.decoded, 1);
    outcome = decode_as(TENSOR_I32, shape, numbers, 12);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(eq(str, outcome.err.text, "the body has 12 bytes, expected a multiple of 8 (rows of int32 [-1,2])"));
}

Test(codec_binary, two_free_dimensions_cannot_be_told_apart) {
    const struct tensor_shape shape = {.rank = 3, .dims = {TENSOR_BATCH, TENSOR_FREE(0), TENSOR_FREE(1)}};
    struct outcome outcome = decode_as(TENSOR_F32, shape, "", 0);
    cr_assert(outcome.status == WEIR_UNSUPPORTED);
    cr_assert(strstr(outcome.err.text, "takes \"x\" as float32 [-1,-1,-1]") != NULL, "%s", outcome.err.text);
}

Test(codec_binary, an_input_without_a_batch_dimension_is_one_row) {
    const struct tensor_shape shape = {.rank = 2, .dims = {2, 2}};
    const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct outcome outcome = decode_as(TENSOR_F32, shape, numbers, 16);
    cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
    cr_assert(eq(u32, outcome.decoded.dims.rows, 1));
    decoded_release(&outcome.decoded, 1);
    outcome = decode_as(TENSOR_F32, shape, numbers, 32);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(eq(str, outcome.err.text, "the body has 32 bytes, expected 16 (a tensor of float32 [2,2])"));
}

Test(codec_binary, an_output_without_a_batch_dimension_comes_once) {
    struct tensor_spec spec = {.name = "y", .dtype = TENSOR_I64, .shape = {.rank = 1, .dims = {2}}};
    cr_assert(tensor_spec_measure(&spec));
    struct signature signature = {.outputs = &spec, .output_count = 1};
    int64_t values[] = {5, 6};
    struct job_tensor output = tensor_of(&spec, values);
    struct bytes out = {0};
    struct weir_error err;
    cr_assert(codec_binary_encode(&signature, 3, &output, &out, &err) == WEIR_OK);
    cr_assert(eq(sz, out.size, sizeof values));
    bytes_release(&out);
}
