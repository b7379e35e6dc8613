#include "engine/model/rollout_judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "engine/model/chance.h"

/* How likely chance alone may bring what a check calls bad. Looks come several times a second and each is a new
 * opportunity to err, so it is little; a step's first requests get more, so that bad candidates do not last. */
static const double EARLY_CHANCE = 1e-4;
static const double LATER_CHANCE = 1e-6;
/* A candidate as good as stable fails this often, even where stable was not seen to fail at all. */
static const double LEAST_RATE = 0.001;
/* What a batch takes cannot be told apart more finely, and no user would. */
enum { LEAST_SLOWER_NS = 20000, LEAST_LATER_NS = 200000 };
enum { LEAST_FAILURES = 2, RATE_REQUESTS = 50, RATE_WINDOW = 200, COMPARED_REQUESTS = 5, ROWS_OF_A_REQUEST = 8 };

static double share(uint64_t part, uint64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}

static double chance_limit(const struct rollout_look *look) {
    return look->is_early ? EARLY_CHANCE : LATER_CHANCE;
}

/* What can go wrong with a request. */
struct failing {
    const char *name;
    double limit;
    uint64_t (*count)(const struct outcomes_counts *counts);
};

static uint64_t errors_of(const struct outcomes_counts *counts) {
    return counts->errors;
}
static uint64_t late_of(const struct outcomes_counts *counts) {
    return counts->late;
}
static uint64_t non_finite_of(const struct outcomes_counts *counts) {
    return counts->non_finite;
}

/* Stable's rate: of the same window where it had enough requests in it, else the worst that is known; 0 where too
 * little is. *doubt: two deviations of what it was counted from. */
static double stable_rate(const struct rollout_look *look, const struct failing *failing, double *doubt) {
    const struct outcomes_counts *recent = &look->recent->stable, *all = &look->all->stable;
    const struct outcomes_counts *from = recent;
    if (recent->requests < RATE_WINDOW &&
        share(failing->count(all), all->requests) > share(failing->count(recent), recent->requests))
        from = all;
    double rate = from->requests >= RATE_REQUESTS ? share(failing->count(from), from->requests) : 0;
    *doubt = rate > 0 ? 2 * sqrt(rate * (1 - rate) / (double)from->requests) : 0;
    return rate;
}

static bool rate_fails(const struct rollout_look *look, const struct failing *failing, char *reason, size_t size) {
    const struct outcomes_counts *seen = &look->recent->candidate;
    uint64_t failures = failing->count(seen);
    double doubt, rate = share(failures, seen->requests), stable = stable_rate(look, failing, &doubt);
    if (failing->limit == ROLLOUT_OFF || failures < LEAST_FAILURES || rate <= failing->limit)
        return false;
    double usual = fmax(fmax(stable + doubt, failing->limit / 10), LEAST_RATE);
    if (rate <= stable + failing->limit / 10 || chance_at_least(failures, seen->requests, usual) >= chance_limit(look))
        return false;
    snprintf(reason, size, "%s: %" PRIu64 " of %" PRIu64 " requests, rate %.4f, limit %.4f, stable's %.4f",
             failing->name, failures, seen->requests, rate, failing->limit, stable);
    return true;
}

/* A quantile of the latency, and what is known of it on both sides. */
struct latency {
    const char *name;
    double quantile;
    int64_t stable_ns, candidate_ns;
    double ratio;
};

/* The quantile there are enough requests for. Returns false if there are not, or nothing was asked. */
static bool measure_latency(const struct rollout_plan *plan, const struct rollout_window *window, struct latency *out) {
    const struct outcomes_counts *stable = &window->stable, *candidate = &window->candidate;
    uint64_t least = stable->timed < candidate->timed ? stable->timed : candidate->timed;
    if (plan->checks.max_p99_ratio == ROLLOUT_OFF || plan->kind == ROLLOUT_SHADOW || least < ROLLOUT_MEDIAN_REQUESTS)
        return false;
    bool is_tail = least >= ROLLOUT_P99_REQUESTS;
    out->name = is_tail ? "p99" : "median";
    out->quantile = is_tail ? 0.99 : 0.5;
    out->stable_ns = outcomes_quantile(stable, out->quantile);
    out->candidate_ns = outcomes_quantile(candidate, out->quantile);
    out->ratio = out->stable_ns > 0 ? (double)out->candidate_ns / (double)out->stable_ns : 0;
    return true;
}

