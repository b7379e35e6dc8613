#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "server/codec/json_tensor.h"

/* What came of a list of rows. */
struct outcome {
    enum weir_status status;
    struct weir_error err;
    struct job_tensor tensor;
    size_t rows;
};

static int64_t free_sizes[TENSOR_MAX_FREE];

/* Reads text, the list of rows (or, where the spec has no batch dimension, the tensor), in pieces of that size. */
static struct outcome read_pieces(const struct tensor_spec *spec, const char *text, size_t piece_size) {
    struct outcome outcome = {.status = WEIR_OK};
    struct json_tensor tensor;
    struct json_reader reader;
    enum json_token token = JSON_MORE;
    size_t size = strlen(text), at = 0;
    bool opened = spec->batch_axis < 0;
    struct json_tensor_options options = {
        .spec = spec, .free_sizes = free_sizes, .max_rows = 100, .body_bytes = size, .input_count = 1};
    memset(free_sizes, 0, sizeof free_sizes);
    json_tensor_init(&tensor, &options);
    json_reader_init(&reader);
    while (outcome.status == WEIR_OK && token != JSON_END) {
        if (opened && !json_tensor_is_between(&tensor))
            outcome.status = json_tensor_take_numbers(&tensor, &reader, &outcome.err);
        if (outcome.status == WEIR_OK)
            outcome.status = json_reader_next(&reader, &token, &outcome.err);
        if (outcome.status != WEIR_OK)
            break;
        if (token == JSON_MORE && at == size) {
            json_reader_end(&reader);
        } else if (token == JSON_MORE) {
            size_t more = size - at < piece_size ? size - at : piece_size;
            json_reader_feed(&reader, text + at, more);
            at += more;
        } else if (token != JSON_END && !opened) {
            opened = true;
        } else if (token != JSON_END && (token != JSON_ARRAY_END || !json_tensor_is_between(&tensor))) {
            outcome.status = json_tensor_take(&tensor, &reader, token, &outcome.err);
        }
    }
    outcome.rows = tensor.counts[0];
    if (outcome.status == WEIR_OK)
        json_tensor_finish(&tensor, &outcome.tensor);
    json_tensor_release(&tensor);
    return outcome;
}

static struct tensor_spec make_spec(enum tensor_dtype dtype, struct tensor_shape shape) {
    struct tensor_spec spec = {.name = "x", .dtype = dtype, .shape = shape};
    cr_assert(tensor_spec_measure(&spec));
    return spec;
}

static void expect_bytes(const struct tensor_spec *spec, const char *text, const void *values, size_t size) {
    for (size_t piece = 1; piece < 200; piece += piece < 8 ? 1 : 90) {
        struct outcome outcome = read_pieces(spec, text, piece);
        cr_assert(outcome.status == WEIR_OK, "%s: %s", text, outcome.err.text);
        cr_assert(eq(sz, outcome.rows * outcome.tensor.row_bytes, size));
        cr_assert(memcmp(outcome.tensor.data, values, size) == 0, "%s in pieces of %zu", text, piece);
        free(outcome.tensor.data);
    }
}

static void expect_refusal(const struct tensor_spec *spec, const char *text, const char *words) {
    for (size_t piece = 1; piece < 200; piece += piece < 8 ? 1 : 90) {
        struct outcome outcome = read_pieces(spec, text, piece);
        cr_assert(outcome.status == WEIR_INVALID, "%s is taken", text);
        cr_assert(strstr(outcome.err.text, words) != NULL, "%s in pieces of %zu: %s", text, piece, outcome.err.text);
    }
}

static const struct tensor_shape pair = {.rank = 2, .dims = {TENSOR_BATCH, 2}};
static const struct tensor_shape sequence = {.rank = 2, .dims = {TENSOR_BATCH, TENSOR_FREE(0)}};

Test(json_tensor, integers_are_exact_over_their_whole_range) {
    struct tensor_spec spec = make_spec(TENSOR_I64, pair);
    const int64_t wide[] = {INT64_MIN, INT64_MAX, 9007199254740993, 0};
    expect_bytes(&spec, "[[-9223372036854775808,9223372036854775807],[9007199254740993,-0]]", wide, sizeof wide);
    spec = make_spec(TENSOR_I32, pair);
    const int32_t middle[] = {INT32_MIN, INT32_MAX};
    expect_bytes(&spec, "[[-2147483648,2147483647]]", middle, sizeof middle);
    spec = make_spec(TENSOR_I8, pair);
    expect_bytes(&spec, "[[-128,127]]", (const signed char[]){-128, 127}, 2);
    spec = make_spec(TENSOR_U8, pair);
    expect_bytes(&spec, "[[0,255]]", (const unsigned char[]){0, 255}, 2);
}

