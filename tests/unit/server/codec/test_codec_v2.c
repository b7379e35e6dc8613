#include "server/codec/codec_v2.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/server/codec/codec_helpers.h"
#include "tests/unit/server/codec/v2_models.h"

static struct v2_model model;

static void setup(void) {
    v2_model_init(&model);
}

TestSuite(codec_v2, .init = setup);

static struct outcome decode(const char *body, size_t size, size_t json_bytes, size_t piece) {
    struct decoder_options options = {.format = CODEC_V2,
                                      .signature = &model.signature,
                                      .body_bytes = size,
                                      .max_rows = 100,
                                      .json_bytes = json_bytes};
    return decode_in_pieces(&options, body, size, piece, piece);
}

#define X     "{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}"
#define N     "{\"name\":\"n\",\"shape\":[3,2],\"datatype\":\"INT64\",\"data\":[10,20,11,21,12,9223372036854775807]}"
#define FLAG  "{\"name\":\"flag\",\"shape\":[2],\"datatype\":\"BOOL\",\"data\":[true,false]}"
#define ALL   X "," N "," FLAG
#define SIXTY "123456789012345678901234567890123456789012345678901234567890"
#define LONG  SIXTY SIXTY SIXTY SIXTY SIXTY

/* What X, N and FLAG say: the rows of n are columns of its tensor. */
static void assert_all(const struct outcome *outcome) {
    static const float x[] = {1, 2, 3, 4};
    static const int64_t n[] = {10, 11, 12, 20, 21, INT64_MAX};
    const struct decoded *decoded = &outcome->decoded;
    cr_assert_eq(outcome->status, WEIR_OK, "%s", outcome->err.text);
    cr_assert_eq(decoded->dims.rows, 2);
    cr_assert_eq(decoded->dims.free[0], 3);
    cr_assert_eq(memcmp(decoded->inputs[0].data, x, sizeof x), 0);
    cr_assert_eq(memcmp(decoded->inputs[1].data, n, sizeof n), 0);
    cr_assert_eq(decoded->inputs[1].row_bytes, 3 * sizeof(int64_t));
    cr_assert_eq(decoded->inputs[1].row.rank, 1);
    cr_assert_eq(decoded->inputs[1].row.dims[0], 3);
    cr_assert_eq(memcmp(decoded->inputs[2].data, "\1\0", 2), 0);
}

Test(codec_v2, members_come_in_any_order_and_pieces_of_any_size) {
    static const char *const bodies[] = {
        "{\"inputs\":[" ALL "]}",
        " { \"id\" : \"7\", \"inputs\" : [ " FLAG " , " N " , " X " ] , \"model_name\": \"m\", \"more\": [{}, [1]] } ",
        "{\"inputs\":[" N "," FLAG ",{\"data\": [[1,2],[3,4]] ,\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2,2]}]}",
        "{\"inputs\":[{\"shape\":[2,2],\"data\":[1,2e0,3.0,4],\"extra\":{\"a\":[]},\"datatype\":\"FP32\",\"name\":"
        "\"x\"}," N "," FLAG "]}",
        "{\"inputs\":[" X "," FLAG ",{\"name\":\"n\",\"shape\":[3,2],\"datatype\":\"INT64\",\"data\":"
        "[[10,20],[11,21],[12,9223372036854775807]]}]}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        for (size_t piece = 1; piece <= strlen(bodies[i]); piece += piece < 40 ? 1 : 17) {
            struct outcome outcome = decode(bodies[i], strlen(bodies[i]), SIZE_MAX, piece);
            assert_all(&outcome);
            decoded_release(&outcome.decoded, 3);
        }
}

Test(codec_v2, bytes_follow_the_json_in_the_order_of_the_inputs) {
    static const char json[] =
        "{\"inputs\":[{\"name\":\"n\",\"shape\":[3,2],\"datatype\":\"INT64\",\"parameters\":{\"binary_data_size\":48}}"
        "," FLAG ",{\"parameters\":{\"binary_data_size\":16},\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\"}]}";
    static const int64_t n[] = {10, 20, 11, 21, 12, INT64_MAX};
    static const float x[] = {1, 2, 3, 4};
    char body[sizeof json - 1 + sizeof n + sizeof x];
    memcpy(body, json, sizeof json - 1);
    memcpy(body + sizeof json - 1, n, sizeof n);
    memcpy(body + sizeof json - 1 + sizeof n, x, sizeof x);
    for (size_t piece = 1; piece <= sizeof body; piece++) {
        struct outcome outcome = decode(body, sizeof body, sizeof json - 1, piece);
        assert_all(&outcome);
        decoded_release(&outcome.decoded, 3);
    }
    cr_assert_eq(decode(body, sizeof body - 1, sizeof json - 1, 100).status, WEIR_INVALID, "a byte too few");
    cr_assert_eq(decode(body, sizeof body, sizeof json, 100).status, WEIR_INVALID, "a wrong length of the JSON");
    cr_assert_eq(decode(body, sizeof json - 2, sizeof json - 1, 100).status, WEIR_INVALID, "the JSON is cut");
}

