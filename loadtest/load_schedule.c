#include "loadtest/load_schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"

static const double MAX_RATE = 1e7, MAX_COUNT = 1e9, MAX_LENGTH_S = 86400;

/* A number with a unit (us, ms, s, m), of which all is taken. */
static bool read_length(const char *text, int64_t *out_ns) {
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end > text && i < sizeof units / sizeof units[0]; i++) {
        double ns = value * units[i].ns;
        if (strcmp(end, units[i].unit) == 0 && ns > 0 && ns <= MAX_LENGTH_S * 1e9) {
            *out_ns = (int64_t)ns;
            return true;
        }
    }
    return false;
}

static const char *read_burst(struct schedule_part *part, const char *text) {
    char *end;
    double count = strtod(text, &end);
    if (end == text || !(count >= 1 && count <= MAX_COUNT) || strncmp(end, " in ", 4) != 0)
        return "a burst is `burst 2000 in 10ms`";
    if (!read_length(end + 4, &part->length_ns))
        return "a length is a number with us, ms, s or m";
    part->count = (int64_t)count;
    part->rate = (double)part->count * 1e9 / (double)part->length_ns;
    return NULL;
}

static const char *read_part(struct schedule_part *part, const char *text) {
    char *end;
    if (strncmp(text, "burst ", 6) == 0)
        return read_burst(part, text + 6);
    part->count = -1;
    part->rate = strtod(text, &end);
    if (end == text || !(part->rate >= 0 && part->rate <= MAX_RATE) || strncmp(end, "/s:", 3) != 0)
        return "a part is `1000/s:5s` or `burst 2000 in 10ms`";
    return read_length(end + 3, &part->length_ns) ? NULL : "a length is a number with us, ms, s or m";
}

const char *schedule_parse(struct schedule *schedule, const char *text) {
    char *copy = strdup(text), *rest = copy;
    const char *wrong = copy ? NULL : "no memory";
    schedule->part_count = 0;
    for (char *part; !wrong && (part = strsep(&rest, ",")) != NULL;) {
        part += strspn(part, " ");
        if (schedule->part_count == SCHEDULE_PARTS)
            wrong = "a schedule has at most 64 parts";
        else
            wrong = read_part(&schedule->parts[schedule->part_count++], part);
    }
    free(copy);
    return wrong;
}

void schedule_steady(struct schedule *schedule, double rate, int64_t length_ns) {
    schedule->parts[0] = (struct schedule_part){.rate = rate, .count = -1, .length_ns = length_ns};
    schedule->part_count = 1;
}

int64_t schedule_length_ns(const struct schedule *schedule) {
    int64_t length_ns = 0;
    for (int i = 0; i < schedule->part_count; i++)
        length_ns += schedule->parts[i].length_ns;
    return length_ns;
}

double schedule_random(struct schedule *schedule) {
    schedule->random ^= schedule->random << 13;
    schedule->random ^= schedule->random >> 7;
    schedule->random ^= schedule->random << 17;
    return ((double)(schedule->random >> 11) + 1) * 0x1p-53;
}

void schedule_start(struct schedule *schedule, int64_t begin_ns, uint64_t seed) {
    schedule->random = seed * UINT64_C(0x9E3779B97F4A7C15);
    schedule->part = 0;
    schedule->part_begin_ns = begin_ns;
    schedule->sent = 0;
    schedule->at_ns = 0;
}

/* The next moment within the present part, or beyond its end. A Poisson process has no memory: it may begin anew with
 * every part. Evenly spaced requests stand in the middle of their share of the time. */
static bool advance(struct schedule *schedule) {
    const struct schedule_part *part = &schedule->parts[schedule->part];
    double gap_ns = part->rate > 0 ? 1e9 / part->rate : INFINITY;
    if (part->count >= 0 || schedule->evenly)
        schedule->at_ns = ((double)schedule->sent + 0.5) * gap_ns;
    else
        schedule->at_ns -= gap_ns * log(schedule_random(schedule));
    schedule->sent++;
    return part->count >= 0 ? schedule->sent <= part->count : schedule->at_ns < (double)part->length_ns;
}

int64_t schedule_next(struct schedule *schedule) {
    for (; schedule->part < schedule->part_count; schedule->part++) {
        if (schedule->parts[schedule->part].rate > 0 && advance(schedule))
            return schedule->part_begin_ns + (int64_t)schedule->at_ns;
        schedule->part_begin_ns += schedule->parts[schedule->part].length_ns;
        schedule->at_ns = 0;
        schedule->sent = 0;
    }
    return INT64_MAX;
}