Test(json_tensor, an_integer_past_its_range_is_refused_with_its_place) {
    struct tensor_spec spec = make_spec(TENSOR_I64, pair);
    expect_refusal(&spec, "[[1,2],[3,9223372036854775808]]",
                   "row 1, column 1: the number is outside the int64 range (offset 10)");
    expect_refusal(&spec, "[[-9223372036854775809,1]]", "row 0, column 0: the number is outside the int64 range");
    expect_refusal(&spec, "[[1,99999999999999999999999999]]", "outside the int64 range");
    spec = make_spec(TENSOR_I32, pair);
    expect_refusal(&spec, "[[1,2147483648]]", "row 0, column 1: the number is outside the int32 range");
    spec = make_spec(TENSOR_I8, pair);
    expect_refusal(&spec, "[[-129,0]]", "outside the int8 range");
    spec = make_spec(TENSOR_U8, pair);
    expect_refusal(&spec, "[[-1,0]]", "outside the uint8 range");
    expect_refusal(&spec, "[[256,0]]", "outside the uint8 range");
}

Test(json_tensor, an_integer_has_no_fraction_and_no_exponent) {
    struct tensor_spec spec = make_spec(TENSOR_I64, pair);
    expect_refusal(&spec, "[[1,1.0]]",
                   "row 0, column 1: expected an integer, got a number with a fraction or an exponent");
    expect_refusal(&spec, "[[1e3,1]]", "row 0, column 0: expected an integer, got a number with a fraction");
    expect_refusal(&spec, "[[true,1]]", "row 0, column 0: expected an integer, got true (a row has shape [2])");
    expect_refusal(&spec, "[[\"1\",1]]", "expected an integer, got a string");
    expect_refusal(&spec, "[1,2]", "row 0: expected an array of 2 integers, got a number");
}

Test(json_tensor, a_bool_is_a_word_or_zero_or_one) {
    struct tensor_spec spec = make_spec(TENSOR_BOOL, pair);
    expect_bytes(&spec, "[[true,false],[1,0]]", (const unsigned char[]){1, 0, 1, 0}, 4);
    expect_refusal(&spec, "[[true,2]]", "row 0, column 1: expected a boolean, got a number that is neither 0 nor 1");
    expect_refusal(&spec, "[[null,true]]", "expected a boolean, got null");
}

Test(json_tensor, half_precision_is_rounded_to_the_nearest_even) {
    struct tensor_spec spec = make_spec(TENSOR_F16, pair);
    const uint16_t halves[] = {0x3C00, 0xC000, 0x2E66, 0x7BFF, 0x0001, 0x8000, 0x3C00, 0x3C02, 0x0400, 0x03FF};
    expect_bytes(&spec,
                 "[[1,-2],[0.1,65519],[6e-8,-1e-9],[1.00048828125,1.00146484375],[0.00006103515625,0.0000609755516]]",
                 halves, sizeof halves);
    expect_refusal(&spec, "[[1,65520]]", "row 0, column 1: the number is outside the float16 range");
    expect_refusal(&spec, "[[1,2],[65520,1]]                                            ",
                   "row 1, column 0: the number is outside the float16 range");
    spec = make_spec(TENSOR_BF16, pair);
    const uint16_t brains[] = {0x3F80, 0xC000, 0x3DCD, 0x3F80};
    expect_bytes(&spec, "[[1,-2],[0.1,1.00390625]]", brains, sizeof brains);
    expect_refusal(&spec, "[[1,3.4e38]]", "outside the bfloat16 range");
    spec = make_spec(TENSOR_F64, pair);
    const double doubles[] = {
        0.5, -3, 1e30, 0, 0.1, 0.30000000000000004, 9007199254740993, 5e-324, 3.4028235677973362e38, -0.0};
    expect_bytes(&spec,
                 "[[0.5,-3],[1e30,0],[0.1,0.30000000000000004],[9007199254740993,5e-324],[3.4028235677973362e38,-0]]",
                 doubles, sizeof doubles);
    expect_refusal(&spec, "[[1,1e39]]", "row 0, column 1: the number is outside the float32 range");
    expect_refusal(&spec, "[[1,123456789000000000000e20]                                            ]",
                   "row 0, column 1: the number is outside the float32 range");
    expect_refusal(&spec, "[[-1e999,1]]", "row 0, column 0: the number is outside the float32 range");
}

