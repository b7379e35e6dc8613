#include "engine/model/rollout_judge.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/model/traffic.h"

/* A stream of requests, some of which the candidate answers. */
struct stream {
    uint64_t random;
    double weight;
    double errors, non_finite, stable_errors; /* rates */
    double compute_ms, slower;                /* candidate's time on the device to stable's */
    double noise;                             /* sigma of the lognormal millisecond that is added */
    double agreement;
    bool compares;
    int burst; /* of each 250 requests so many in a row wait 20 ms, whoever answers them */
};

static const struct stream SAME = {
    .weight = 0.05, .compute_ms = 2, .slower = 1, .noise = 1, .agreement = 1, .compares = true};

static struct rollout rollout;
static struct outcomes stable, candidate;
static struct rollout_evidence evidence;
static struct rollout_decision decision;
static uint64_t decisions, agreements, new_non_finite;

/* xorshift64*. Source: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" (2016). */
static double uniform(struct stream *stream) {
    stream->random ^= stream->random >> 12;
    stream->random ^= stream->random << 25;
    stream->random ^= stream->random >> 27;
    return (double)(stream->random * UINT64_C(2685821657736338717) >> 11) * 0x1p-53 + 0x1p-54;
}

static int64_t latency_ns(struct stream *stream, double compute_ms) {
    double normal = sqrt(-2 * log(uniform(stream))) * cos(2 * M_PI * uniform(stream));
    return (int64_t)((compute_ms + exp(stream->noise * normal)) * 1e6);
}

static void answer(struct stream *stream, bool is_candidate, double wait_ms) {
    struct outcomes *outcomes = is_candidate ? &candidate : &stable;
    double compute_ms = stream->compute_ms * (is_candidate ? stream->slower : 1) + wait_ms;
    unsigned flags = OUTCOME_GOOD;
    if (uniform(stream) < (is_candidate ? stream->errors : stream->stable_errors))
        flags = OUTCOME_ERROR;
    bool is_non_finite = is_candidate && uniform(stream) < stream->non_finite;
    if (is_non_finite)
        flags = OUTCOME_ERROR | OUTCOME_NON_FINITE;
    outcomes_add(outcomes, flags, latency_ns(stream, compute_ms));
    if (is_candidate && stream->compares) {
        evidence.comparison.requests++;
        decisions++;
        agreements += uniform(stream) < stream->agreement;
        new_non_finite += is_non_finite;
    }
}

/* Runs a canary at 1,000 requests a second with four ticks a second, until the candidate is rolled back or has answered
 * `most`. Returns how many it answered; *took_s is the time. */
static uint64_t run(struct stream stream, uint64_t seed, uint64_t most, double *took_s) {
    static struct rollout_plan plan;
    _Atomic uint64_t turn = 0;
    int64_t now_ns = 0;
    rollout_plan_init(&plan);
    plan.candidate = 2;
    plan.step_count = 1;
    plan.steps[0] = (struct rollout_step){(uint32_t)(stream.weight * 1e6), 1000000 * CLOCK_NS_PER_S, 50};
    stream.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    outcomes_reset(&stable);
    outcomes_reset(&candidate);
    memset(&evidence, 0, sizeof evidence);
    decisions = agreements = new_non_finite = 0;
    rollout_init(&rollout);
    cr_assert_eq(rollout_start(&rollout, &plan, 1, 0, NULL), WEIR_OK);
    while (rollout_is_on(&rollout) && evidence.candidate.requests < most) {
        for (int i = 0; i < 250; i++)
            answer(&stream, traffic_take(&turn, plan.steps[0].weight_ppm), i < stream.burst ? 20 : 0);
        now_ns += CLOCK_NS_PER_S / 4;
        outcomes_copy(&stable, &evidence.stable);
        outcomes_copy(&candidate, &evidence.candidate);
        evidence.comparison.all.decisions = decisions;
        evidence.comparison.all.agreements = agreements;
        evidence.comparison.all.new_non_finite = new_non_finite;
        evidence.comparison.agreement = decisions > 0 ? (double)agreements / (double)decisions : -1;
        /* A cost model of late is off by a few hundredths. */
        evidence.stable_compute_ns = (int64_t)(stream.compute_ms * 1e6 * (0.95 + 0.1 * uniform(&stream)));
        evidence.candidate_compute_ns =
            (int64_t)(stream.compute_ms * stream.slower * 1e6 * (0.95 + 0.1 * uniform(&stream)));
        rollout_tick(&rollout, now_ns, &evidence, &decision);
    }
    if (took_s)
        *took_s = (double)now_ns / 1e9;
    return evidence.candidate.requests;
}

/* How many more or fewer seeds: WEIR_SEEDS of the environment is a factor. */
static uint64_t seeds(uint64_t usual) {
    const char *factor = getenv("WEIR_SEEDS");
    return factor ? (uint64_t)((double)usual * strtod(factor, NULL)) : usual;
}

