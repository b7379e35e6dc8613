#include "engine/model/rollout_plan.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/clock.h"

enum { WHOLE_PPM = 1000000, MIN_REQUESTS = 50 };

void rollout_plan_init(struct rollout_plan *plan) {
    *plan = (struct rollout_plan){.compare_ppm = WHOLE_PPM,
                                  .checks = {.max_error_rate = 0.02,
                                             .max_p99_ratio = 1.5,
                                             .max_compute_ratio = 1.5,
                                             .max_non_finite = 0,
                                             .min_agreement = 0.9,
                                             .max_drift = ROLLOUT_OFF}};
}

/* Longer names first: "ms" begins like "m". */
static const struct {
    const char *name;
    int64_t ns;
} UNITS[] = {{"ms", CLOCK_NS_PER_MS},
             {"s", CLOCK_NS_PER_S},
             {"m", 60 * CLOCK_NS_PER_S},
             {"h", 3600 * CLOCK_NS_PER_S},
             {"d", 86400 * CLOCK_NS_PER_S}};
enum { UNIT_COUNT = sizeof UNITS / sizeof *UNITS };
static const int64_t MOST_HOLD_NS = 365 * 86400 * CLOCK_NS_PER_S;

struct reader {
    const char *next;
    int step; /* from 1 */
    struct weir_error *err;
};

static enum weir_status fail(const struct reader *reader, const char *what) {
    return weir_fail(reader->err, WEIR_INVALID, "step %d of the rollout, at \"%.40s\": %s", reader->step, reader->next,
                     what);
}

static void skip_blanks(struct reader *reader) {
    reader->next += strspn(reader->next, " \t\n");
}

/* A word that is not the beginning of a longer one. */
static bool skip_word(struct reader *reader, const char *word) {
    size_t length = strlen(word);
    char after;
    skip_blanks(reader);
    if (strncmp(reader->next, word, length) != 0)
        return false;
    after = reader->next[length];
    if ((after >= 'a' && after <= 'z') || (after >= '0' && after <= '9'))
        return false;
    reader->next += length;
    return true;
}

/* Digits, and up to 4 more after a point: the number times 10,000. No sign, no exponent; at most 9 digits before it. */
static bool read_decimal(struct reader *reader, int64_t *out) {
    int64_t number = 0;
    int digits = 0, places = 0;
    skip_blanks(reader);
    for (; *reader->next >= '0' && *reader->next <= '9'; reader->next++, digits++)
        if (digits < 10)
            number = number * 10 + (*reader->next - '0');
    if (digits == 0 || digits > 9)
        return false;
    if (*reader->next == '.') {
        reader->next++;
        for (; *reader->next >= '0' && *reader->next <= '9'; reader->next++, places++)
            if (places < 4)
                number = number * 10 + (*reader->next - '0');
        if (places == 0 || places > 4)
            return false;
    }
    for (; places < 4; places++)
        number *= 10;
    *out = number;
    return true;
}

static enum weir_status read_share(struct reader *reader, struct rollout_step *step) {
    int64_t share;
    if (!read_decimal(reader, &share))
        return fail(reader, "expecting a share such as 5% or 0.5%");
    skip_blanks(reader);
    if (*reader->next != '%')
        return fail(reader, "expecting % after the share");
    reader->next++;
    if (share > WHOLE_PPM)
        return fail(reader, "a share is at most 100%");
    step->weight_ppm = (uint32_t)share;
    return WEIR_OK;
}

static enum weir_status read_hold(struct reader *reader, struct rollout_step *step) {
    int64_t number;
    if (!read_decimal(reader, &number))
        return fail(reader, "expecting a time such as 10m");
    for (int i = 0; i < UNIT_COUNT; i++)
        if (skip_word(reader, UNITS[i].name)) {
            double ns = (double)number / 10000 * (double)UNITS[i].ns;
            if (ns > (double)MOST_HOLD_NS)
                return fail(reader, "a step is held for at most 365d");
            step->hold_ns = llround(ns);
            return WEIR_OK;
        }
    return fail(reader, "expecting ms, s, m, h or d after the time");
}