static void tell_latency(const struct latency *latency, const struct rollout_look *look, char *reason, size_t size) {
    snprintf(reason, size, "%s latency: %.3f ms over %" PRIu64 " requests, %.2f times stable's %.3f ms, limit %.2f",
             latency->name, (double)latency->candidate_ns / 1e6, look->recent->candidate.timed, latency->ratio,
             (double)latency->stable_ns / 1e6, look->plan->checks.max_p99_ratio);
}

/* What a latency may be where stable's is stable_ns. Requests of the version with less traffic find the device with a
 * batch of the other one more often: such a batch is not their version's fault. */
static double latency_bound(const struct rollout_look *look, int64_t stable_ns) {
    int64_t batch_ns = look->all->stable_compute_ns > LEAST_LATER_NS ? look->all->stable_compute_ns : LEAST_LATER_NS;
    return look->plan->checks.max_p99_ratio * (double)stable_ns + (double)batch_ns;
}

/* The candidate's quantile is above the bound if more than its share of requests are. The bound leaves room for
 * stable's quantile being known from a sample only: two deviations of its rank. */
static bool latency_fails(const struct rollout_look *look, char *reason, size_t size) {
    struct latency latency;
    if (!measure_latency(look->plan, look->recent, &latency) ||
        (double)latency.candidate_ns <= latency_bound(look, latency.stable_ns))
        return false;
    const struct outcomes_counts *stable = &look->recent->stable, *candidate = &look->recent->candidate;
    double spread = sqrt(latency.quantile * (1 - latency.quantile) / (double)stable->timed);
    double bound = latency_bound(look, outcomes_quantile(stable, fmin(latency.quantile + 2 * spread, 1)));
    uint64_t above = outcomes_above(candidate, bound < 1e18 ? (int64_t)bound : INT64_MAX);
    if (chance_at_least(above, candidate->timed, 1 - latency.quantile) >= chance_limit(look))
        return false;
    tell_latency(&latency, look, reason, size);
    return true;
}

static bool latency_passes(const struct rollout_look *look, char *reason, size_t size) {
    struct latency latency;
    if (!measure_latency(look->plan, look->recent, &latency) ||
        (double)latency.candidate_ns <= latency_bound(look, latency.stable_ns))
        return true;
    tell_latency(&latency, look, reason, size);
    return false;
}

/* What the cost models say of a version that seldom runs is too much: then its code and weights are not in the caches.
 * So batches side by side must say the same. */
bool rollout_judge_is_slow(const struct rollout_plan *plan, const struct rollout_evidence *evidence) {
    double limit = plan->checks.max_compute_ratio;
    bool may_be_cold = evidence->paired_ratio > 0 && evidence->paired_ratio <= limit;
    return limit != ROLLOUT_OFF && !may_be_cold &&
           evidence->candidate_compute_ns - evidence->stable_compute_ns >= LEAST_SLOWER_NS &&
           evidence->stable_compute_ns > 0 && evidence->candidate_compute_ns > 0 &&
           (double)evidence->candidate_compute_ns > limit * (double)evidence->stable_compute_ns;
}

static void tell_compute(const struct rollout_look *look, char *reason, size_t size) {
    double stable_ms = (double)look->all->stable_compute_ns / 1e6;
    double candidate_ms = (double)look->all->candidate_compute_ns / 1e6;
    char timed[40] = "";
    if (look->all->paired_ratio > 0)
        snprintf(timed, sizeof timed, " (%.2f side by side)", look->all->paired_ratio);
    snprintf(reason, size,
             "compute time: %.3f ms after %" PRIu64
             " requests, %.2f times stable's %.3f ms for the same rows%s, limit %.2f",
             candidate_ms, look->recent->candidate.requests, candidate_ms / stable_ms, stable_ms, timed,
             look->plan->checks.max_compute_ratio);
}

/* Is the agreement too low? `surely`: more than chance would bring. The rows of one request are often alike, so no more
 * than a few of each count. */
