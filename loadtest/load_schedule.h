/* When requests are due. A schedule is a list of parts, one after the other: "1000/s:5s,4000/s:3s,burst 2000 in
 * 10ms,0/s:1s". A rate gives Poisson arrivals or evenly spaced ones, a burst evenly spaced ones. */
#ifndef WEIR_LOADTEST_LOAD_SCHEDULE_H
#define WEIR_LOADTEST_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum { SCHEDULE_PARTS = 64 };

struct schedule_part {
    double rate;   /* requests a second */
    int64_t count; /* of a burst; -1: as many as the rate gives */
    int64_t length_ns;
};

struct schedule {
    struct schedule_part parts[SCHEDULE_PARTS];
    int part_count;
    bool evenly; /* not Poisson */
    uint64_t random;

    /* where it is */
    int part;
    int64_t part_begin_ns, sent;
    double at_ns; /* within the part */
};

/* Returns NULL, or what is wrong with the text. */
const char *schedule_parse(struct schedule *schedule, const char *text);

/* One part. */
void schedule_steady(struct schedule *schedule, double rate, int64_t length_ns);

int64_t schedule_length_ns(const struct schedule *schedule);

/* Must come before schedule_next. */
void schedule_start(struct schedule *schedule, int64_t begin_ns, uint64_t seed);

/* When the next request is due; INT64_MAX once there are no more. */
int64_t schedule_next(struct schedule *schedule);

/* A number from above 0 to 1, of the same seed. */
double schedule_random(struct schedule *schedule);

#endif
