/* One request as its trace tells it, until it is written for the collector (otlp.h). */
#ifndef WEIR_SERVER_OBSERVE_TRACE_ENTRY_H
#define WEIR_SERVER_OBSERVE_TRACE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "server/observe/entry_ring.h"

enum { TRACE_ID_BYTES = 16, TRACE_PATH_BYTES = 128, TRACE_REQUEST_ID_BYTES = 128, TRACE_MODEL_BYTES = 64 };

/* Whoever knows a field fills it: the connection, or the endpoint. Texts end by their size, not by NUL; what is longer
 * is cut. Times are those of clock_now_ns; 0: it did not happen, or nobody knows. */
struct trace_entry {
    struct ring_entry ring;
    uint8_t trace_id[TRACE_ID_BYTES];
    uint64_t span, parent; /* parent 0: the trace begins here */
    const char *method;    /* a text that stays */
    int64_t started_ns, ended_ns;
    int64_t submitted_ns; /* into the queue */
    int64_t taken_ns;     /* into its first batch */
    int64_t finished_ns;  /* by the engine */
    int64_t input_ns, infer_ns,
        output_ns;    /* what the last batch that it ran in took: gathering, computing, handing back */
    uint64_t batch;   /* which of the process's batches that was; 0: none */
    uint64_t version; /* 0: no model */
    uint32_t rows, batch_rows;
    int16_t device;        /* that ran it */
    uint16_t code;         /* of the answer; 499: the client was gone, there was none */
    uint8_t reason, route; /* enum reason, enum route */
    bool http_1_0;
    uint8_t model_size, path_size, id_size;
    char model[TRACE_MODEL_BYTES];
    char path[TRACE_PATH_BYTES];
    char id[TRACE_REQUEST_ID_BYTES]; /* X-Request-Id */
};

#endif
