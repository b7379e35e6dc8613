/* One request as the access log tells it, and its line in each format. */
#ifndef WEIR_SERVER_OBSERVE_ACCESS_ENTRY_H
#define WEIR_SERVER_OBSERVE_ACCESS_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "server/observe/entry_ring.h"
#include "server/observe/labels.h"

enum {
    ACCESS_TARGET_BYTES = 256, /* of a target; the rest is cut off */
    ACCESS_ID_BYTES = 128,
    ACCESS_TRACE_BYTES = 16,
    ACCESS_MODEL_BYTES = 64,
    ACCESS_FIELD_BYTES = 128, /* of Referer and User-Agent */
    ACCESS_LINE_BYTES = 4096, /* no line is longer, whatever its bytes: it fits one atomic write to a pipe */
};

enum access_format { ACCESS_JSON, ACCESS_COMBINED };

/* What a request took, where it is known: -1 where it is not. */
enum access_time {
    ACCESS_READ,    /* from its first byte to the queue */
    ACCESS_QUEUE,   /* from there to its first batch */
    ACCESS_INPUT,   /* the last batch that it ran in: gathering rows, */
    ACCESS_COMPUTE, /* computing, */
    ACCESS_OUTPUT,  /* handing results back */
    ACCESS_WRITE,   /* from the end of that to the last byte of the answer */
    ACCESS_TIMES,
};

/* The client of a connection. */
struct access_peer {
    sa_family_t family; /* AF_INET, AF_INET6, or 0: not known */
    uint16_t port;
    uint8_t address[16]; /* in the order of the network */
};

/* Whoever knows a field fills it: the connection, or the endpoint. Texts end by their size, not by NUL. */
struct access_entry {
    struct ring_entry ring;
    const char *method;  /* NULL: no head was understood, and target is not known either */
    int64_t started_ns;  /* clock_now_ns of the first byte and */
    int64_t ended_ns;    /* of the end */
    int64_t finished_ns; /* when the engine was done with it; 0 if it was not there */
    int64_t times_ns[ACCESS_TIMES];
    uint64_t body_bytes;  /* received before the answer */
    int64_t answer_bytes; /* sent after the answer's head; below 0: not even all of that */
    uint64_t version;
    uint32_t rows, batch_rows; /* 0: not known */
    uint32_t target_bytes;     /* as sent; target may hold less */
    int16_t device;            /* that ran its last rows; valid with batch_rows */
    uint16_t code;
    uint8_t reason, route; /* enum reason, enum route */
    bool http_1_0;
    uint8_t id_size, model_size, referer_size, agent_size; /* 0: not known */
    uint16_t target_size;
    uint8_t trace_id[ACCESS_TRACE_BYTES]; /* all 0: not known */
    struct access_peer peer;
    char model[ACCESS_MODEL_BYTES];
    char target[ACCESS_TARGET_BYTES];
    char id[ACCESS_ID_BYTES];
    char referer[ACCESS_FIELD_BYTES];
    char agent[ACCESS_FIELD_BYTES];
};

/* Nothing is known. */
void access_entry_clear(struct access_entry *entry);

/* Copies what fits of text and returns its size. */
size_t access_entry_copy(char *to, size_t capacity, const char *text, size_t size);

/* What is the same for many lines. */
struct access_style {
    enum access_format format;
    const char *device_kind; /* "cpu", "cuda" */
    int64_t unix_offset_ns;  /* what to add to clock_now_ns for Unix time */
    int64_t second;          /* whose text follows */
    char second_text[40];    /* in this format; "" at first, and when the format changes */
};

/* Writes the line with its newline into out, which has room for ACCESS_LINE_BYTES, and returns its size. Sources: RFC
 * 8259; the Apache HTTP Server's mod_log_config, "combined". */
size_t access_entry_line(const struct access_entry *entry, struct access_style *style, char *out);

#endif