static void expect_quiet(struct stream stream, uint64_t count, uint64_t requests) {
    uint64_t alarms = 0;
    for (uint64_t seed = 1; seed <= seeds(count); seed++) {
        run(stream, seed, requests, NULL);
        alarms += !rollout_is_on(&rollout);
    }
    cr_log_info("%llu false alarms in %llu rollouts of %llu requests\n", (unsigned long long)alarms,
                (unsigned long long)seeds(count), (unsigned long long)requests);
    cr_assert(alarms * 1000 <= seeds(count), "%llu false alarms in %llu, the last: %s", (unsigned long long)alarms,
              (unsigned long long)seeds(count), decision.text);
}

/* Within 200 requests or 5 seconds; `misses` of a thousand may be later. */
static void expect_found(struct stream stream, const char *words, uint64_t misses) {
    enum { MOST = 2000 };
    uint64_t late = 0, count = seeds(200), worst = 0, sum = 0;
    for (uint64_t seed = 1; seed <= count; seed++) {
        double took_s;
        uint64_t requests = run(stream, seed, MOST, &took_s);
        cr_assert_not(rollout_is_on(&rollout), "seed %llu", (unsigned long long)seed);
        cr_assert(strstr(decision.text, words), "%s", decision.text);
        late += requests > 200 && took_s > 5;
        worst = requests > worst ? requests : worst;
        sum += requests;
    }
    cr_log_info("%s: after %.1f requests, at most %llu; late %llu of %llu\n", words, (double)sum / (double)count,
                (unsigned long long)worst, (unsigned long long)late, (unsigned long long)count);
    cr_assert(late * 1000 <= misses * count, "%s: late %llu of %llu", words, (unsigned long long)late,
              (unsigned long long)count);
}

Test(rollout_judge, the_same_model_raises_no_alarm) {
    expect_quiet(SAME, 300, 1500);
}

Test(rollout_judge, the_same_model_raises_no_alarm_at_half_the_traffic) {
    struct stream stream = SAME;
    stream.weight = 0.5;
    expect_quiet(stream, 100, 20000);
}

Test(rollout_judge, the_same_model_raises_no_alarm_at_most_of_the_traffic) {
    struct stream stream = SAME;
    stream.weight = 0.95;
    expect_quiet(stream, 100, 20000);
}

Test(rollout_judge, bursts_that_both_wait_in_are_no_alarm) {
    static const int BURSTS[] = {1, 2, 3, 5, 25, 125};
    struct stream stream = SAME;
    for (size_t i = 0; i < sizeof BURSTS / sizeof *BURSTS; i++) {
        stream.burst = BURSTS[i];
        expect_quiet(stream, 20, 1500);
    }
}

Test(rollout_judge, errors_that_stable_has_too_are_no_alarm) {
    struct stream stream = SAME;
    stream.errors = stream.stable_errors = 0.03;
    expect_quiet(stream, 100, 1500);
}

Test(rollout_judge, nan_outputs_are_found) {
    struct stream stream = SAME;
    stream.non_finite = 1;
    expect_found(stream, "non-finite outputs", 0);
    stream.compares = false;
    expect_found(stream, "non-finite outputs", 0);
}

Test(rollout_judge, five_percent_of_errors_are_found) {
    struct stream stream = SAME;
    stream.errors = 0.05;
    expect_found(stream, "errors", 40);
}

Test(rollout_judge, a_model_twice_as_slow_is_found) {
    struct stream stream = SAME;
    stream.slower = 2;
    expect_found(stream, "ti", 0); /* latency or compute time */
    stream.weight = 0.5;
    expect_found(stream, "ti", 0);
    stream.weight = 1;
    expect_found(stream, "compute time", 0);
}

Test(rollout_judge, wrong_weights_are_found) {
    struct stream stream = SAME;
    stream.agreement = 0.1;
    expect_found(stream, "agreement", 0);
    stream.agreement = 0.6;
    expect_found(stream, "agreement", 0);
}

/* What follows are single looks. */
static struct rollout_plan plan;
static struct rollout_window window;
static char reason[ROLLOUT_TEXT];

static void look_at(uint64_t stable_requests, uint64_t candidate_requests) {
    memset(&evidence, 0, sizeof evidence);
    memset(&window, 0, sizeof window);
    rollout_plan_init(&plan);
    plan.candidate = 2;
    window.stable.requests = evidence.stable.requests = stable_requests;
    window.candidate.requests = evidence.candidate.requests = candidate_requests;
    evidence.comparison.agreement = -1;
}

static bool fails(void) {
    struct rollout_look look = {.plan = &plan, .recent = &window, .all = &evidence, .is_early = true};
    return rollout_judge_fails(&look, reason, sizeof reason);
}

static bool passes(void) {
    struct rollout_look look = {.plan = &plan, .recent = &window, .all = &evidence};
    return rollout_judge_passes(&look, reason, sizeof reason);
}

static void expect_reason(const char *words) {
    cr_assert(strstr(reason, words), "%s", reason);
}

Test(rollout_judge, one_error_is_no_reason) {
    look_at(100, 5);
    window.candidate.errors = 1;
    cr_assert_not(fails());
    cr_assert_not(passes(), "but no reason for more traffic either");
    expect_reason("errors: 1 of 5 requests, rate 0.2000, limit 0.0200");
    window.candidate.errors = 2;
    cr_assert(fails());
}

