/* What the load generator is asked to do. */
#ifndef WEIR_LOADTEST_LOAD_OPTIONS_H
#define WEIR_LOADTEST_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct load_options {
    char host[256];
    char port[8];
    const char *path;
    const char *body_path; /* NULL: a GET without a body */
    const char *content_type;
    const char *accept;
    const char *header; /* one more head line, or NULL */
    int connections;    /* closed loop: exactly so many; open loop: at most */
    double seconds, warm_up_seconds, drain_seconds;
    double rate;        /* requests a second; 0: closed loop */
    double deadline_ms; /* 0: a 200 is good however late it comes */
    uint64_t seed;
    int watch_pid; /* 0: none */
    bool spin;
};

/* Reads the command line. Ends the process with 2 and a message when it cannot be understood, with 0 after --help. */
void load_options_parse(int argc, char **argv, struct load_options *options);

#endif
