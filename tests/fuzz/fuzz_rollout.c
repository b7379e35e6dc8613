/* Reads the text of rollout.json, and the same bytes as the steps of a rollout and as a version policy: what is read
 * must be written as a text that is read again as the same, and what is refused must be told in UTF-8. usage:
 * fuzz_rollout tests/fuzz/corpus/rollout   (libFuzzer) */
#include "engine/model/rollout_json.h"
#include "engine/model/version_policy.h"
#include "tests/fuzz/fuzz.h"

static void expect_error(enum weir_status status, const struct weir_error *err) {
    require(status == WEIR_INVALID, "another error than INVALID");
    require_text(err->text);
}

static void try_file(const char *text, size_t size) {
    struct rollout_file file = {0}, again = {0};
    struct weir_error err = {0};
    enum weir_status status = rollout_json_read(text, size, &file, &err);
    if (status != WEIR_OK) {
        expect_error(status, &err);
        return;
    }
    char *first = rollout_json_write(&file);
    require(first, "it is not written");
    require(rollout_json_read(first, strlen(first), &again, &err) == WEIR_OK, "its own text is refused");
    char *second = rollout_json_write(&again);
    require(second && strcmp(first, second) == 0, "its own text is read as another");
    free(first);
    free(second);
    rollout_file_release(&file);
    rollout_file_release(&again);
}

static void try_steps(const char *text) {
    struct rollout_plan plan, again;
    struct weir_error err = {0};
    char steps[ROLLOUT_MAX_STEPS * 80];
    rollout_plan_init(&plan);
    enum weir_status status = rollout_plan_read_steps(text, &plan, &err);
    if (status != WEIR_OK) {
        expect_error(status, &err);
        return;
    }
    rollout_plan_init(&again);
    rollout_plan_steps_text(&plan, steps, sizeof steps);
    require(rollout_plan_read_steps(steps, &again, &err) == WEIR_OK, "its own steps are refused");
    require(again.step_count == plan.step_count, "steps are lost");
    for (int i = 0; i < plan.step_count; i++)
        require(again.steps[i].weight_ppm == plan.steps[i].weight_ppm &&
                    again.steps[i].hold_ns == plan.steps[i].hold_ns &&
                    again.steps[i].min_requests == plan.steps[i].min_requests,
                "a step is read as another");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct version_policy policy;
    struct weir_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    try_file(text, size);
    try_steps(text);
    enum weir_status status = version_policy_read(text, &policy, &err);
    if (status != WEIR_OK)
        expect_error(status, &err);
    free(text);
    return 0;
}
