/* What the load generator is asked to do. */
#ifndef WEIR_LOADTEST_LOAD_OPTIONS_H
#define WEIR_LOADTEST_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "loadtest/load_schedule.h"

enum { LOAD_CLASSES = 8, LOAD_CLASS_NAME_BYTES = 32 };

/* Requests of one kind. */
struct load_class {
    char name[LOAD_CLASS_NAME_BYTES];
    double share;         /* of all requests, in proportion to the others' */
    double deadline_ms;   /* a 200 that takes longer is not good; 0: none is too late */
    int timeout_ms;       /* X-Request-Timeout-Ms; 0: not sent */
    const char *priority; /* X-Priority, or NULL */
    const char *path;
    const char *body_path; /* NULL: a GET without a body */
    const char *content_type;
    const char *accept;
    const char *header; /* one more head line, or NULL */
};

struct load_options {
    char host[256];
    char port[8];
    struct load_class classes[LOAD_CLASSES];
    int class_count;
    int connections; /* closed loop: exactly so many; open loop: at most */
    double seconds, warm_up_seconds, drain_seconds;
    double rate; /* of a steady open loop */
    bool open;   /* requests are sent when `schedule` says so; else a closed loop */
    struct schedule schedule;
    double give_up_ms; /* a client that waited so long closes its connection; 0: clients wait */
    uint64_t seed;
    int watch_pid; /* 0: none */
    bool spin;
    const char *percentiles_path, *series_path, *trace_path; /* or NULL */
    double series_ms;
};

/* Reads the command line. Ends the process with 2 and a message when it cannot be understood, with 0 after --help. */
void load_options_parse(int argc, char **argv, struct load_options *options);

#endif
