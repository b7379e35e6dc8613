/* Clients that misbehave, for the bookkeeping: every request whose head the server has surely read must be in exactly
 * one of its counts. Each connection plays one script after the other, chosen at random. Where a script ends with a
 * reset, it first waits for the server's 100 Continue or for an answer, since a reset may destroy what the server has
 * not read yet; a close without reset destroys nothing. */
#ifndef WEIR_LOADTEST_ABUSE_H
#define WEIR_LOADTEST_ABUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "loadtest/load_answer.h"
#include "loadtest/load_options.h"
#include "loadtest/load_request.h"

enum { ABUSE_SCRIPTS = 17, STEPS = 8 };

enum step {
    END,
    HEAD_HALF,   /* the first half of the head */
    HEAD,        /* the head, or the rest of it */
    BODY_HALF,   /* half of the body */
    BODY,        /* the body, or the rest of it */
    TWICE,       /* the whole request twice more, in the same write as what follows */
    INTERIM,     /* wait for 100 Continue */
    ANSWER,      /* wait for the answer and read it */
    ANSWER_SLOW, /* the same, 2 KiB every 2 ms */
    ANSWER_PART, /* wait for its first bytes */
    PAUSE,
    SHUT,  /* no more is sent */
    CLOSE, /* both directions, orderly */
    RESET,
};

enum request_kind { GOOD, EXPECT, BIG, BROKEN, NARROW, HURRIED, REQUEST_KINDS };

struct script {
    const char *name;
    enum request_kind request;
    int weight;
    enum step steps[STEPS];
};

struct conn {
    int fd;
    const struct script *script;
    const enum step *step;
    bool connecting;
    int copies;  /* of the request that were sent before it */
    int owed;    /* requests whose head is sent and that have no answer yet */
    size_t sent; /* bytes of the request */
    char *bytes;
    uint64_t first_number;
    int64_t wake_ns; /* 0: only by an event */
    int64_t began_ns;
    struct load_answer answer;
};

struct abuse {
    struct load_options options;
    struct load_request requests[REQUEST_KINDS];
    struct sockaddr_storage address;
    socklen_t address_size;
    const char *body_path, *big_path;
    const struct script *only;
    uint64_t limit, begun, random, next_number;
    int64_t end_ns;
    int epoll, active;
    struct conn *conns;

    uint64_t played[ABUSE_SCRIPTS];
    uint64_t heads;     /* requests whose head the server has surely read */
    uint64_t abandoned; /* of these, those whose answer nobody waited for */
    uint64_t codes[600];
    uint64_t unheard; /* scripts that wait for an answer, and the connection ended without one */
    uint64_t stuck, malformed, numbers_right, numbers_wrong;
};

extern const struct script abuse_scripts[ABUSE_SCRIPTS];

/* Plays until the limit is reached and the last scripts have ended. */
void abuse_run(struct abuse *abuse);

#endif
