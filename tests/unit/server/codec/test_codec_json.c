#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>

#include "server/codec/codec_json.h"
#include "tests/unit/server/codec/codec_helpers.h"

static const int64_t four[] = {4};
static const int64_t two_by_three[] = {2, 3};

static struct outcome decode(int rank, const int64_t *inner, const char *body, size_t size, size_t first, size_t rest) {
    struct one_tensor_model model;
    one_tensor_model_init(&model, rank, inner);
    struct decoder_options options = {
        .format = CODEC_JSON, .signature = &model.signature, .body_bytes = size, .max_rows = UINT32_MAX};
    return decode_in_pieces(&options, body, size, first, rest);
}

/* Reads body whole, byte by byte, and cut in two at every byte; expects the same rows each time. */
static void expect_rows(int rank, const int64_t *inner, const char *body, size_t rows, const float *values,
                        size_t count) {
    size_t size = strlen(body);
    for (size_t first = 0; first <= size; first++) {
        struct outcome outcome = decode(rank, inner, body, size, first, first == 0 ? 1 : size);
        cr_assert(outcome.status == WEIR_OK, "%s cut at %zu: %s", body, first, outcome.err.text);
        cr_assert(eq(sz, outcome.decoded.dims.rows, rows));
        cr_assert(eq(sz, outcome.decoded.inputs[0].row_bytes * rows, count * sizeof(float)));
        cr_assert(memcmp(outcome.decoded.inputs[0].data, values, count * sizeof(float)) == 0, "%s cut at %zu", body,
                  first);
        decoded_release(&outcome.decoded, 1);
    }
}

/* Likewise expects the same refusal, whose text contains these words. */
static void expect_refusal(int rank, const int64_t *inner, const char *body, const char *words) {
    size_t size = strlen(body);
    for (size_t first = 0; first <= size; first++) {
        struct outcome outcome = decode(rank, inner, body, size, first, first == 0 ? 1 : size);
        cr_assert(outcome.status == WEIR_INVALID, "%s cut at %zu is taken", body, first);
        cr_assert(strstr(outcome.err.text, words) != NULL, "%s cut at %zu: %s", body, first, outcome.err.text);
    }
}

Test(codec_json, rows_are_read_wherever_the_pieces_end) {
    const float eight[] = {1, 2, 3, 4, -0.5F, 6.25F, 7e10F, 8};
    expect_rows(2, four, "{\"instances\":[[1,2,3,4],[-0.5,6.25,7e10,8]]}", 2, eight, 8);
    expect_rows(2, four, " {\n \"instances\" : [ [ 1 , 2 , 3 , 4 ] ,\r\n\t[-0.5, 6.25, 7E+10, 8.0] ] } ", 2, eight, 8);
}

Test(codec_json, an_escaped_member_name_is_the_same_name) {
    const float values[] = {1, 2, 3, 4};
    expect_rows(2, four, "{\"inst\\u0061nces\":[[1,2,3,4]]}", 1, values, 4);
}

Test(codec_json, unknown_members_are_skipped_before_and_after) {
    const float values[] = {1, 2, 3, 4};
    expect_rows(2, four,
                "{\"foo\":1,\"signature_name\":\"x\",\"o\":{\"instances\":[{\"a\":[1e999]}]},\"instances\":[[1,2,3,4]],"
                "\"z\":[null,[true],{}],\"inputs\":0}",
                1, values, 4);
}

Test(codec_json, rank_one_rows_are_numbers) {
    const float values[] = {1, -2, 3.5F};
    expect_rows(1, NULL, "{\"instances\":[1,-2,3.5]}", 3, values, 3);
    expect_refusal(1, NULL, "{\"instances\":[1,[2]]}", "row 1: expected a number, got an array");
    expect_refusal(1, NULL, "{\"instances\":[]}", "at least one row is needed");
    expect_refusal(1, NULL, "{\"instances\":[1,NaN]}", "row 1: NaN");
}

