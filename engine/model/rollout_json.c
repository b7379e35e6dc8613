#include "engine/model/rollout_json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/utf8.h"

enum { FORMAT = 1 };

/* Writing. A member that could not be added makes the whole fail. */
struct writer {
    bool is_broken;
};

static void add(struct writer *writer, cJSON *object, const char *name, cJSON *value) {
    if (value && cJSON_AddItemToObject(object, name, value))
        return;
    cJSON_Delete(value);
    writer->is_broken = true;
}

static void append(struct writer *writer, cJSON *array, cJSON *value) {
    if (value && cJSON_AddItemToArray(array, value))
        return;
    cJSON_Delete(value);
    writer->is_broken = true;
}

/* 64 bits do not fit JSON's numbers as most readers have them, so they are strings. */
static void add_wide(struct writer *writer, cJSON *object, const char *name, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add(writer, object, name, cJSON_CreateString(text));
}

static void add_number(struct writer *writer, cJSON *object, const char *name, double value) {
    add(writer, object, name, cJSON_CreateNumber(value));
}

static void add_text(struct writer *writer, cJSON *object, const char *name, const char *value) {
    add(writer, object, name, cJSON_CreateString(value));
}

static cJSON *write_plan(struct writer *writer, const struct rollout_plan *plan) {
    cJSON *object = cJSON_CreateObject(), *steps = cJSON_CreateArray(), *checks = cJSON_CreateObject();
    add_wide(writer, object, "candidate", plan->candidate);
    add_text(writer, object, "kind", rollout_kind_text(plan->kind));
    for (int i = 0; i < plan->step_count; i++) {
        cJSON *step = cJSON_CreateObject();
        add_number(writer, step, "weight_ppm", plan->steps[i].weight_ppm);
        add_wide(writer, step, "hold_ns", (uint64_t)plan->steps[i].hold_ns);
        add_number(writer, step, "min_requests", plan->steps[i].min_requests);
        append(writer, steps, step);
    }
    add(writer, object, "steps", steps);
    add_text(writer, object, "sticky_header", plan->sticky_header);
    add_number(writer, object, "shadow_ppm", plan->shadow_ppm);
    add_number(writer, object, "compare_ppm", plan->compare_ppm);
    add(writer, object, "may_shrink", cJSON_CreateBool(plan->may_shrink));
    add(writer, object, "auto_promote", cJSON_CreateBool(plan->auto_promote));
#define ADD_CHECK(name) add_number(writer, checks, #name, plan->checks.name);
    ROLLOUT_CHECK_LIST(ADD_CHECK)
#undef ADD_CHECK
    add(writer, object, "checks", checks);
    return object;
}

static cJSON *write_rollout(struct writer *writer, const struct rollout_state *state) {
    if (state->phase != ROLLOUT_RUNNING && state->phase != ROLLOUT_PAUSED)
        return cJSON_CreateNull();
    cJSON *object = cJSON_CreateObject();
    add_text(writer, object, "phase", rollout_phase_text(state->phase));
    add_number(writer, object, "step", state->step);
    add_text(writer, object, "identity", state->identity);
    add(writer, object, "plan", write_plan(writer, &state->plan));
    return object;
}

static cJSON *write_last(struct writer *writer, const struct rollout_state *state) {
    if (state->last_phase == ROLLOUT_NONE)
        return cJSON_CreateNull();
    cJSON *object = cJSON_CreateObject();
    add_text(writer, object, "phase", rollout_phase_text(state->last_phase));
    add_wide(writer, object, "candidate", state->last_candidate);
    add_wide(writer, object, "ended_s", (uint64_t)state->last_ended_s);
    add_text(writer, object, "reason", state->last_reason);
    return object;
}

static cJSON *write_model(struct writer *writer, const struct rollout_state *state) {
    cJSON *object = cJSON_CreateObject(), *rejected = cJSON_CreateArray();
    add_text(writer, object, "name", state->name);
    add_wide(writer, object, "stable", state->stable);
    add_wide(writer, object, "newest_seen", state->newest_seen);
    add(writer, object, "rollout", write_rollout(writer, state));
    add(writer, object, "last", write_last(writer, state));
    for (size_t i = 0; i < state->rejected_count; i++) {
        cJSON *note = cJSON_CreateObject();
        add_wide(writer, note, "number", state->rejected[i].number);
        add_text(writer, note, "identity", state->rejected[i].identity);
        add_text(writer, note, "reason", state->rejected[i].reason);
        append(writer, rejected, note);
    }
    add(writer, object, "rejected", rejected);
    return object;
}