Test(json_tensor, the_first_row_sets_a_free_dimension_and_the_others_agree) {
    struct tensor_spec spec = make_spec(TENSOR_I64, sequence);
    const int64_t numbers[] = {1, 2, 3, 4, 5, 6};
    expect_bytes(&spec, "[[1,2,3],[4,5,6]]", numbers, sizeof numbers);
    expect_bytes(&spec, "[[1],[2],[3]]", numbers, 24);
    expect_refusal(&spec, "[[1,2,3],[4,5]]", "row 1 has 2 values, expected 3 as before (a row has shape [3])");
    expect_refusal(&spec, "[[1],[2,3,4]]", "row 1 has 3 values, expected 1 as before");
    expect_refusal(&spec, "[[]]", "row 0 has no values, expected at least one");
    spec = make_spec(TENSOR_F32, sequence);
    const float floats[] = {1, 2, 3, 4, 5, 6};
    expect_bytes(&spec, "[[1,2,3],[4,5,6]]                                     ", floats, sizeof floats);
    expect_refusal(&spec, "[[1,2,3],[4,5,6,7]]                                     ", "row 1 has 4 values, expected 3");
}

Test(json_tensor, the_arrays_of_the_first_row_must_be_regular) {
    struct tensor_spec spec =
        make_spec(TENSOR_F32, (struct tensor_shape){.rank = 3, .dims = {TENSOR_BATCH, TENSOR_FREE(0), TENSOR_FREE(1)}});
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    expect_bytes(&spec, "[[[1,2,3],[4,5,6]]]", numbers, sizeof numbers);
    cr_assert(eq(i64, free_sizes[0], 2));
    cr_assert(eq(i64, free_sizes[1], 3));
    expect_refusal(&spec, "[[[1,2,3],[4,5]]]", "row 0, element [1] has 2 values, expected 3 as before");
    expect_refusal(&spec, "[[[1,2],3]]", "row 0, element [1]: expected an array of 2 numbers, got a number");
    expect_refusal(&spec, "[[[1,2],[3,4]],[[1,2]]]", "row 1 has 1 arrays, expected 2 as before");
    expect_refusal(&spec, "[[[1,2],[3,4]],[[1,2],[3,4],[5,6]]]", "row 1 has 3 arrays, expected 2 as before");
}

Test(json_tensor, a_dimension_that_comes_twice_has_one_size) {
    struct tensor_spec spec =
        make_spec(TENSOR_F32, (struct tensor_shape){.rank = 3, .dims = {TENSOR_BATCH, TENSOR_FREE(0), TENSOR_FREE(0)}});
    const float numbers[] = {1, 2, 3, 4};
    expect_bytes(&spec, "[[[1,2],[3,4]]]", numbers, sizeof numbers);
    expect_refusal(&spec, "[[[1,2],[3,4],[5,6]]]", "row 0 has 3 arrays, expected 2 as before");
}

Test(json_tensor, a_tensor_without_rows_is_read_whole) {
    struct tensor_spec spec = make_spec(TENSOR_F32, (struct tensor_shape){.rank = 2, .dims = {2, 2}});
    const float numbers[] = {1, 2, 3, 4};
    expect_bytes(&spec, "[[1,2],[3,4]]", numbers, sizeof numbers);
    expect_refusal(&spec, "[[1,2],[3]]", "element [1] has 1 values, expected 2 (its shape is [2,2])");
    expect_refusal(&spec, "[[1,2],[3,null]]", "element [1][1]: expected a number, got null (its shape is [2,2])");
    expect_refusal(&spec, "7", "the tensor: expected an array of shape [2,2], got a number");
    spec = make_spec(TENSOR_F32, (struct tensor_shape){.rank = 0});
    expect_bytes(&spec, "7", (const float[]){7}, sizeof(float));
}

Test(json_tensor, rows_lie_one_after_the_other_wherever_the_batch_dimension_is) {
    struct tensor_spec spec = make_spec(TENSOR_F32, (struct tensor_shape){.rank = 2, .dims = {2, TENSOR_BATCH}});
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    expect_bytes(&spec, "[[1,2],[3,4],[5,6]]", numbers, sizeof numbers);
    expect_refusal(&spec, "[[1,2],[3]]", "row 1 has 1 values, expected 2 (a row has shape [2])");
}