Test(codec_json, higher_ranks_are_nested_strictly) {
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    expect_rows(3, two_by_three, "{\"instances\":[[[1,2,3],[4,5,6]],[[7,8,9],[10,11,12]]]}", 2, values, 12);
    expect_refusal(3, two_by_three, "{\"instances\":[[1,2,3,4,5,6]]}",
                   "row 0, element [0]: expected an array of 3 numbers, got a number (a row has shape [2,3])");
    expect_refusal(3, two_by_three, "{\"instances\":[[[1,2,3],[4,5]]]}",
                   "row 0, element [1] has 2 values, expected 3 (a row has shape [2,3])");
    expect_refusal(3, two_by_three, "{\"instances\":[[[1,2,3]]]}", "row 0 has 1 arrays, expected 2");
    expect_refusal(3, two_by_three, "{\"instances\":[[[1,2,3],[4,5,6],[7,[8],\"9\"]]]}",
                   "row 0 has 3 arrays, expected 2");
    expect_refusal(3, two_by_three, "{\"instances\":[[[1,2,3],[4,5,true]]]}",
                   "row 0, element [1][2]: expected a number, got true");
    expect_refusal(3, two_by_three, "{\"instances\":[[[1,2,3],[4,5,-Infinity]]]}", "row 0, element [1][2]: NaN");
    expect_refusal(3, two_by_three, "{\"instances\":[5]}", "row 0: expected an array of shape [2,3], got a number");
}

Test(codec_json, bl_033_bytes_behind_the_document_are_refused_with_their_offset) {
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4]]}garbage", "(offset 25)");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4]]}{\"instances\":[[1,2,3,4]]}", "(offset 25)");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4]]}]", "(offset 25)");
}

Test(codec_json, bl_034_nan_and_infinity_are_refused_by_row_and_column) {
    expect_refusal(2, four, "{\"instances\":[[NaN,2,3,4],[Infinity,2,3,4],[-Infinity,2,3,4]]}",
                   "row 0, column 0: NaN and Infinity are not JSON numbers (offset 15)");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4],[5,6,Infinity,8]]}", "row 1, column 2: NaN and Infinity");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,-Infinity]]}", "row 0, column 3: NaN and Infinity");
    expect_refusal(2, four, "{\"instances\":[[1,nan,3,4]]}", "row 0, column 1: NaN and Infinity");
}

Test(codec_json, bl_035_a_number_past_float32_is_refused_by_row_and_column) {
    expect_refusal(2, four, "{\"instances\":[[1,2,1e400,4]]}",
                   "row 0, column 2: the number is outside the float32 range");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4],[1,2,3,1e39]]}", "row 1, column 3");
    expect_refusal(2, four, "{\"instances\":[[-1e400,2,3,4]]}",
                   "row 0, column 0: the number is outside the float32 range");
    const float largest[] = {0x1.FFFFFEp127F, 0x1.FFFFFEp127F, -0x1.FFFFFEp127F, 0};
    expect_rows(2, four, "{\"instances\":[[3.4028235e38,3.4028234e38,-3.4028235e38,1e-400]]}", 1, largest, 4);
    cr_assert(isinf(strtof("3.4028236e38", NULL)));
    expect_refusal(2, four, "{\"instances\":[[3.4028236e38,2,3,4]]}", "float32 range");
}

Test(codec_json, bl_038_a_member_that_comes_twice_is_named) {
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4]],\"instances\":[[9,9,9,9]]}",
                   "member \"instances\" comes twice (offset 25)");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4]],\"inst\\u0061nces\":[[9,9,9,9]]}", "\"instances\" comes twice");
    expect_refusal(2, four, "{\"a\":1,\"instances\":[[1,2,3,4]],\"a\":2}", "member \"a\" comes twice");
    expect_refusal(2, four, "{\"o\":{\"b\":1,\"c\":[{\"b\":1}],\"b\":2},\"instances\":[[1,2,3,4]]}",
                   "member \"b\" comes twice");
}

Test(codec_json, bl_038_instances_is_found_twice_behind_more_names_than_are_remembered) {
    char body[2048] = "{\"instances\":[[1,2,3,4]]";
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    struct decoder_options options = {
        .format = CODEC_JSON, .signature = &model.signature, .body_bytes = 0, .max_rows = UINT32_MAX};
    char names[1024] = "{";
    for (int i = 0; i < 70; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "\"m%d\":0,", i);
    snprintf(body, sizeof body, "%s\"instances\":[[1,2,3,4]],\"instances\":[[1,2,3,4]]}", names);
    struct outcome outcome = decode_in_pieces(&options, body, strlen(body), 100, 100);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(strstr(outcome.err.text, "member \"instances\" comes twice") != NULL, "%s", outcome.err.text);
}