char *rollout_json_write(const struct rollout_file *file) {
    struct writer writer = {0};
    cJSON *root = cJSON_CreateObject(), *models = cJSON_CreateArray();
    add_number(&writer, root, "format", FORMAT);
    for (size_t i = 0; i < file->model_count; i++)
        append(&writer, models, write_model(&writer, &file->models[i]));
    add(&writer, root, "models", models);
    char *text = writer.is_broken ? NULL : cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

/* Reading. The first thing that is wrong is kept; what is read after that is of no use, but harmless. */
struct reader {
    enum weir_status status;
    struct weir_error *err;
};

static void wrong(struct reader *reader, const char *name, const char *what) {
    if (reader->status == WEIR_OK)
        reader->status = weir_fail(reader->err, WEIR_INVALID, "\"%s\" %s", name, what);
}

/* All members are named by those who read them, so a number of members that is not theirs shows one that is unknown or
 * there twice. */
static void expect_members(struct reader *reader, const cJSON *object, const char *name, int count) {
    if (!cJSON_IsObject(object))
        wrong(reader, name, "is not an object");
    else if (cJSON_GetArraySize(object) != count)
        wrong(reader, name, "has other members than it should have");
}

/* NULL if it is missing. */
static const cJSON *member(struct reader *reader, const cJSON *object, const char *name) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!value)
        wrong(reader, name, "is missing");
    return value;
}

static const char *read_text(struct reader *reader, const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(member(reader, object, name));
    if (!text)
        wrong(reader, name, "is not a string");
    return text ? text : "";
}

static void copy_text(struct reader *reader, const cJSON *object, const char *name, char *out, size_t size) {
    const char *text = read_text(reader, object, name);
    if (strlen(text) >= size)
        wrong(reader, name, "is too long");
    else
        memcpy(out, text, strlen(text) + 1);
}

static uint64_t read_wide(struct reader *reader, const cJSON *object, const char *name, uint64_t most) {
    const char *text = read_text(reader, object, name);
    uint64_t value = 0;
    const char *next = text;
    for (; *next >= '0' && *next <= '9'; next++)
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(*next - '0'), &value))
            break;
    if (next == text || *next || value > most) {
        wrong(reader, name, "is not a number in range, written as a string");
        return 0;
    }
    return value;
}

static uint32_t read_whole(struct reader *reader, const cJSON *object, const char *name) {
    const cJSON *value = member(reader, object, name);
    double number = cJSON_IsNumber(value) ? value->valuedouble : -1;
    if (!(number >= 0 && number <= UINT32_MAX) || number != floor(number)) {
        wrong(reader, name, "is not a whole number in range");
        return 0;
    }
    return (uint32_t)number;
}

