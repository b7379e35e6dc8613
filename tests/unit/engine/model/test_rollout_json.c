#include "engine/model/rollout_json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rollout_file file, again;
static struct weir_error err;

/* Two models: one with all there can be, one with nothing. */
static void fill(void) {
    cr_assert(rollout_file_model(&file, "empty"));
    struct rollout_state *state = rollout_file_model(&file, "digits");
    cr_assert(state);
    state->stable = 3;
    state->newest_seen = UINT64_MAX;
    state->phase = ROLLOUT_PAUSED;
    state->step = 1;
    state->plan.candidate = UINT64_C(9007199254740993); /* 2^53 + 1 */
    cr_assert_eq(rollout_plan_read_steps("0.1% for 90s, 33.3333% with 7 requests", &state->plan, &err), WEIR_OK);
    strcpy(state->plan.sticky_header, "x-user");
    state->plan.shadow_ppm = 200000;
    state->plan.auto_promote = true;
    state->plan.checks.max_drift = 1e-3;
    state->last_phase = ROLLOUT_ROLLED_BACK;
    state->last_candidate = 4;
    state->last_ended_s = 1700000000;
    strcpy(state->last_reason, "\"errors\": 5 \\ 100, caf\xc3\xa9");
    rollout_file_reject(state, 4, "00ff", "errors");
    rollout_file_reject(state, 5, "", "agreement");
}

static char *text;

static void release(void) {
    free(text);
    rollout_file_release(&file);
    rollout_file_release(&again);
}

TestSuite(rollout_json, .init = fill, .fini = release);

static void write_text(void) {
    text = rollout_json_write(&file);
    cr_assert(text);
}

/* Reads the text with the first `from` replaced. */
static enum weir_status read_changed(const char *from, const char *to) {
    char *at = strstr(text, from);
    cr_assert(at, "no %s in %s", from, text);
    char *changed = NULL;
    cr_assert_geq(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)), 0);
    enum weir_status status = rollout_json_read(changed, strlen(changed), &again, &err);
    free(changed);
    cr_assert(status == WEIR_OK || !again.models);
    return status;
}

static void expect_invalid(const char *from, const char *to, const char *words) {
    cr_assert_eq(read_changed(from, to), WEIR_INVALID, "%s -> %s", from, to);
    cr_assert(strstr(err.text, words), "%s -> %s: %s", from, to, err.text);
}