Test(codec_json, bl_040_deep_nesting_is_refused_at_once) {
    enum { LEVELS = 200000 };
    char *body = malloc(LEVELS * 5);
    struct outcome outcome;

    memset(body, '[', LEVELS);
    outcome = decode(2, four, body, LEVELS, LEVELS, LEVELS);
    cr_assert(outcome.status == WEIR_INVALID);

    static const char head[] = "{\"instances\":";
    memcpy(body, head, sizeof head - 1);
    memset(body + sizeof head - 1, '[', LEVELS);
    outcome = decode(2, four, body, LEVELS, 1000, 1000);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(strstr(outcome.err.text, "row 0, column 0: expected a number, got an array") != NULL);

    for (int i = 0; i < LEVELS; i++)
        memcpy(body + i * 5, "{\"a\":", 5);
    outcome = decode(2, four, body, LEVELS, LEVELS, LEVELS);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(strstr(outcome.err.text, "nested deeper than 32 levels (offset 160)") != NULL, "%s", outcome.err.text);
    free(body);
}

Test(codec_json, bl_041_bytes_that_are_not_utf8_are_refused) {
    expect_refusal(2, four, "{\"inst\xC0\xAFnces\":\"\xFF\xFE\",\"instances\":[[1,2,3,4]]}", "not UTF-8");
    expect_refusal(2, four, "{\"a\":\"\xFF\xFE\",\"instances\":[[1,2,3,4]]}", "not UTF-8");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,\"\xFF\"]]}", "not UTF-8");
}

Test(codec_json, bl_046_an_empty_body_has_a_text_of_its_own) {
    expect_refusal(2, four, "", "the body is empty");
    expect_refusal(2, four, " \t\r\n", "the body is empty");
}

Test(codec_json, bl_047_missing_and_mistyped_members_are_named) {
    expect_refusal(2, four, "{}", "member \"instances\" is missing");
    expect_refusal(2, four, "{\"inputs\":[[1,2,3,4]]}", "member \"instances\" is missing");
    expect_refusal(2, four, "[]", "the body is an array, expected an object with member \"instances\"");
    expect_refusal(2, four, "null", "the body is null, expected an object with member \"instances\"");
    expect_refusal(2, four, "5", "the body is a number, expected an object with member \"instances\"");
    expect_refusal(2, four, "\"x\"", "the body is a string");
    expect_refusal(2, four, "{\"instances\":null}", "\"instances\" is null, expected an array of rows");
    expect_refusal(2, four, "{\"instances\":5}", "\"instances\" is a number");
    expect_refusal(2, four, "{\"instances\":{}}", "\"instances\" is an object");
    expect_refusal(2, four, "{\"instances\":true}",
                   "\"instances\" is true, expected an array of rows, each an array of 4");
}

Test(codec_json, bl_050_a_row_of_another_length_is_named_with_both_lengths) {
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4],[1,2,3],[1,2,3,4]]}", "row 1 has 3 values, expected 4");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4],[1,2,3,4,5,6]]}", "row 1 has 6 values, expected 4");
    expect_refusal(2, four, "{\"instances\":[[1,2,3,4],[]]}", "row 1 has 0 values, expected 4");
}

Test(codec_json, bl_051_a_wrong_shape_is_told_with_the_expected_one) {
    expect_refusal(2, four, "{\"instances\":[[1,2,3]]}", "row 0 has 3 values, expected 4 (a row has shape [4])");
    expect_refusal(2, four, "{\"instances\":[[[1,2,3,4]]]}",
                   "row 0, column 0: expected a number, got an array (a row has shape [4])");
    expect_refusal(2, four, "{\"instances\":[1,2,3,4]}",
                   "row 0: expected an array of 4 numbers, got a number (a row has shape [4])");
}