static double read_number(struct reader *reader, const cJSON *object, const char *name) {
    const cJSON *value = member(reader, object, name);
    if (!cJSON_IsNumber(value))
        wrong(reader, name, "is not a number");
    return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

static bool read_bool(struct reader *reader, const cJSON *object, const char *name) {
    const cJSON *value = member(reader, object, name);
    if (!cJSON_IsBool(value))
        wrong(reader, name, "is not true or false");
    return cJSON_IsTrue(value);
}

/* One of the two phases that may stand there. */
static enum rollout_phase read_phase(struct reader *reader, const cJSON *object, enum rollout_phase one,
                                     enum rollout_phase other) {
    const char *text = read_text(reader, object, "phase");
    if (strcmp(text, rollout_phase_text(one)) == 0)
        return one;
    if (strcmp(text, rollout_phase_text(other)) != 0)
        wrong(reader, "phase", "is not known");
    return other;
}

/* The array's elements, at most `most`. NULL: not such an array, or empty. */
static const cJSON *read_array(struct reader *reader, const cJSON *object, const char *name, int most) {
    const cJSON *array = member(reader, object, name);
    if (!cJSON_IsArray(array)) {
        wrong(reader, name, "is not an array");
        return NULL;
    }
    if (cJSON_GetArraySize(array) <= most)
        return array->child;
    wrong(reader, name, "has too many elements");
    return NULL;
}

static void read_plan(struct reader *reader, const cJSON *object, struct rollout_plan *plan) {
    rollout_plan_init(plan);
    expect_members(reader, object, "plan", 9);
    plan->candidate = read_wide(reader, object, "candidate", UINT64_MAX);
    const char *kind = read_text(reader, object, "kind");
    plan->kind = strcmp(kind, rollout_kind_text(ROLLOUT_SHADOW)) == 0 ? ROLLOUT_SHADOW : ROLLOUT_CANARY;
    if (strcmp(kind, rollout_kind_text(plan->kind)) != 0)
        wrong(reader, "kind", "is not known");
    for (const cJSON *item = read_array(reader, object, "steps", ROLLOUT_MAX_STEPS); item; item = item->next) {
        struct rollout_step *step = &plan->steps[plan->step_count++];
        expect_members(reader, item, "steps", 3);
        step->weight_ppm = read_whole(reader, item, "weight_ppm");
        step->hold_ns = (int64_t)read_wide(reader, item, "hold_ns", INT64_MAX);
        step->min_requests = read_whole(reader, item, "min_requests");
    }
    copy_text(reader, object, "sticky_header", plan->sticky_header, sizeof plan->sticky_header);
    plan->shadow_ppm = read_whole(reader, object, "shadow_ppm");
    plan->compare_ppm = read_whole(reader, object, "compare_ppm");
    plan->may_shrink = read_bool(reader, object, "may_shrink");
    plan->auto_promote = read_bool(reader, object, "auto_promote");
    const cJSON *checks = member(reader, object, "checks");
    expect_members(reader, checks, "checks", 6);
#define READ_CHECK(name) plan->checks.name = read_number(reader, checks, #name);
    ROLLOUT_CHECK_LIST(READ_CHECK)
#undef READ_CHECK
}

static void read_rollout(struct reader *reader, const cJSON *object, struct rollout_state *state) {
    if (cJSON_IsNull(object))
        return;
    expect_members(reader, object, "rollout", 4);
    state->phase = read_phase(reader, object, ROLLOUT_RUNNING, ROLLOUT_PAUSED);
    uint32_t step = read_whole(reader, object, "step");
    copy_text(reader, object, "identity", state->identity, sizeof state->identity);
    read_plan(reader, member(reader, object, "plan"), &state->plan);
    if (step >= (uint32_t)(state->plan.step_count > 0 ? state->plan.step_count : 1))
        wrong(reader, "step", "is not one of the plan's");
    else
        state->step = (int)step;
    if (reader->status == WEIR_OK)
        reader->status = rollout_plan_check(&state->plan, state->stable, reader->err);
}

static void read_last(struct reader *reader, const cJSON *object, struct rollout_state *state) {
    if (cJSON_IsNull(object))
        return;
    expect_members(reader, object, "last", 4);
    state->last_phase = read_phase(reader, object, ROLLOUT_PROMOTED, ROLLOUT_ROLLED_BACK);
    state->last_candidate = read_wide(reader, object, "candidate", UINT64_MAX);
    state->last_ended_s = (int64_t)read_wide(reader, object, "ended_s", INT64_MAX);
    copy_text(reader, object, "reason", state->last_reason, sizeof state->last_reason);
}

static void read_model(struct reader *reader, const cJSON *object, struct rollout_file *file) {
    char name[REPOSITORY_NAME_MAX + 1] = "";
    size_t before = file->model_count;
    expect_members(reader, object, "models", 6);
    copy_text(reader, object, "name", name, sizeof name);
    if (!name[0])
        wrong(reader, "name", "is empty");
    if (reader->status != WEIR_OK)
        return;
    struct rollout_state *state = rollout_file_model(file, name);
    if (!state) {
        reader->status = weir_fail(reader->err, WEIR_NO_MEMORY, "no memory to read the models");
        return;
    }
    if (file->model_count == before)
        wrong(reader, name, "is there twice");
    state->stable = read_wide(reader, object, "stable", UINT64_MAX);
    state->newest_seen = read_wide(reader, object, "newest_seen", UINT64_MAX);
    read_rollout(reader, member(reader, object, "rollout"), state);
    read_last(reader, member(reader, object, "last"), state);
    state->rejected_count = 0;
    const cJSON *item = read_array(reader, object, "rejected", ROLLOUT_FILE_REJECTED);
    for (; item; item = item->next) {
        struct rollout_rejected *note = &state->rejected[state->rejected_count++];
        expect_members(reader, item, "rejected", 3);
        note->number = read_wide(reader, item, "number", UINT64_MAX);
        copy_text(reader, item, "identity", note->identity, sizeof note->identity);
        copy_text(reader, item, "reason", note->reason, sizeof note->reason);
    }
    if (reader->status != WEIR_OK)
        weir_fail_in(reader->err, "model %s", name);
}

enum weir_status rollout_json_read(const char *text, size_t size, struct rollout_file *out, struct weir_error *err) {
    struct reader reader = {.err = err};
    struct rollout_file file = {0};
    const char *end = NULL;
    size_t good = 0;
    for (size_t length; good < size && text[good] && (length = utf8_length(text + good, size - good)) > 0;)
        good += length;
    if (good < size)
        return weir_fail(err, WEIR_INVALID, "byte %zu is not of a text", good);
    cJSON *root = cJSON_ParseWithLengthOpts(text, size + 1, &end, true);
    if (!root)
        return weir_fail(err, WEIR_INVALID, "broken JSON at byte %zu", end ? (size_t)(end - text) : 0);
    /* First: all else depends on it. */
    const cJSON *format = member(&reader, root, "format");
    if (reader.status == WEIR_OK && !(cJSON_IsNumber(format) && format->valuedouble == FORMAT))
        wrong(&reader, "format", "is not 1: another release of the program wrote it");
    if (reader.status == WEIR_OK)
        expect_members(&reader, root, "format", 2);
    const cJSON *item = read_array(&reader, root, "models", ROLLOUT_FILE_MODELS);
    for (; item && reader.status == WEIR_OK; item = item->next)
        read_model(&reader, item, &file);
    cJSON_Delete(root);
    if (reader.status == WEIR_OK)
        *out = file;
    else
        rollout_file_release(&file);
    return reader.status;
}
