#include "engine/batch/forecast.h"

#include "engine/clock.h"

/* Refusals before a trial, the time between two trials, and for how long one stands: the same job asks twice, when its
 * head has come and when it is complete. */
enum { TRIAL_REFUSALS = 8, TRIAL_MS = 1000, TRIAL_STANDS_MS = 50 };

/* Runs a batch of `rows` rows on the device that is free first; returns when it begins. */
static int64_t run(int64_t *free_ns, int devices, int64_t took_ns) {
    int first = 0;
    for (int i = 1; i < devices; i++)
        if (free_ns[i] < free_ns[first])
            first = i;
    int64_t begin_ns = free_ns[first];
    free_ns[first] += took_ns;
    return begin_ns;
}

void forecast_make(const struct forecast_state *state, uint32_t rows, struct forecast *out) {
    int64_t free_ns[FORECAST_MAX_DEVICES];
    int devices = state->device_count < FORECAST_MAX_DEVICES ? state->device_count : FORECAST_MAX_DEVICES;
    for (int i = 0; i < devices; i++)
        free_ns[i] = state->free_ns[i] > state->now_ns ? state->free_ns[i] : state->now_ns;

    int64_t full_ns = cost_model_predict(state->costs, state->batch_rows);
    uint32_t ahead = state->queued_rows / state->batch_rows, mixed = state->queued_rows % state->batch_rows;
    if (devices == 1)
        free_ns[0] += (int64_t)ahead * full_ns;
    else
        for (uint32_t i = 0; i < ahead; i++)
            run(free_ns, devices, full_ns);

    /* Its rows share the first batch with those just ahead of them; a long job goes on in batches of its own. */
    uint64_t left = (uint64_t)mixed + rows;
    int64_t begin_ns = INT64_MAX, end_ns = 0;
    while (left > 0) {
        uint32_t now = left < state->batch_rows ? (uint32_t)left : state->batch_rows;
        left -= now;
        int64_t took_ns = full_ns;
        if (left == 0 && now < state->batch_rows) {
            int64_t earliest_ns = free_ns[0];
            for (int i = 1; i < devices; i++)
                earliest_ns = free_ns[i] < earliest_ns ? free_ns[i] : earliest_ns;
            double more = state->arrival_rate * (double)(earliest_ns - state->now_ns);
            double filled = now + more;
            took_ns =
                cost_model_predict(state->costs, filled < state->batch_rows ? (uint32_t)filled : state->batch_rows);
        }
        int64_t started_ns = run(free_ns, devices, took_ns);
        begin_ns = started_ns < begin_ns ? started_ns : begin_ns;
        end_ns = started_ns + took_ns > end_ns ? started_ns + took_ns : end_ns;
    }
    out->wait_ns = begin_ns - state->now_ns;
    out->done_ns = end_ns;
}

bool forecast_try(struct forecast_trials *trials, bool known, int64_t now_ns) {
    int64_t since_ns = now_ns - trials->tried_ns;
    if (!known || since_ns < TRIAL_STANDS_MS * CLOCK_NS_PER_MS)
        return true;
    if (trials->refused < TRIAL_REFUSALS || since_ns < (int64_t)TRIAL_MS * CLOCK_NS_PER_MS) {
        trials->refused++;
        return false;
    }
    *trials = (struct forecast_trials){.tried_ns = now_ns};
    return true;
}