Test(codec_v2, what_is_wished_for_is_read) {
    static const char body[] =
        "{\"id\":\"a\\\"b\",\"parameters\":{\"timeout\":1500,\"priority\":3,\"binary_data_output\":true,\"mine\":\"x\"}"
        ","
        "\"outputs\":[{\"name\":\"t\",\"parameters\":{\"binary_data\":true}},{\"parameters\":{\"classification\":2},"
        "\"name\":\"y\"}],\"inputs\":[" ALL "]}";
    for (size_t piece = 1; piece < 60; piece++) {
        struct outcome outcome = decode(body, sizeof body - 1, SIZE_MAX, piece);
        const struct wishes *wishes = &outcome.decoded.wishes;
        cr_assert_eq(outcome.status, WEIR_OK, "%s", outcome.err.text);
        cr_assert(wishes->id_size == 3 && memcmp(wishes->id, "a\"b", 3) == 0);
        cr_assert_eq(wishes->timeout_us, 1500);
        cr_assert_eq(wishes->priority, 3);
        cr_assert(wishes->binary);
        cr_assert_eq(wishes->output_count, 2);
        cr_assert(wishes->outputs[0].output == 2 && wishes->outputs[0].binary && wishes->outputs[0].classes == 0);
        cr_assert(wishes->outputs[1].output == 0 && !wishes->outputs[1].binary && wishes->outputs[1].classes == 2);
        decoded_release(&outcome.decoded, 3);
    }
}

Test(codec_v2, faults_are_named_alike_however_the_body_comes) {
    static const struct {
        const char *body, *wanted;
    } rows[] = {
        {"", "the body is empty"},
        {"[]", "must be an object"},
        {"{}", "member \"inputs\" is missing"},
        {"{\"inputs\":{}}", "\"inputs\" must be a list of objects"},
        {"{\"inputs\":[[]]}", "\"inputs\" must be a list of objects"},
        {"{\"inputs\":[" X "]}", "input \"n\" is missing"},
        {"{\"inputs\":[" ALL "," X "]}", "input \"x\" is given twice"},
        {"{\"inputs\":[{\"name\":\"z\"}]}", "there is no input \"z\", the model takes \"x\", \"n\", \"flag\""},
        {"{\"inputs\":[{\"shape\":[1]}]}", "an input has no \"name\""},
        {"{\"inputs\":[{\"name\":7}]}", "\"name\" must be a string, got a number"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"BYTES\",\"data\":[]}]}",
         "input \"x\": \"datatype\" is \"BYTES\", the model takes FP32"},
        {"{\"inputs\":[{\"name\":\"x\",\"data\":[1],\"shape\":[2,2]}]}", "\"datatype\" is missing"},
        {"{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"data\":[1]}]}", "\"shape\" is missing"},
        {"{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2,3],\"data\":[1]}]}",
         "shape [2,3] does not fit [-1,2]"},
        {"{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[1]}]}", "shape [2] does not fit"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[-1,2]}]}", "\"shape\" holds -1"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[1e2]}]}", "\"shape\" holds 1e2"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[18446744073709551616]}]}", "\"shape\" holds 18446744073709551616"},
        {"{\"inputs\":[" X ",{\"name\":\"flag\",\"shape\":[3],\"datatype\":\"BOOL\",\"data\":[1,1,1]}]}",
         "other inputs have another number of rows"},
        {"{\"inputs\":[{\"name\":\"flag\",\"shape\":[101],\"datatype\":\"BOOL\",\"data\":[1]}]}",
         "101 rows are more than the 100"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[[1,2,3,4]]}]}",
         "element [0] has 4 values, expected 2"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[1,2,3]}]}",
         "has 3 values, expected 4"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[]}]}",
         "has 0 values, expected 4"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,null]}]}",
         "expected a number, got null"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,1e39]}]}",
         "outside the float32 range"},
        {"{\"inputs\":[{\"name\":\"n\",\"shape\":[1,1],\"datatype\":\"INT64\",\"data\":[1.0]}]}",
         "a number with a fraction"},
        {"{\"inputs\":[{\"name\":\"n\",\"shape\":[1,1],\"datatype\":\"INT64\",\"data\":[9223372036854775808]}]}",
         "outside the int64 range"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[1,2,3,4],"
         "\"parameters\":{\"binary_data_size\":16}}]}",
         "are both given"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\"}]}",
         "neither \"data\" nor binary_data_size"},
        {"{\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":15}}]"
         "}",
         "binary_data_size is 15, its shape and datatype make 16 bytes"},
        {"{\"inputs\":[{\"name\":\"x\",\"parameters\":{\"shared_memory_region\":\"r\"}}]}", "is not served"},
        {"{\"inputs\":[{\"name\":\"x\",\"parameters\":5}]}", "\"parameters\" must be an object"},
        {"{\"inputs\":[" ALL "],\"outputs\":[{\"name\":\"w\"}]}", "there is no output \"w\""},
        {"{\"inputs\":[" ALL "],\"outputs\":[{\"name\":\"y\"},{\"name\":\"y\"}]}", "is asked for twice"},
        {"{\"inputs\":[" ALL "],\"outputs\":[{}]}", "an output has no \"name\""},
        {"{\"inputs\":[" ALL "],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":0}}]}", "at least 1"},
        {"{\"inputs\":[" ALL "],\"id\":7}", "\"id\" must be a string"},
        {"{\"inputs\":[" ALL "],\"parameters\":{\"timeout\":-1}}", "parameter \"timeout\" must be a whole number"},
        {"{\"inputs\":[" ALL "],\"parameters\":{\"sequence_id\":3}}", "asks for a sequence"},
        {"{\"inputs\":[" ALL "],\"parameters\":{\"triton_x\":3}}", "is reserved"},
        {"{\"inputs\":[" ALL "],\"parameters\":{\"a\":[1]}}", "must be a string, a number or a flag"},
        {"{\"inputs\":[" ALL "]}x", "offset"},
        {"{\"inputs\":[" ALL "],\"inputs\":[]}", "twice"},
        {"{\"inputs\":[{\"name\":\"" LONG "\"}]}", "there is no input of a name of more than 256 bytes"},
        {"{\"inputs\":[" ALL "],\"outputs\":[{\"name\":\"" LONG "\"}]}",
         "there is no output of a name of more than 256"},
        {"{\"inputs\":[" ALL "],\"parameters\":{\"" LONG "\":[1]}}", "parameter \"\" must be a string"},
        {"{\"inputs\":[" ALL "],\"parameters\":{\"" SIXTY "ab\xC3\xA9\":[1]}}", "parameter \"" SIXTY "ab\" must be"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece < 400; piece = piece < 4 ? piece + 1 : piece * 3) {
            struct outcome outcome = decode(rows[i].body, strlen(rows[i].body), SIZE_MAX, piece);
            cr_assert_neq(outcome.status, WEIR_OK, "%s", rows[i].body);
            cr_assert_not_null(strstr(outcome.err.text, rows[i].wanted), "%s\n%s", rows[i].body, outcome.err.text);
        }
}