Test(rollout_json, what_was_written_is_read_again) {
    write_text();
    cr_assert_eq(rollout_json_read(text, strlen(text), &again, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(again.model_count, 2);
    cr_assert_str_eq(again.models[0].name, "empty");
    cr_assert_eq(again.models[0].phase, ROLLOUT_NONE);
    const struct rollout_state *state = rollout_file_model(&again, "digits"), *was = &file.models[1];
    cr_assert_eq(state->stable, 3);
    cr_assert_eq(state->newest_seen, UINT64_MAX);
    cr_assert_eq(state->phase, ROLLOUT_PAUSED);
    cr_assert_eq(state->step, 1);
    cr_assert_eq(memcmp(&state->plan.steps, &was->plan.steps, sizeof was->plan.steps), 0);
    cr_assert_eq(state->plan.candidate, was->plan.candidate);
    cr_assert_str_eq(state->plan.sticky_header, "x-user");
    cr_assert(state->plan.auto_promote && !state->plan.may_shrink);
    cr_assert_eq(memcmp(&state->plan.checks, &was->plan.checks, sizeof was->plan.checks), 0);
    cr_assert_eq(state->last_phase, ROLLOUT_ROLLED_BACK);
    cr_assert_str_eq(state->last_reason, was->last_reason);
    cr_assert_eq(state->last_ended_s, 1700000000);
    cr_assert_eq(state->rejected_count, 2);
    cr_assert_str_eq(state->rejected[0].identity, "00ff");
    cr_assert_str_eq(state->rejected[1].reason, "agreement");
    char *second = rollout_json_write(&again);
    cr_assert_str_eq(second, text);
    free(second);
}

Test(rollout_json, another_format_is_refused) {
    write_text();
    expect_invalid("\"format\":\t1", "\"format\": 2", "another release");
    expect_invalid("\"format\":\t1", "\"format\": \"1\"", "another release");
    expect_invalid("\"format\":\t1", "\"formal\": 1", "\"format\" is missing");
}

Test(rollout_json, what_is_wrong_is_named) {
    write_text();
    expect_invalid("\"stable\":\t\"0\"", "\"stable\": 0", "model empty: \"stable\" is not a string");
    expect_invalid("\"stable\":\t\"0\"", "\"stable\": \"-1\"", "\"stable\" is not a number in range");
    expect_invalid("\"18446744073709551615\"", "\"18446744073709551616\"", "\"newest_seen\" is not a number in range");
    expect_invalid("\"name\":\t\"empty\"", "\"name\": \"\"", "\"name\" is empty");
    expect_invalid("\"name\":\t\"empty\"", "\"name\": \"digits\"", "is there twice");
    expect_invalid("\"phase\":\t\"paused\"", "\"phase\": \"promoted\"", "\"phase\" is not known");
    expect_invalid("\"step\":\t1", "\"step\": 2", "\"step\" is not one of the plan's");
    expect_invalid("\"step\":\t1", "\"step\": 0.5", "\"step\" is not a whole number");
    expect_invalid("\"kind\":\t\"canary\"", "\"kind\": \"bird\"", "\"kind\" is not known");
    expect_invalid("\"weight_ppm\":\t1000", "\"weight_ppm\": 10", "model digits: the share of step 1");
    expect_invalid("\"may_shrink\":\tfalse", "\"may_shrink\": 0", "is not true or false");
    expect_invalid("\"max_drift\":\t0.001", "\"max_drift\": null", "\"max_drift\" is not a number");
    expect_invalid("\"00ff\"", "\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
                   "\"identity\" is too long");
    expect_invalid("\"rejected\":\t[]", "\"rejected\": {}", "\"rejected\" is not an array");
}

Test(rollout_json, members_that_are_unknown_or_there_twice_are_refused) {
    write_text();
    expect_invalid("\"stable\":\t\"0\"", "\"stable\": \"0\", \"more\": 1", "other members");
    expect_invalid("\"stable\":\t\"0\"", "\"stable\": \"0\", \"stable\": \"1\"", "other members");
    expect_invalid("\"format\":\t1", "\"format\": 1, \"more\": 1", "other members");
    expect_invalid("\"kind\":\t\"canary\",", "", "other members");
}

Test(rollout_json, a_cut_at_any_byte_is_refused) {
    write_text();
    for (size_t size = 0; size < strlen(text); size++) {
        char *part = strndup(text, size);
        cr_assert_eq(rollout_json_read(part, size, &again, &err), WEIR_INVALID, "cut at %zu", size);
        free(part);
    }
}

Test(rollout_json, what_is_no_text_is_refused) {
    write_text();
    expect_invalid("caf", "caf\xff", "is not of a text");
    expect_invalid("{", "[1, {", "broken JSON");
    text[strlen(text) - 1] = ' ';
    expect_invalid("{", "{{", "broken JSON");
    static const char NUL[] = "{\"format\":1,\"models\":[]}\0{}";
    cr_assert_eq(rollout_json_read(NUL, sizeof NUL - 1, &again, &err), WEIR_INVALID);
}

Test(rollout_json, deep_nesting_is_refused) {
    enum { DEPTH = 100000 };
    char *deep = malloc(DEPTH + 1);
    cr_assert(deep);
    memset(deep, '[', DEPTH);
    deep[DEPTH] = '\0';
    cr_assert_eq(rollout_json_read(deep, DEPTH, &again, &err), WEIR_INVALID);
    free(deep);
}