Test(codec_json, bl_052_wrong_element_types_are_named_by_row_and_column) {
    static const struct {
        const char *element, *words;
    } rows[] = {{"\"1\"", "got a string"}, {"true", "got true"},    {"false", "got false"},
                {"null", "got null"},      {"{}", "got an object"}, {"[1]", "got an array"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char body[128], words[128];
        snprintf(body, sizeof body, "{\"instances\":[[%s,2,3,4]]}", rows[i].element);
        snprintf(words, sizeof words, "row 0, column 0: expected a number, %s", rows[i].words);
        expect_refusal(2, four, body, words);
        snprintf(body, sizeof body, "{\"instances\":[[1,2,3,4],[1,2,3,%s]]}", rows[i].element);
        snprintf(words, sizeof words, "row 1, column 3: expected a number, %s", rows[i].words);
        expect_refusal(2, four, body, words);
    }
    expect_refusal(2, four, "{\"instances\":[[\"1\",2,3,4],[true,2,3,4],[null,2,3,4],[{},2,3,4],[[1],2,3,4]]}",
                   "row 0, column 0: expected a number, got a string");
    expect_refusal(2, four, "{\"instances\":[{\"x\":[1,2,3,4]}]}",
                   "row 0: expected an array of 4 numbers, got an object");
}

Test(codec_json, bl_053_at_least_one_row_is_needed) {
    expect_refusal(2, four, "{\"instances\":[]}", "at least one row is needed");
    expect_refusal(2, four, "{\"instances\":[[]]}", "at least one row is needed");
}

Test(codec_json, case_31_twenty_rows_come_in_order) {
    char body[512] = "{\"instances\":[";
    float values[80];
    for (int row = 0; row < 20; row++) {
        snprintf(body + strlen(body), sizeof body - strlen(body), "%s[%d,0,0,1]", row == 0 ? "" : ",", row);
        const float numbers[] = {(float)row, 0, 0, 1};
        memcpy(values + row * 4, numbers, sizeof numbers);
    }
    strcat(body, "]}");
    expect_rows(2, four, body, 20, values, 80);
}

Test(codec_json, rows_past_the_limit_are_refused) {
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    struct decoder_options options = {.format = CODEC_JSON, .signature = &model.signature, .max_rows = 2};
    static const char two[] = "{\"instances\":[[1,2,3,4],[1,2,3,4]]}";
    static const char three[] = "{\"instances\":[[1,2,3,4],[1,2,3,4],[1,2,3,4]]}";
    for (size_t first = 0; first < sizeof three; first++) {
        struct outcome outcome = decode_in_pieces(&options, two, sizeof two - 1, first, 5);
        cr_assert(outcome.status == WEIR_OK);
        decoded_release(&outcome.decoded, 1);
        outcome = decode_in_pieces(&options, three, sizeof three - 1, first, 5);
        cr_assert(outcome.status == WEIR_TOO_LARGE);
        cr_assert(strstr(outcome.err.text, "more than 2 rows in \"instances\"") != NULL);
    }
    one_tensor_model_init(&model, 1, NULL);
    static const char numbers[] = "{\"instances\":[1,2,3]}                                          ";
    struct outcome outcome = decode_in_pieces(&options, numbers, sizeof numbers - 1, 100, 100);
    cr_assert(outcome.status == WEIR_TOO_LARGE);
    cr_assert(strstr(outcome.err.text, "more than 2 rows in \"instances\"") != NULL);
}

Test(codec_json, a_large_body_is_read_whether_its_length_was_announced_or_not) {
    enum { ROWS = 5000 };
    int64_t wide[] = {10};
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, wide);
    struct bytes body = {0};
    bytes_text(&body, "{\"instances\":[");
    for (int i = 0; i < ROWS * 10; i++)
        bytes_printf(&body, "%s%d%s", i == 0 ? "[" : i % 10 == 0 ? ",[" : ",", i, i % 10 == 9 ? "]" : "");
    bytes_text(&body, "]}");
    for (int announced = 0; announced < 2; announced++) {
        struct decoder_options options = {.format = CODEC_JSON,
                                          .signature = &model.signature,
                                          .body_bytes = announced ? body.size : 0,
                                          .max_rows = UINT32_MAX};
        struct outcome outcome = decode_in_pieces(&options, body.data, body.size, 777, 4096);
        cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
        cr_assert(eq(sz, outcome.decoded.dims.rows, ROWS));
        for (size_t i = 0; i < ROWS * 10; i++)
            cr_assert(outcome_value(&outcome, i) == (float)i);
        decoded_release(&outcome.decoded, 1);
    }
    bytes_release(&body);
}

