/* One event loop and what belongs to it: its connections, their deadlines, its mailbox. One thread runs it. */
#ifndef WEIR_SERVER_HTTP_LOOP_H
#define WEIR_SERVER_HTTP_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"
#include "server/bytes.h"
#include "server/http/deadlines.h"
#include "server/http/framing.h"
#include "server/http/mailbox.h"

struct access_lane;
struct conn;
struct event;
struct event_base;
struct metrics_shard;
struct trace_lane;

enum { LOOP_READ_BYTES = 128 * 1024 };

/* Limits of the connections; each loop has its own copy, changed only on its thread. */
struct loop_options {
    int64_t head_timeout_ns;  /* from the first byte of a head to its end */
    int64_t body_timeout_ns;  /* from the end of the head to the end of the body */
    int64_t write_timeout_ns; /* from the first byte of an answer to its last */
    int64_t idle_timeout_ns;  /* between two requests */
    struct framing_limits framing;
};

struct loop {
    struct event_base *base;
    struct event *mailbox_event;
    struct event *timer;
    int64_t timer_ns;            /* what the timer is set to; DEADLINE_NEVER if it is not */
    int64_t now_ns;              /* read once a turn, and again by loop_now after long work */
    int64_t turn_ns;             /* when the turn's first event was handled; 0 between turns */
    int64_t arrival_ns;          /* the earliest that what this turn reads can have arrived */
    int64_t ended_ns, length_ns; /* of the turn before */
    int64_t breath_ns;           /* when loop_breathe last did something */
    struct deadlines deadlines;
    struct mailbox mailbox;
    struct conn *conns; /* all open connections */
    uint32_t conn_count;
    struct conn *paced, *paced_last; /* those with work left for the next turn, in order */
    struct loop_options options;
    uint64_t random;      /* of loop_random */
    bool draining;        /* every answer says Connection: close */
    bool finishing;       /* connections that say nothing soon are closed */
    struct bytes scratch; /* for an answer's body while it is written */
    char *read_bytes;     /* scratch of LOOP_READ_BYTES: what one read brought */
    /* Runs at the end of each turn, after all its events. */
    void (*end_of_turn)(struct loop *loop, void *context);
    void *end_of_turn_context;
    struct metrics_shard *metrics;
    struct access_lane *access; /* NULL: no access log is kept */
    struct trace_lane *traces;  /* NULL: there are no traces */
    int64_t date_ns;            /* when date_text was made */
    char date_text[40];
    int index;
    bool stop;
    bool started;
    pthread_t thread;
};

/* Errors: NO_MEMORY, IO. Owner: the caller, by loop_close once the loop has stopped. */
enum weir_status loop_open(struct loop *loop, int index, struct weir_error *err) WEIR_CHECKED;
void loop_close(struct loop *loop);

/* Starts the loop's thread. */
enum weir_status loop_start(struct loop *loop, struct weir_error *err) WEIR_CHECKED;

/* Runs until loop_stop. thread: the loop's. */
void loop_run(struct loop *loop);

/* thread: the loop's (from a mail or an event). */
void loop_stop(struct loop *loop);

/* Reads the clock anew into now_ns. */
int64_t loop_now(struct loop *loop);

/* A number that is not 0 and that nobody else is likely to have: SplitMix64. */
uint64_t loop_random(struct loop *loop);

/* A connection's event begins. */
void loop_event(struct loop *loop);

/* After a connection's event: in a long turn, with many requests, results that are back and jobs that were submitted do
 * not wait for its end. May close any connection. */
void loop_breathe(struct loop *loop);

/* Sets a deadline, and the timer with it. */
void loop_set_deadline(struct loop *loop, struct deadline *deadline, int64_t at_ns);

/* The value of a Date header, such as "Sun, 06 Nov 1994 08:49:37 GMT"; made once a second. */
const char *loop_date(struct loop *loop);

#endif
