/* What operators ask of the catalog, and what they see of it. */
#ifndef WEIR_ENGINE_CATALOG_ADMIN_H
#define WEIR_ENGINE_CATALOG_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/catalog.h"
#include "engine/status.h"

/* X(name, text) */
#define CATALOG_ACTION_LIST(X)                                                                                         \
    X(LOAD, "load")                                                                                                    \
    X(UNLOAD, "unload")                                                                                                \
    X(VERIFY, "verify")                                                                                                \
    X(PROMOTE, "promote")                                                                                              \
    X(START, "start")                                                                                                  \
    X(PAUSE, "pause")                                                                                                  \
    X(RESUME, "resume")                                                                                                \
    X(ROLL_BACK, "rollback")

enum catalog_action {
#define CATALOG_ACTION_ENUM(name, text) CATALOG_##name,
    CATALOG_ACTION_LIST(CATALOG_ACTION_ENUM)
#undef CATALOG_ACTION_ENUM
        CATALOG_ACTION_COUNT
};

const char *catalog_action_text(enum catalog_action action);

/* How a rollout is to go. Numbers that are NaN take their defaults (engine/model/rollout_plan.h); a check below 0 is
 * not made. */
struct catalog_rollout {
    bool is_shadow;
    char steps[512]; /* "5% for 10m, 25% for 10m, 100%" */
    char sticky_header[CATALOG_HEADER_BYTES];
    double shadow_percent;  /* of stable's requests, copied to the candidate */
    double compare_percent; /* of the candidate's requests, copied to stable */
    bool may_shrink, auto_promote;
    double max_error_rate, max_p99_ratio, max_compute_ratio, max_non_finite, min_agreement, max_drift;
};
void catalog_rollout_init(struct catalog_rollout *rollout);

/* Owner: the caller; the catalog between catalog_submit and done. */
struct catalog_order {
    enum catalog_action action;
    int model;
    uint64_t version; /* of LOAD, UNLOAD, VERIFY, PROMOTE (0: the candidate) and START */
    struct catalog_rollout rollout;
    char actor[96];                            /* who asks, for the audit */
    char reason[200];                          /* of ROLL_BACK; may be "" */
    void (*done)(struct catalog_order *order); /* thread: the catalog's. Must not block. */
    void *owner;
    /* Valid in done. */
    enum weir_status status;
    struct weir_error error;
    char text[512];    /* what was done */
    bool is_unchanged; /* it was so already */
};

/* Takes an order. What asks for the present state is OK and changes nothing. Errors of the call: CONFLICT (another
 * change is under way; a ROLL_BACK is only kept back by another one of its kind), DRAINING. Errors of the order:
 * NOT_FOUND, CONFLICT (the state does not allow it), INVALID (the plan; samples that fail), IO (the state could not be
 * kept: nothing has changed, but a ROLL_BACK has taken the requests away, and is written later), those of loading.
 * thread: any. */
enum weir_status catalog_submit(struct catalog *catalog, struct catalog_order *order,
                                struct weir_error *err) WEIR_CHECKED;

/* X(name, text). From READY on it is loaded; what follows READY gets requests too. */
#define CATALOG_STATE_LIST(X)                                                                                          \
    X(FOUND, "found")                                                                                                  \
    X(LOADING, "loading")                                                                                              \
    X(INCOMPLETE, "incomplete")                                                                                        \
    X(FAILED, "failed")                                                                                                \
    X(READY, "ready")                                                                                                  \
    X(SERVING, "serving")                                                                                              \
    X(CANARY, "canary")                                                                                                \
    X(SHADOW, "shadow")

enum catalog_state {
#define CATALOG_STATE_ENUM(name, text) CATALOG_STATE_##name,
    CATALOG_STATE_LIST(CATALOG_STATE_ENUM)
#undef CATALOG_STATE_ENUM
};

const char *catalog_state_text(enum catalog_state state);

struct catalog_version_view {
    uint64_t number;
    enum catalog_state state;
    char reason[512]; /* why not; "" */
    bool on_disk, rejected;
    double load_ms;
    uint32_t samples, sample_runs;
    double sample_worst, sample_allowed;
};

/* What was seen of a version during a rollout. */
struct catalog_outcomes_view {
    uint64_t requests, errors, non_finite, late;
    double p50_ms, p99_ms;
};

struct catalog_model_view {
    char name[CATALOG_NAME_BYTES];
    char path[512], problem[512];
    uint64_t stable, candidate; /* 0: none */
    const char *phase, *kind;   /* of the rollout */
    int step, step_count;
    uint32_t weight_ppm, shadow_ppm;
    char steps[512], sticky_header[CATALOG_HEADER_BYTES];
    char waits_for[256];                      /* what the rollout needs to go on */
    char last[320];                           /* how the last one ended */
    struct catalog_outcomes_view outcomes[2]; /* by role */
    struct {
        uint64_t requests, rows, unequal, misfits, new_non_finite;
        double max_error, mean_error, max_relative, agreement; /* agreement -1: no decisions */
        double compute_ratio; /* what one row takes on the device, candidate's to stable's; 0: not known */
    } comparison;
    struct catalog_version_view *versions; /* newest first */
    size_t version_count;
    uint64_t loads, load_failures;
};

/* Does it show a rollout? */
bool catalog_view_is_on(const struct catalog_model_view *view);

/* A picture of one model. Errors: NO_MEMORY. thread: any. Owner of *out: the caller, catalog_view_release. */
enum weir_status catalog_view(struct catalog *catalog, int model, struct catalog_model_view *out,
                              struct weir_error *err) WEIR_CHECKED;
void catalog_view_release(struct catalog_model_view *view);

/* The version that serves, with a reference (engine_release); NULL: none. thread: any. */
struct version *catalog_stable(struct catalog *catalog, int model);

/* The model's name; "" before its first look if it comes from the path. */
const char *catalog_name(struct catalog *catalog, int model);

#endif