Test(codec_json, bl_048_memory_is_at_most_the_documented_multiple_of_the_body) {
    enum { NUMBERS = 1000 * 1000, SLACK = 16 * 1024 };
    struct one_tensor_model model;
    one_tensor_model_init(&model, 1, NULL);
    struct bytes body = {0};
    bytes_text(&body, "{\"instances\":[0");
    for (int i = 1; i < NUMBERS; i++)
        bytes_append(&body, ",0", 2);
    bytes_text(&body, "]}");
    cr_assert(not(body.failed));
    for (int announced = 0; announced < 2; announced++) {
        struct decoder_options options = {.format = CODEC_JSON,
                                          .signature = &model.signature,
                                          .body_bytes = announced ? body.size : 0,
                                          .max_rows = UINT32_MAX};
        struct outcome outcome = decode_in_pieces(&options, body.data, body.size, 16384, 16384);
        cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
        cr_assert(eq(sz, outcome.decoded.dims.rows, NUMBERS));
        cr_assert(le(sz, malloc_usable_size(outcome.decoded.inputs[0].data), (announced ? 2 : 3) * body.size + SLACK));
        decoded_release(&outcome.decoded, 1);
    }
    bytes_release(&body);
}

Test(codec_json, an_announced_length_that_is_wrong_does_no_harm) {
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    static const char body[] = "{\"instances\":[[1,2,3,4],[5,6,7,8],[9,10,11,12]]}";
    for (size_t announced = 1; announced < 100000; announced *= 7) {
        struct decoder_options options = {
            .format = CODEC_JSON, .signature = &model.signature, .body_bytes = announced, .max_rows = UINT32_MAX};
        struct outcome outcome = decode_in_pieces(&options, body, sizeof body - 1, 20, 3);
        cr_assert(outcome.status == WEIR_OK);
        cr_assert(outcome_value(&outcome, 11) == 12);
        decoded_release(&outcome.decoded, 1);
    }
}

/* input_ids [N,seq] int64, mask [N,seq] bool, bias [N] float32. */
struct text_model {
    struct tensor_spec inputs[3];
    struct signature signature;
};

static void text_model_init(struct text_model *model, bool shares_bias) {
    const struct tensor_shape sequence = {.rank = 2, .dims = {TENSOR_BATCH, TENSOR_FREE(0)}};
    const struct tensor_shape number = {.rank = 1, .dims = {TENSOR_BATCH}}, shared = {.rank = 1, .dims = {2}};
    model->inputs[0] = (struct tensor_spec){.name = "input_ids", .dtype = TENSOR_I64, .shape = sequence};
    model->inputs[1] = (struct tensor_spec){.name = "mask", .dtype = TENSOR_BOOL, .shape = sequence};
    model->inputs[2] =
        (struct tensor_spec){.name = "bias", .dtype = TENSOR_F32, .shape = shares_bias ? shared : number};
    for (int i = 0; i < 3; i++)
        cr_assert(tensor_spec_measure(&model->inputs[i]));
    model->signature = (struct signature){.inputs = model->inputs, .input_count = 3, .free_count = 1};
}

static struct outcome decode_text(bool shares_bias, const char *body, size_t first) {
    struct text_model model;
    text_model_init(&model, shares_bias);
    struct decoder_options options = {
        .format = CODEC_JSON, .signature = &model.signature, .body_bytes = strlen(body), .max_rows = 3};
    return decode_in_pieces(&options, body, strlen(body), first, first == 0 ? 1 : strlen(body));
}

static void refuse_text(bool shares_bias, const char *body, const char *words) {
    for (size_t first = 0; first <= strlen(body); first++) {
        struct outcome outcome = decode_text(shares_bias, body, first);
        cr_assert(outcome.status == WEIR_INVALID, "%s cut at %zu is taken", body, first);
        cr_assert(strstr(outcome.err.text, words) != NULL, "%s cut at %zu: %s", body, first, outcome.err.text);
    }
}