static enum weir_status read_requests(struct reader *reader, struct rollout_step *step) {
    int64_t number;
    if (!read_decimal(reader, &number) || number % 10000 != 0)
        return fail(reader, "expecting a number of requests");
    if (!skip_word(reader, "requests"))
        return fail(reader, "expecting the word requests after their number");
    step->min_requests = (uint32_t)(number / 10000);
    return WEIR_OK;
}

static enum weir_status read_step(struct reader *reader, struct rollout_step *step) {
    *step = (struct rollout_step){.min_requests = MIN_REQUESTS};
    enum weir_status status = read_share(reader, step);
    if (status == WEIR_OK && skip_word(reader, "for"))
        status = read_hold(reader, step);
    if (status == WEIR_OK && skip_word(reader, "with"))
        status = read_requests(reader, step);
    return status;
}

enum weir_status rollout_plan_read_steps(const char *text, struct rollout_plan *plan, struct weir_error *err) {
    struct rollout_step steps[ROLLOUT_MAX_STEPS];
    struct reader reader = {.next = text, .err = err};
    do {
        reader.step++;
        if (reader.step > ROLLOUT_MAX_STEPS)
            return fail(&reader, "a rollout has at most 16 steps");
        enum weir_status status = read_step(&reader, &steps[reader.step - 1]);
        if (status != WEIR_OK)
            return status;
        skip_blanks(&reader);
    } while (*reader.next == ',' && reader.next++);
    if (*reader.next)
        return fail(&reader, "expecting a comma, or: for TIME, with N requests");
    memcpy(plan->steps, steps, (size_t)reader.step * sizeof *steps);
    plan->step_count = reader.step;
    return WEIR_OK;
}

struct writer {
    char *text;
    size_t size, used;
};

static void put(struct writer *writer, const char *part) {
    size_t length = strlen(part), left = writer->size - writer->used;
    if (length >= left)
        length = left - 1;
    memcpy(writer->text + writer->used, part, length);
    writer->used += length;
    writer->text[writer->used] = '\0';
}

/* The largest unit that the time is a whole number of. */
static void put_hold(struct writer *writer, int64_t hold_ns) {
    int unit = UNIT_COUNT - 1;
    char part[48];
    while (unit > 0 && hold_ns % UNITS[unit].ns != 0)
        unit--;
    if (hold_ns % UNITS[unit].ns == 0)
        snprintf(part, sizeof part, " for %" PRId64 "%s", hold_ns / UNITS[unit].ns, UNITS[unit].name);
    else
        snprintf(part, sizeof part, " for %.4fms", (double)hold_ns / CLOCK_NS_PER_MS);
    put(writer, part);
}

const char *rollout_plan_steps_text(const struct rollout_plan *plan, char *text, size_t size) {
    struct writer writer = {.text = text, .size = size};
    if (size == 0)
        return text;
    text[0] = '\0';
    for (int i = 0; i < plan->step_count; i++) {
        const struct rollout_step *step = &plan->steps[i];
        char part[48];
        snprintf(part, sizeof part, "%s%.7g%%", i > 0 ? ", " : "", step->weight_ppm / 1e4);
        put(&writer, part);
        if (step->hold_ns > 0)
            put_hold(&writer, step->hold_ns);
        if (step->min_requests != MIN_REQUESTS) {
            snprintf(part, sizeof part, " with %" PRIu32 " requests", step->min_requests);
            put(&writer, part);
        }
    }
    return text;
}

const char *rollout_kind_text(enum rollout_kind kind) {
    return kind == ROLLOUT_SHADOW ? "shadow" : "canary";
}