Test(codec_v2, a_body_without_json_is_the_bytes_of_the_only_input) {
    static const float x[] = {1, 2, 3, 4};
    struct outcome outcome;
    cr_assert_neq(decode((const char *)x, sizeof x, 0, 5).status, WEIR_OK, "the model has three inputs");
    model.signature.input_count = 1;
    outcome = decode((const char *)x, sizeof x, 0, 5);
    cr_assert_eq(outcome.status, WEIR_OK, "%s", outcome.err.text);
    cr_assert_eq(outcome.decoded.dims.rows, 2);
    cr_assert(outcome.decoded.wishes.binary);
    cr_assert_eq(memcmp(outcome.decoded.inputs[0].data, x, sizeof x), 0);
    decoded_release(&outcome.decoded, 1);
}

Test(codec_v2, a_member_that_comes_twice_is_refused_behind_any_number_of_others) {
    static const char *const twice[] = {"\"data\":[1,2,3,4]", "\"name\":\"x\"", "\"shape\":[2,2]",
                                        "\"datatype\":\"FP32\"", "\"parameters\":{}"};
    for (size_t i = 0; i < sizeof twice / sizeof twice[0]; i++) {
        char body[4096] = "{\"inputs\":[{";
        for (int k = 0; k < 70; k++) /* more than the reader remembers */
            sprintf(body + strlen(body), "\"j%d\":0,", k);
        for (size_t k = 0; k < sizeof twice / sizeof twice[0]; k++)
            sprintf(body + strlen(body), "%s,", twice[(i + k) % 5]);
        sprintf(body + strlen(body), "%s}]}", twice[i]);
        struct outcome outcome = decode(body, strlen(body), SIZE_MAX, 64);
        cr_assert_eq(outcome.status, WEIR_INVALID);
        cr_assert_not_null(strstr(outcome.err.text, "comes twice"), "%s", outcome.err.text);
    }
}