static void take_text(bool shares_bias, const char *body) {
    const int64_t ids[] = {7, 8, 9, 1, 2, 3};
    const unsigned char mask[] = {1, 1, 0, 0, 1, 1};
    const float bias[] = {0.5F, -1};
    for (size_t first = 0; first <= strlen(body); first++) {
        struct outcome outcome = decode_text(shares_bias, body, first);
        cr_assert(outcome.status == WEIR_OK, "%s cut at %zu: %s", body, first, outcome.err.text);
        const struct decoded *decoded = &outcome.decoded;
        cr_assert(eq(u32, decoded->dims.rows, 2));
        cr_assert(eq(int, decoded->dims.free_count, 1));
        cr_assert(eq(i64, decoded->dims.free[0], 3));
        cr_assert(memcmp(decoded->inputs[0].data, ids, sizeof ids) == 0);
        cr_assert(memcmp(decoded->inputs[1].data, mask, sizeof mask) == 0);
        cr_assert(memcmp(decoded->inputs[2].data, bias, sizeof bias) == 0);
        cr_assert(eq(sz, decoded->inputs[0].row_bytes, 24));
        cr_assert(eq(i64, decoded->inputs[1].row.dims[0], 3));
        decoded_release(&outcome.decoded, 3);
    }
}

Test(codec_json, several_inputs_come_by_name_in_each_instance) {
    take_text(false, "{\"instances\":[{\"input_ids\":[7,8,9],\"mask\":[1,1,0],\"bias\":0.5},"
                     "{\"bias\":-1,\"mask\":[false,true,true],\"input_ids\":[1,2,3]}]}");
}

Test(codec_json, an_input_that_is_missing_unknown_or_doubled_is_named) {
    refuse_text(false, "{\"instances\":[{\"input_ids\":[7],\"mask\":[1],\"bias\":0},{\"input_ids\":[7],\"bias\":0}]}",
                "row 1: input \"mask\" is missing");
    refuse_text(false, "{\"instances\":[{\"input_ids\":[7],\"masc\":[1],\"bias\":0}]}",
                "row 0: there is no input \"masc\", the model takes \"input_ids\", \"mask\", \"bias\"");
    refuse_text(false, "{\"instances\":[{\"input_ids\":[7],\"mask\":[1],\"input_ids\":[8],\"bias\":0}]}",
                "\"input_ids\" comes twice");
    refuse_text(false, "{\"instances\":[{}]}", "row 0: input \"input_ids\" is missing");
    refuse_text(false, "{\"instances\":[]}", "at least one row is needed");
    refuse_text(false, "{\"instances\":[[1,2,3]]}",
                "row 0: expected an object of the inputs \"input_ids\", \"mask\", \"bias\", got an array");
    refuse_text(false, "{\"instances\":{\"input_ids\":[1]}}",
                "\"instances\" is an object, expected an array of objects of the inputs \"input_ids\"");
    refuse_text(false, "{\"input_ids\":[[1]]}", "member \"instances\" is missing");
}

Test(codec_json, a_wrong_value_is_named_by_its_input) {
    refuse_text(false, "{\"instances\":[{\"input_ids\":[7,1.5],\"mask\":[1],\"bias\":0}]}",
                "input \"input_ids\": row 0, column 1: expected an integer");
    refuse_text(false, "{\"instances\":[{\"input_ids\":[7,8],\"mask\":[1],\"bias\":0}]}",
                "input \"mask\": row 0 has 1 values, expected 2 as before (a row has shape [2])");
    refuse_text(false, "{\"instances\":[{\"input_ids\":[7,8],\"mask\":[1,NaN],\"bias\":0}]}",
                "input \"mask\": row 0, column 1: NaN and Infinity");
    refuse_text(false, "{\"instances\":[{\"input_ids\":[7,8],\"mask\":[1,1],\"bias\":[0]}]}",
                "input \"bias\": row 0: expected a number, got an array");
    refuse_text(false,
                "{\"instances\":[{\"input_ids\":[7],\"mask\":[1],\"bias\":0},"
                "{\"input_ids\":[7,8],\"mask\":[1,1],\"bias\":0}]}",
                "input \"input_ids\": row 1 has 2 values, expected 1 as before");
}

Test(codec_json, more_objects_than_the_limit_are_refused) {
    static const char one[] = "{\"input_ids\":[7],\"mask\":[1],\"bias\":0}";
    char body[512];
    snprintf(body, sizeof body, "{\"instances\":[%s,%s,%s,%s]}", one, one, one, one);
    struct outcome outcome = decode_text(false, body, 20);
    cr_assert(outcome.status == WEIR_TOO_LARGE);
    cr_assert(strstr(outcome.err.text, "more than 3 rows in \"instances\"") != NULL, "%s", outcome.err.text);
}

