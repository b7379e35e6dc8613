/* The rollout of one model: a candidate on its way to become stable, or back. No clock, no threads: its owner calls it
 * under a lock of its own, and rollout_tick several times a second. */
#ifndef WEIR_ENGINE_MODEL_ROLLOUT_H
#define WEIR_ENGINE_MODEL_ROLLOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/model/comparison.h"
#include "engine/model/outcomes.h"
#include "engine/model/rollout_plan.h"
#include "engine/status.h"

/* X(name, text) */
#define ROLLOUT_PHASE_LIST(X)                                                                                          \
    X(NONE, "none")                                                                                                    \
    X(RUNNING, "running")                                                                                              \
    X(PAUSED, "paused") /* the weight stays and the checks are made; the steps stand still */                          \
    X(PROMOTED, "promoted")                                                                                            \
    X(ROLLED_BACK, "rolled_back")

enum rollout_phase {
#define ROLLOUT_PHASE_ENUM(name, text) ROLLOUT_##name,
    ROLLOUT_PHASE_LIST(ROLLOUT_PHASE_ENUM)
#undef ROLLOUT_PHASE_ENUM
        ROLLOUT_PHASE_COUNT
};

enum { ROLLOUT_TEXT = 256 };

/* What is known at a tick. The counts begin with the rollout and only grow (the owner resets them before
 * rollout_start). They are of users' requests, without the copies for comparing; only a shadow's candidate has nothing
 * but copies. */
struct rollout_evidence {
    struct outcomes_counts stable, candidate;
    struct comparison_summary comparison;
    int64_t stable_compute_ns; /* what the cost models predict for the same rows; 0: not known */
    int64_t candidate_compute_ns;
    double paired_ratio; /* of the same rows run side by side, candidate's to stable's; 0: not known */
};

/* What happened between two moments. */
struct rollout_window {
    struct outcomes_counts stable, candidate;
};

/* About 50 KiB. Begins with rollout_init. The fields are for reading. */
struct rollout {
    enum rollout_phase phase;
    struct rollout_plan plan;
    int step;
    int64_t step_began_ns;        /* moved on by the time spent paused */
    int64_t paused_ns;            /* when it was paused */
    int slow_ticks;               /* one after the other with requests and too high a compute ratio */
    uint64_t requests_at_tick;    /* the candidate's, at the last tick */
    bool is_early;                /* the recent window began with the step */
    uint64_t compared_before;     /* requests that had been compared when the step began */
    struct rollout_window start;  /* the counts when the step began, */
    struct rollout_window base;   /* where the recent window begins: a few hundred requests ago, */
    struct rollout_window middle; /* and where the next one will */
    char reason[ROLLOUT_TEXT];    /* why it was rolled back */
};

enum rollout_action {
    ROLLOUT_NOTHING,   /* text: what it waits for */
    ROLLOUT_NEXT_STEP, /* done: the weight has changed */
    ROLLOUT_PROMOTE,   /* advice: whoever can, proves the samples and calls rollout_promote; it comes again at each tick
                        */
    ROLLOUT_ROLL_BACK  /* done: the weight is 0 */
};

struct rollout_decision {
    enum rollout_action action;
    char text[ROLLOUT_TEXT]; /* the check, the figure, the limit and the number of requests */
};

void rollout_init(struct rollout *rollout);

/* Begins with the plan's first step. Errors: BUSY (one is running), INVALID (rollout_plan_check). */
enum weir_status rollout_start(struct rollout *rollout, const struct rollout_plan *plan, uint64_t stable,
                               int64_t now_ns, struct weir_error *err) WEIR_CHECKED;

/* After a restart: goes on with a step, RUNNING or PAUSED; its hold and its requests begin anew. Errors: INVALID (what
 * rollout_start would refuse, another phase, a step that the plan does not have). */
enum weir_status rollout_restore(struct rollout *rollout, const struct rollout_plan *plan, uint64_t stable,
                                 enum rollout_phase phase, int step, int64_t now_ns) WEIR_CHECKED;

/* Errors of these: NOT_FOUND (none is running or paused). Asked twice is no error. */
enum weir_status rollout_pause(struct rollout *rollout, int64_t now_ns, struct weir_error *err) WEIR_CHECKED;
enum weir_status rollout_resume(struct rollout *rollout, int64_t now_ns, struct weir_error *err) WEIR_CHECKED;
enum weir_status rollout_promote(struct rollout *rollout, struct weir_error *err) WEIR_CHECKED;
enum weir_status rollout_roll_back(struct rollout *rollout, const char *reason, struct weir_error *err) WEIR_CHECKED;

/* Judges the evidence and moves on. Nothing in a phase that is over. */
void rollout_tick(struct rollout *rollout, int64_t now_ns, const struct rollout_evidence *evidence,
                  struct rollout_decision *out);

/* Copies a reason, cut at a whole character; what is not UTF-8, and control characters, become '?'. */
void rollout_copy_text(char out[ROLLOUT_TEXT], const char *text);

bool rollout_is_on(const struct rollout *rollout); /* running or paused */
const char *rollout_phase_text(enum rollout_phase phase);

/* The candidate's share of the requests now: 0 in a shadow and after a rollback, all once promoted. */
uint32_t rollout_weight_ppm(const struct rollout *rollout);
/* The share of stable's requests to copy to the candidate now. */
uint32_t rollout_shadow_ppm(const struct rollout *rollout);
/* The share of the candidate's requests to copy to stable now. */
uint32_t rollout_compare_ppm(const struct rollout *rollout);

#endif
