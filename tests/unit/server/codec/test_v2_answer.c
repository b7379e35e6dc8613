#include "server/codec/v2_answer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/server/codec/v2_models.h"

static struct v2_model model;
static float y[] = {0.5F, 2, 1, 7, 7, -1};
static uint16_t h[] = {0x3C00, 0x4000};
static int32_t t[] = {1, 3, 2, 4}; /* rows (1,3) and (2,4) of [2,B] */
static struct job_tensor outputs[3];
static struct wishes wishes;
static struct bytes out;
static struct weir_error err;
static size_t json_bytes;

static void setup(void) {
    v2_model_init(&model);
    wishes = (struct wishes){.id = NULL};
    outputs[0] = (struct job_tensor){.data = y, .row_bytes = 12, .row = {.rank = 1, .dims = {3}}};
    outputs[1] = (struct job_tensor){.data = h, .row_bytes = 2, .row = {.rank = 1, .dims = {1}}};
    outputs[2] = (struct job_tensor){.data = t, .row_bytes = 8, .row = {.rank = 1, .dims = {2}}};
    out = (struct bytes){.size = 0};
}

static void teardown(void) {
    bytes_release(&out);
}

TestSuite(v2_answer, .init = setup, .fini = teardown);

static enum weir_status write_answer(void) {
    struct v2_answer answer = {
        .signature = &model.signature, .model = "m", .version = 4, .rows = 2, .outputs = outputs, .wishes = &wishes};
    out.size = 0;
    return v2_answer_write(&answer, &out, &json_bytes, &err);
}

static bool is_text(const char *text) {
    return out.size == strlen(text) && memcmp(out.data, text, out.size) == 0;
}

Test(v2_answer, outputs_go_in_the_order_asked_for_flat_and_whole) {
    struct wish wanted[] = {{.output = 2}, {.output = 0}};
    wishes = (struct wishes){.outputs = wanted, .output_count = 2, .id = (char *)"a\"b", .id_size = 3};
    cr_assert_eq(write_answer(), WEIR_OK, "%s", err.text);
    cr_assert(is_text("{\"id\":\"a\\\"b\",\"model_name\":\"m\",\"model_version\":\"4\",\"outputs\":["
                      "{\"name\":\"t\",\"datatype\":\"INT32\",\"shape\":[2,2],\"data\":[1,2,3,4]},"
                      "{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,3],\"data\":[0.5,2,1,7,7,-1]}]}"),
              "%.*s", (int)out.size, out.data);
    cr_assert_eq(json_bytes, SIZE_MAX);
}

Test(v2_answer, bytes_follow_the_json) {
    static const int32_t whole[] = {1, 2, 3, 4};
    wishes.binary = true;
    cr_assert_eq(write_answer(), WEIR_OK, "%s", err.text);
    cr_assert_eq(out.size, json_bytes + sizeof y + sizeof h + sizeof t);
    cr_assert_eq(memcmp(out.data + json_bytes, y, sizeof y), 0);
    cr_assert_eq(memcmp(out.data + json_bytes + sizeof y, h, sizeof h), 0);
    cr_assert_eq(memcmp(out.data + json_bytes + sizeof y + sizeof h, whole, sizeof whole), 0);
    cr_assert_not_null(memmem(out.data, json_bytes, "\"parameters\":{\"binary_data_size\":24}", 36));
}

Test(v2_answer, halves_are_always_binary) {
    cr_assert_eq(write_answer(), WEIR_OK, "%s", err.text);
    cr_assert_eq(out.size, json_bytes + sizeof h);
    cr_assert_not_null(memmem(out.data, json_bytes, "\"data\":[0.5,2,1,7,7,-1]", 23));
}

Test(v2_answer, classes_are_the_largest_and_of_equals_the_first) {
    struct wish wanted[] = {{.output = 0, .classes = 2}, {.output = 2, .classes = 9}};
    wishes = (struct wishes){.outputs = wanted, .output_count = 2};
    cr_assert_eq(write_answer(), WEIR_OK, "%s", err.text);
    cr_assert(
        is_text("{\"model_name\":\"m\",\"model_version\":\"4\",\"outputs\":["
                "{\"name\":\"y\",\"datatype\":\"BYTES\",\"shape\":[2,2],\"data\":[\"2.000000:1\",\"1.000000:2\","
                "\"7.000000:0\",\"7.000000:1\"]},"
                "{\"name\":\"t\",\"datatype\":\"BYTES\",\"shape\":[2,2],\"data\":[\"3:1\",\"1:0\",\"4:1\",\"2:0\"]}]}"),
        "%.*s", (int)out.size, out.data);
    wanted[0] = (struct wish){.output = 0, .classes = 1, .binary = true};
    wishes.output_count = 1;
    cr_assert_eq(write_answer(), WEIR_OK);
    cr_assert_eq(memcmp(out.data + json_bytes, "\12\0\0\0002.000000:1\12\0\0\0007.000000:0", 28), 0);
    wanted[0] = (struct wish){.output = 1, .classes = 1};
    cr_assert_eq(write_answer(), WEIR_INVALID);
    cr_assert_eq(out.size, 0);
}