Test(rollout_judge, late_requests_count_like_errors) {
    look_at(1000, 100);
    window.candidate.late = 20;
    cr_assert(fails());
    expect_reason("late: 20 of 100");
    window.stable.late = 200;
    cr_assert_not(fails(), "stable is late as often");
    window.stable.late = 0;
    plan.kind = ROLLOUT_SHADOW;
    cr_assert_not(fails(), "a shadow's copies run when there is room");
}

Test(rollout_judge, non_finite_outputs_that_stable_has_too_are_the_inputs) {
    look_at(2000, 100);
    window.candidate.non_finite = 10;
    window.stable.non_finite = 200;
    cr_assert_not(fails());
    cr_assert(passes());
    window.stable.non_finite = 0;
    cr_assert(fails());
    plan.checks.max_non_finite = ROLLOUT_OFF;
    cr_assert_not(fails());
}

Test(rollout_judge, drift_is_judged_when_asked_for) {
    look_at(100, 100);
    evidence.comparison.requests = 10;
    evidence.comparison.all.max_relative = 1e-3;
    cr_assert_not(fails());
    plan.checks.max_drift = 5e-4;
    cr_assert(fails());
    expect_reason("drift: 0.001 of the row's largest magnitude, in 10 requests compared, limit 0.0005");
    evidence.comparison.all.max_relative = 0;
    cr_assert_not(fails());
}

Test(rollout_judge, outputs_of_other_sizes_are_a_reason) {
    look_at(100, 100);
    evidence.comparison.requests = 3;
    evidence.comparison.misfits = 1;
    cr_assert(fails());
    expect_reason("1 of 3 requests compared");
}

Test(rollout_judge, many_rows_of_few_requests_do_not_settle_the_agreement) {
    look_at(100, 100);
    evidence.comparison.requests = 4;
    evidence.comparison.all.decisions = 4000;
    evidence.comparison.all.agreements = 2000;
    evidence.comparison.agreement = 0.5;
    cr_assert_not(fails());
    evidence.comparison.requests = 10;
    cr_assert(fails());
    expect_reason("agreement: 0.5000 of 4000 argmaxes and labels in 10 requests, limit 0.9000");
    plan.checks.min_agreement = 0.4;
    cr_assert_not(fails());
}

Test(rollout_judge, a_few_microseconds_make_nobody_slow) {
    evidence.stable_compute_ns = 1000;
    evidence.candidate_compute_ns = 20999;
    cr_assert_not(rollout_judge_is_slow(&plan, &evidence));
    evidence.candidate_compute_ns = 21000;
    cr_assert(rollout_judge_is_slow(&plan, &evidence));
}

Test(rollout_judge, compute_times_that_are_not_known_are_not_compared) {
    look_at(100, 100);
    cr_assert_not(rollout_judge_is_slow(&plan, &evidence));
    evidence.candidate_compute_ns = 5000000;
    cr_assert_not(rollout_judge_is_slow(&plan, &evidence));
    evidence.stable_compute_ns = 3000000;
    cr_assert(rollout_judge_is_slow(&plan, &evidence));
    cr_assert_not(passes());
    expect_reason("compute time: 5.000 ms after 100 requests, 1.67 times stable's 3.000 ms");
    plan.checks.max_compute_ratio = 2;
    cr_assert_not(rollout_judge_is_slow(&plan, &evidence));
    plan.checks.max_compute_ratio = ROLLOUT_OFF;
    cr_assert_not(rollout_judge_is_slow(&plan, &evidence));
}

Test(rollout_judge, a_candidate_that_is_as_quick_side_by_side_is_not_slow) {
    look_at(100, 100);
    evidence.stable_compute_ns = 3000000;
    evidence.candidate_compute_ns = 5000000;
    evidence.paired_ratio = 1.5;
    cr_assert_not(rollout_judge_is_slow(&plan, &evidence));
    cr_assert(passes());
    evidence.paired_ratio = 1.62;
    cr_assert(rollout_judge_is_slow(&plan, &evidence));
    cr_assert_not(passes());
    expect_reason("stable's 3.000 ms for the same rows (1.62 side by side), limit 1.50");
}

Test(rollout_judge, the_median_is_judged_until_there_are_enough_for_the_p99) {
    look_at(100, 40);
    window.stable.timed = window.stable.buckets[300] = 100;
    window.candidate.timed = window.candidate.buckets[340] = 40;
    cr_assert(fails());
    expect_reason("median latency: ");
    expect_reason("over 40 requests");
    window.stable.timed = window.stable.buckets[300] = 1000;
    window.candidate.timed = window.candidate.buckets[300] = 400;
    window.candidate.buckets[340] = 40;
    window.candidate.timed += 40;
    cr_assert(fails());
    expect_reason("p99 latency: ");
    plan.kind = ROLLOUT_SHADOW;
    cr_assert_not(fails(), "nobody waits for a shadow");
}