static bool disagrees(const struct rollout_look *look, bool surely, char *reason, size_t size) {
    const struct comparison_summary *seen = &look->all->comparison;
    double limit = look->plan->checks.min_agreement;
    if (limit == ROLLOUT_OFF || seen->all.decisions == 0 || seen->agreement >= limit)
        return false;
    double counted = fmin((double)seen->all.decisions, ROWS_OF_A_REQUEST * (double)seen->requests);
    uint64_t apart = (uint64_t)((1 - seen->agreement) * counted);
    if (surely &&
        (seen->requests < COMPARED_REQUESTS || chance_at_least(apart, (uint64_t)counted, 1 - limit) >= LATER_CHANCE))
        return false;
    snprintf(reason, size, "agreement: %.4f of %" PRIu64 " argmaxes and labels in %" PRIu64 " requests, limit %.4f",
             seen->agreement, seen->all.decisions, seen->requests, limit);
    return true;
}

/* What no chance brings: the same inputs, and outputs that are not what stable's are. */
static bool differs(const struct rollout_look *look, char *reason, size_t size) {
    const struct comparison_summary *seen = &look->all->comparison;
    const struct rollout_checks *checks = &look->plan->checks;
    if (checks->max_non_finite == 0 && seen->all.new_non_finite > 0) {
        snprintf(reason, size,
                 "non-finite outputs: %" PRIu64 " elements where stable's are finite, in %" PRIu64
                 " requests compared, limit 0",
                 seen->all.new_non_finite, seen->requests);
        return true;
    }
    if (checks->min_agreement != ROLLOUT_OFF && seen->misfits > 0) {
        snprintf(reason, size, "sizes of outputs: other than stable's in %" PRIu64 " of %" PRIu64 " requests compared",
                 seen->misfits, seen->requests);
        return true;
    }
    if (checks->max_drift != ROLLOUT_OFF && seen->all.max_relative > checks->max_drift) {
        snprintf(reason, size,
                 "drift: %.3g of the row's largest magnitude, in %" PRIu64 " requests compared, limit %.3g",
                 seen->all.max_relative, seen->requests, checks->max_drift);
        return true;
    }
    return false;
}

enum { FAILINGS = 3 };

static void list_failings(const struct rollout_plan *plan, struct failing out[FAILINGS]) {
    const struct rollout_checks *checks = &plan->checks;
    out[0] = (struct failing){"non-finite outputs", checks->max_non_finite, non_finite_of};
    out[1] = (struct failing){"errors", checks->max_error_rate, errors_of};
    /* A shadow's copies run when there is room, so they may well be late. */
    out[2] = (struct failing){"late", plan->kind == ROLLOUT_SHADOW ? ROLLOUT_OFF : checks->max_error_rate, late_of};
}

bool rollout_judge_fails(const struct rollout_look *look, char *reason, size_t size) {
    struct failing failings[FAILINGS];
    list_failings(look->plan, failings);
    if (differs(look, reason, size))
        return true;
    for (int i = 0; i < FAILINGS; i++)
        if (rate_fails(look, &failings[i], reason, size))
            return true;
    if (disagrees(look, true, reason, size) || latency_fails(look, reason, size))
        return true;
    if (look->is_slow)
        tell_compute(look, reason, size);
    return look->is_slow;
}

bool rollout_judge_passes(const struct rollout_look *look, char *reason, size_t size) {
    const struct outcomes_counts *seen = &look->recent->candidate;
    struct failing failings[FAILINGS];
    list_failings(look->plan, failings);
    for (int i = 0; i < FAILINGS; i++) {
        double doubt, limit = failings[i].limit, rate = share(failings[i].count(seen), seen->requests);
        if (failings[i].limit == ROLLOUT_OFF || rate <= limit)
            continue;
        /* Non-finite outputs that stable has too are the inputs' fault. */
        if (failings[i].count == non_finite_of && rate <= limit + 2 * stable_rate(look, &failings[i], &doubt))
            continue;
        snprintf(reason, size, "%s: %" PRIu64 " of %" PRIu64 " requests, rate %.4f, limit %.4f", failings[i].name,
                 failings[i].count(seen), seen->requests, rate, limit);
        return false;
    }
    if (disagrees(look, false, reason, size) || !latency_passes(look, reason, size))
        return false;
    if (rollout_judge_is_slow(look->plan, look->all)) {
        tell_compute(look, reason, size);
        return false;
    }
    return true;
}
