#include "server/codec/v2_wishes.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/server/codec/v2_models.h"

static struct v2_model model;
static struct json_reader reader;
static struct v2_wishes wanted;
static struct weir_error err;

static void setup(void) {
    v2_model_init(&model);
    json_reader_init(&reader);
    wanted = (struct v2_wishes){.signature = &model.signature, .reader = &reader, .wish = {.output = -1}};
}

static void teardown(void) {
    wishes_release(&wanted.wishes);
}

TestSuite(v2_wishes, .init = setup, .fini = teardown);

/* The token of a JSON value, at which the reader then stands. */
static enum json_token at(const char *value) {
    enum json_token token;
    json_reader_init(&reader);
    json_reader_feed(&reader, value, strlen(value));
    cr_assert_eq(json_reader_next(&reader, &token, &err), WEIR_OK);
    if (token != JSON_MORE)
        return token;
    json_reader_end(&reader);
    cr_assert_eq(json_reader_next(&reader, &token, &err), WEIR_OK);
    return token;
}

static enum weir_status set(const char *name, const char *value) {
    enum json_token token = at(value);
    strcpy(wanted.parameter, name);
    return v2_wishes_parameter(&wanted, token, &err);
}

Test(v2_wishes, parameters_are_read_and_unknown_ones_left_alone) {
    cr_assert_eq(set("timeout", "2500"), WEIR_OK);
    cr_assert_eq(wanted.wishes.timeout_us, 2500);
    cr_assert_eq(set("timeout", "99999999999999"), WEIR_OK, "an hour is enough for anyone");
    cr_assert_eq(wanted.wishes.timeout_us, INT64_C(3600000000));
    cr_assert_eq(set("priority", "1"), WEIR_OK);
    cr_assert_eq(set("binary_data_output", "true"), WEIR_OK);
    cr_assert_eq(set("colour", "\"red\""), WEIR_OK);
    cr_assert_eq(set("sequence_id", "0"), WEIR_OK);
    cr_assert_eq(set("sequence_id", "\"a\""), WEIR_INVALID);
    cr_assert_eq(set("priority", "1.5"), WEIR_INVALID);
    cr_assert_eq(set("binary_data_output", "1"), WEIR_INVALID);
    cr_assert(wanted.wishes.binary && wanted.wishes.priority == 1);
}

Test(v2_wishes, outputs_are_listed_once_each) {
    static const char *const names[] = {"\"t\"", "\"y\"", "\"h\""};
    for (int i = 0; i < 3; i++) {
        wanted.wish = (struct wish){.output = -1};
        at(names[i]);
        cr_assert_eq(v2_wishes_name(&wanted, &err), WEIR_OK, "%s", err.text);
        cr_assert_eq(v2_wishes_end(&wanted, &err), WEIR_OK);
    }
    cr_assert_eq(wanted.wishes.output_count, 3);
    cr_assert_eq(wanted.wishes.outputs[0].output, 2);
    at("\"y\"");
    cr_assert_eq(v2_wishes_name(&wanted, &err), WEIR_INVALID);
    at("\"nobody\"");
    cr_assert_eq(v2_wishes_name(&wanted, &err), WEIR_INVALID);
    wanted.wish = (struct wish){.output = -1};
    cr_assert_eq(v2_wishes_end(&wanted, &err), WEIR_INVALID);
}
