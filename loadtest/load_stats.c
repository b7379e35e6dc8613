#include "loadtest/load_stats.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"

bool load_stats_measures(const struct load_stats *stats, int64_t due_ns) {
    return due_ns >= stats->begin_ns && due_ns < stats->end_ns;
}

enum load_outcome load_outcome_of(int status) {
    if (status >= 200 && status <= 299)
        return LOAD_OUTCOME_OK;
    if (status == 503 || status == 429)
        return LOAD_OUTCOME_REFUSED;
    return status == 504 ? LOAD_OUTCOME_LATE : LOAD_OUTCOME_OTHER;
}

static void count_reason(struct load_tally *tally, const struct load_answer *answer) {
    const char *text;
    size_t size = load_answer_reason(answer, &text);
    int i = 0;
    if (size == 0 || size >= LOAD_REASON_BYTES || memchr(text, '\\', size))
        return;
    while (i < tally->reason_count &&
           (tally->reasons[i].status != answer->status || strncmp(tally->reasons[i].text, text, size) != 0 ||
            tally->reasons[i].text[size]))
        i++;
    if (i == LOAD_REASONS)
        return;
    if (i == tally->reason_count) {
        tally->reason_count++;
        tally->reasons[i] = (struct load_reason){.status = answer->status};
        memcpy(tally->reasons[i].text, text, size);
    }
    tally->reasons[i].count++;
}

bool load_stats_answer(struct load_stats *stats, const struct load_event *event, const struct load_answer *answer,
                       double deadline_ms) {
    struct load_tally *tally = &stats->tallies[event->class];
    int64_t took_ns = event->now_ns - event->due_ns;
    bool in_time = deadline_ms <= 0 || (double)took_ns <= deadline_ms * CLOCK_NS_PER_MS;
    if (stats->window_begin_ns && !stats->window_end_ns)
        stats->window_answers++;
    if (!load_stats_measures(stats, event->due_ns))
        return false;
    enum load_outcome outcome = load_outcome_of(answer->status);
    tally->answered++;
    tally->codes[answer->status]++;
    tally->good += answer->status == 200 && in_time;
    tally->ok_late += answer->status == 200 && !in_time;
    histogram_add(&tally->outcomes[outcome], took_ns);
    if (outcome == LOAD_OUTCOME_REFUSED)
        histogram_add(&tally->refused_from_send, event->now_ns - event->sent_ns);
    if (outcome != LOAD_OUTCOME_OK)
        count_reason(tally, answer);
    return answer->status == 200 && in_time;
}

void load_stats_error(struct load_stats *stats, enum load_error error, const struct load_event *event) {
    if (load_stats_measures(stats, event->due_ns))
        stats->tallies[event->class].errors[error]++;
    else
        stats->errors_outside++;
}

static int64_t own_cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * CLOCK_NS_PER_S + time.tv_nsec;
}

void load_stats_open_window(struct load_stats *stats, int watch_pid) {
    watch_read(&stats->watched, watch_pid);
    stats->own_cpu_ns = own_cpu_ns();
    stats->window_begin_ns = clock_now_ns();
}

void load_stats_close_window(struct load_stats *stats, int watch_pid) {
    struct watch begin = stats->watched, end;
    watch_read(&end, watch_pid);
    watch_subtract(&begin, &end, &stats->watched);
    stats->own_cpu_ns = own_cpu_ns() - stats->own_cpu_ns;
    stats->window_end_ns = clock_now_ns();
}