Test(v2_answer, what_is_not_finite_goes_as_bytes_alone) {
    float before = y[4];
    struct wish wanted[] = {{.output = 0}};
    wishes = (struct wishes){.outputs = wanted, .output_count = 1};
    y[4] = INFINITY;
    cr_assert_eq(write_answer(), WEIR_NON_FINITE);
    cr_assert_not_null(strstr(err.text, "output \"y\", element 4"), "%s", err.text);
    cr_assert_eq(out.size, 0, "nothing is left of it");
    wanted[0].binary = true;
    cr_assert_eq(write_answer(), WEIR_OK);
    y[4] = before;
}

Test(v2_answer, classes_that_are_no_numbers_come_last_and_as_what_they_are) {
    float odd[] = {NAN, -INFINITY, 1, INFINITY, NAN, 0};
    struct wish wanted = {.output = 0, .classes = 3};
    wishes = (struct wishes){.outputs = &wanted, .output_count = 1};
    outputs[0].data = odd;
    cr_assert_eq(write_answer(), WEIR_OK, "%s", err.text);
    cr_assert(is_text("{\"model_name\":\"m\",\"model_version\":\"4\",\"outputs\":["
                      "{\"name\":\"y\",\"datatype\":\"BYTES\",\"shape\":[2,3],\"data\":["
                      "\"1.000000:2\",\"-inf:1\",\"nan:0\",\"inf:0\",\"0.000000:2\",\"nan:1\"]}]}"),
              "%.*s", (int)out.size, out.data);
}

Test(v2_answer, classes_of_int64_are_compared_and_written_to_the_last_digit) {
    static int64_t values[] = {9007199254740992, 9007199254740993, INT64_MIN, INT64_MAX};
    struct tensor_spec spec = V2_SPEC("n", I64, 2, TENSOR_BATCH, 4);
    struct signature signature = {.outputs = &spec, .output_count = 1};
    struct job_tensor tensor = {.data = values, .row_bytes = sizeof values, .row = {.rank = 1, .dims = {4}}};
    struct wish wanted = {.output = 0, .classes = 4};
    struct wishes all = {.outputs = &wanted, .output_count = 1};
    struct v2_answer answer = {
        .signature = &signature, .model = "m", .version = 4, .rows = 1, .outputs = &tensor, .wishes = &all};
    out.size = 0;
    cr_assert_eq(v2_answer_write(&answer, &out, &json_bytes, &err), WEIR_OK, "%s", err.text);
    static const char data[] = "\"data\":[\"9223372036854775807:3\",\"9007199254740993:1\",\"9007199254740992:0\","
                               "\"-9223372036854775808:2\"]";
    cr_assert_not_null(memmem(out.data, out.size, data, sizeof data - 1), "%.*s", (int)out.size, out.data);
}

Test(v2_answer, classes_of_bytes_have_their_sign) {
    static char values[] = {'\x80', '\x7F', '\xFF', 0};
    static const struct {
        enum tensor_dtype dtype;
        const char *data;
    } rows[] = {
        {TENSOR_I8, "\"data\":[\"127:1\",\"0:3\",\"-1:2\",\"-128:0\"]"},
        {TENSOR_U8, "\"data\":[\"255:2\",\"128:0\",\"127:1\",\"0:3\"]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tensor_spec spec = v2_spec("n", rows[i].dtype, 2, (const int64_t[]){TENSOR_BATCH, 4});
        struct signature signature = {.outputs = &spec, .output_count = 1};
        struct job_tensor tensor = {.data = values, .row_bytes = 4, .row = {.rank = 1, .dims = {4}}};
        struct wish wanted = {.output = 0, .classes = 4};
        struct wishes all = {.outputs = &wanted, .output_count = 1};
        struct v2_answer answer = {
            .signature = &signature, .model = "m", .version = 4, .rows = 1, .outputs = &tensor, .wishes = &all};
        out.size = 0;
        cr_assert_eq(v2_answer_write(&answer, &out, &json_bytes, &err), WEIR_OK, "%s", err.text);
        cr_assert_not_null(memmem(out.data, out.size, rows[i].data, strlen(rows[i].data)), "%.*s", (int)out.size,
                           out.data);
    }
}