Test(codec_json, an_input_without_a_batch_dimension_comes_once) {
    take_text(true, "{\"bias\":[0.5,-1],\"instances\":[{\"input_ids\":[7,8,9],\"mask\":[1,1,0]},"
                    "{\"mask\":[0,1,1],\"input_ids\":[1,2,3]}]}");
    take_text(true, "{\"instances\":[{\"input_ids\":[7,8,9],\"mask\":[1,1,0]},"
                    "{\"mask\":[0,1,1],\"input_ids\":[1,2,3]}],\"bias\":[0.5,-1]}");
    take_text(true, "{\"instances\":[{\"input_ids\":[7,8,9],\"mask\":[1,1,0],\"bias\":[0.5,-1]},"
                    "{\"mask\":[0,1,1],\"input_ids\":[1,2,3]}]}");
    refuse_text(true, "{\"instances\":[{\"input_ids\":[7],\"mask\":[1]}]}",
                "input \"bias\" is missing: it has no batch dimension and is given once");
    refuse_text(true, "{\"bias\":[1,2],\"instances\":[{\"input_ids\":[7],\"mask\":[1],\"bias\":[0,1]}]}",
                "row 0: input \"bias\" has no batch dimension: it is given once");
    refuse_text(true, "{\"instances\":[{\"input_ids\":[7],\"mask\":[1],\"bias\":[0,1]}],\"bias\":[1,2]}",
                "input \"bias\" is given twice");
    refuse_text(true, "{\"bias\":[1,2,3]}", "input \"bias\": the tensor has 3 values, expected 2 (its shape is [2])");
}

Test(codec_json, where_no_input_has_a_batch_dimension_instances_is_the_tensor) {
    struct tensor_spec spec = {.name = "image", .dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {2, 2}}};
    cr_assert(tensor_spec_measure(&spec));
    struct signature signature = {.inputs = &spec, .input_count = 1};
    struct decoder_options options = {.format = CODEC_JSON, .signature = &signature, .max_rows = 10};
    static const char *const bodies[] = {"{\"instances\":[[1,2],[3,4]]}", "{\"image\":[[1,2],[3,4]],\"other\":7}"};
    const float numbers[] = {1, 2, 3, 4};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome = decode_in_pieces(&options, bodies[i], strlen(bodies[i]), 5, 5);
        cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
        cr_assert(eq(u32, outcome.decoded.dims.rows, 1));
        cr_assert(memcmp(outcome.decoded.inputs[0].data, numbers, sizeof numbers) == 0);
        decoded_release(&outcome.decoded, 1);
    }
    static const char twice[] = "{\"image\":[[1,2],[3,4]],\"instances\":[[1,2],[3,4]]}";
    struct outcome outcome = decode_in_pieces(&options, twice, strlen(twice), 5, 5);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(eq(str, outcome.err.text, "input \"image\" is given twice"));
    outcome = decode_in_pieces(&options, "{}", 2, 5, 5);
    cr_assert(eq(str, outcome.err.text, "member \"instances\" is missing"));
}

Test(codec_json, a_decoder_of_several_inputs_gives_everything_back) {
    struct text_model model;
    text_model_init(&model, false);
    struct decoder_options options = {.format = CODEC_JSON, .signature = &model.signature, .max_rows = 3};
    static const char body[] = "{\"instances\":[{\"input_ids\":[7,8],\"mask\":[1,";
    for (size_t size = 0; size < sizeof body; size++) {
        struct decoder *decoder;
        struct weir_error err;
        cr_assert(decoder_open(&options, &decoder, &err) == WEIR_OK);
        cr_assert(decoder_feed(decoder, body, size, &err) == WEIR_OK);
        decoder_close(decoder); /* the leak check of the sanitizer is the assertion */
    }
}

Test(codec_json, an_input_without_elements_is_not_supported) {
    const int64_t none[] = {0};
    struct one_tensor_model model;
    struct decoder_options options = {.format = CODEC_JSON, .signature = &model.signature};
    struct decoder *decoder;
    struct weir_error err;
    one_tensor_model_init(&model, 2, none);
    cr_assert(decoder_open(&options, &decoder, &err) == WEIR_UNSUPPORTED);
    cr_assert(strstr(err.text, "takes \"x\" as float32 [-1,0]: it has no elements") != NULL, "%s", err.text);
}
