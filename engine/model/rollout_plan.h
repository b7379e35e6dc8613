/* How a candidate gets its traffic, and what it must hold to. */
#ifndef WEIR_ENGINE_MODEL_ROLLOUT_PLAN_H
#define WEIR_ENGINE_MODEL_ROLLOUT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

enum { ROLLOUT_MAX_STEPS = 16, ROLLOUT_HEADER_MAX = 63, ROLLOUT_LEAST_PPM = 1000 };

enum rollout_kind {
    ROLLOUT_CANARY, /* the candidate answers a share of the requests */
    ROLLOUT_SHADOW  /* it answers none; it gets copies, and its answers are only compared */
};

struct rollout_step {
    uint32_t weight_ppm; /* 1,000 to 1,000,000: the candidate's share; of no meaning in a shadow */
    int64_t hold_ns;     /* at least this long; 0 is fine */
    uint32_t min_requests;
};

#define ROLLOUT_OFF (-1.0) /* for a check that is not made */

/* Each may be ROLLOUT_OFF. Ratios are candidate's to stable's. */
struct rollout_checks {
    double max_error_rate;    /* of requests that end in an error, or late; more than stable's in any case */
    double max_p99_ratio;     /* of the requests' latency: canary only */
    double max_compute_ratio; /* of the time on the device for the same rows */
    double max_non_finite;    /* rate of requests with non-finite outputs beyond stable's */
    double min_agreement;     /* share of equal argmaxes and labels, where there are any */
    double max_drift;         /* largest error relative to the largest magnitude of stable's row */
};

/* X(member) of struct rollout_checks. */
#define ROLLOUT_CHECK_LIST(X)                                                                                          \
    X(max_error_rate)                                                                                                  \
    X(max_p99_ratio)                                                                                                   \
    X(max_compute_ratio)                                                                                               \
    X(max_non_finite)                                                                                                  \
    X(min_agreement)                                                                                                   \
    X(max_drift)

struct rollout_plan {
    uint64_t candidate; /* version number */
    enum rollout_kind kind;
    int step_count;
    struct rollout_step steps[ROLLOUT_MAX_STEPS];
    char sticky_header[ROLLOUT_HEADER_MAX + 1]; /* lower case; "": none */
    uint32_t shadow_ppm;                        /* share of stable's requests that are copied to the candidate */
    uint32_t compare_ppm; /* share of the candidate's requests that are copied to stable, to be compared */
    bool may_shrink;      /* weights need not grow */
    bool auto_promote;    /* the last step ends by itself */
    struct rollout_checks checks;
};

/* The defaults: a canary without steps; errors 0.02, p99 1.5, compute 1.5, non-finite 0, agreement 0.9, drift off;
 * everything compared. */
void rollout_plan_init(struct rollout_plan *plan);

/* Reads steps such as "5% for 10m, 25% for 90s, 100%": shares with up to 4 digits after the point; times in ms, s, m, h
 * or d; "with N requests" may follow ("5% for 10m with 200 requests"), else it is 50. Errors: INVALID, naming the
 * step. On an error plan is unchanged. */
enum weir_status rollout_plan_read_steps(const char *text, struct rollout_plan *plan,
                                         struct weir_error *err) WEIR_CHECKED;

/* Takes the name of the sticky header, in lower case; "": none. Errors: INVALID. On an error plan is unchanged. */
enum weir_status rollout_plan_read_header(const char *name, struct rollout_plan *plan,
                                          struct weir_error *err) WEIR_CHECKED;

/* Writes the steps in the same form, cut to size; returns text. */
const char *rollout_plan_steps_text(const struct rollout_plan *plan, char *text, size_t size);

/* Lower-case names for people and files: "canary", "shadow". */
const char *rollout_kind_text(enum rollout_kind kind);

/* Is the plan one that can be started beside `stable`? A shadow may have no steps; then it lasts until someone ends it.
 * Errors: INVALID, naming what is wrong. */
enum weir_status rollout_plan_check(const struct rollout_plan *plan, uint64_t stable,
                                    struct weir_error *err) WEIR_CHECKED;

#endif