static enum weir_status check_steps(const struct rollout_plan *plan, struct weir_error *err) {
    if (plan->step_count < 0 || plan->step_count > ROLLOUT_MAX_STEPS)
        return weir_fail(err, WEIR_INVALID, "a rollout has at most %d steps", ROLLOUT_MAX_STEPS);
    if (plan->step_count == 0 && plan->kind == ROLLOUT_CANARY)
        return weir_fail(err, WEIR_INVALID, "a canary needs at least one step");
    for (int i = 0; i < plan->step_count; i++) {
        const struct rollout_step *step = &plan->steps[i];
        if (step->hold_ns < 0 || step->hold_ns > MOST_HOLD_NS)
            return weir_fail(err, WEIR_INVALID, "step %d is held for less than nothing or more than 365 days", i + 1);
        if (plan->kind == ROLLOUT_SHADOW)
            continue;
        if (step->weight_ppm < ROLLOUT_LEAST_PPM || step->weight_ppm > WHOLE_PPM)
            return weir_fail(err, WEIR_INVALID, "the share of step %d is %.7g%%, not between 0.1%% and 100%%", i + 1,
                             step->weight_ppm / 1e4);
        if (i > 0 && !plan->may_shrink && step->weight_ppm <= plan->steps[i - 1].weight_ppm)
            return weir_fail(err, WEIR_INVALID, "the share of step %d is %.7g%%: it must grow from %.7g%%", i + 1,
                             step->weight_ppm / 1e4, plan->steps[i - 1].weight_ppm / 1e4);
    }
    return WEIR_OK;
}

/* A limit is off, or within [least, most]; NaN is neither. */
static bool is_limit(double limit, double least, double most) {
    return limit == ROLLOUT_OFF || (limit >= least && limit <= most);
}

static enum weir_status check_limits(const struct rollout_checks *checks, struct weir_error *err) {
    const char *what = NULL;
    if (!is_limit(checks->max_error_rate, 0, 1))
        what = "max_error_rate is not between 0 and 1";
    else if (!is_limit(checks->max_p99_ratio, 1, 1000))
        what = "max_p99_ratio is not between 1 and 1000";
    else if (!is_limit(checks->max_compute_ratio, 1, 1000))
        what = "max_compute_ratio is not between 1 and 1000";
    else if (!is_limit(checks->max_non_finite, 0, 1))
        what = "max_non_finite is not between 0 and 1";
    else if (!is_limit(checks->min_agreement, 0, 1))
        what = "min_agreement is not between 0 and 1";
    else if (!is_limit(checks->max_drift, 0, 1e30))
        what = "max_drift is negative";
    return what ? weir_fail(err, WEIR_INVALID, "%s", what) : WEIR_OK;
}

/* A header's name is a token. Source: RFC 9110, section 5.1. */
static bool is_header(const char *name) {
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.!#$%&'*+^`|~") == strlen(name);
}

enum weir_status rollout_plan_read_header(const char *name, struct rollout_plan *plan, struct weir_error *err) {
    char lower[sizeof plan->sticky_header] = "";
    size_t length = strlen(name);
    if (length >= sizeof lower)
        return weir_fail(err, WEIR_INVALID, "sticky_header: longer than %zu characters", sizeof lower - 1);
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    if (!is_header(lower))
        return weir_fail(err, WEIR_INVALID, "sticky_header: \"%s\" is not the name of a header", name);
    memcpy(plan->sticky_header, lower, sizeof lower);
    return WEIR_OK;
}

enum weir_status rollout_plan_check(const struct rollout_plan *plan, uint64_t stable, struct weir_error *err) {
    if (plan->candidate == stable)
        return weir_fail(err, WEIR_INVALID, "version %" PRIu64 " is stable already: it cannot be the candidate too",
                         stable);
    if (plan->kind != ROLLOUT_CANARY && plan->kind != ROLLOUT_SHADOW)
        return weir_fail(err, WEIR_INVALID, "a rollout is a canary or a shadow");
    enum weir_status status = check_steps(plan, err);
    if (status == WEIR_OK)
        status = check_limits(&plan->checks, err);
    if (status != WEIR_OK)
        return status;
    if (plan->shadow_ppm > WHOLE_PPM || plan->compare_ppm > WHOLE_PPM)
        return weir_fail(err, WEIR_INVALID, "a share is more than 100%%");
    if (plan->kind == ROLLOUT_SHADOW && plan->shadow_ppm == 0)
        return weir_fail(err, WEIR_INVALID, "a shadow needs a share of the requests to copy");
    if (!is_header(plan->sticky_header))
        return weir_fail(err, WEIR_INVALID, "the sticky header is not a header's name in lower case");
    return WEIR_OK;
}
