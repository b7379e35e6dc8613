/* Traces as a collector reads them: OTLP in its JSON form. Sources: opentelemetry-proto, "JSON Protobuf Encoding" (OTLP
 * 1.x: ids in hexadecimal, 64-bit integers as decimal strings, enumerations as numbers) and trace.proto;
 * OpenTelemetry's semantic conventions for HTTP server spans. */
#ifndef WEIR_SERVER_OBSERVE_OTLP_H
#define WEIR_SERVER_OBSERVE_OTLP_H

#include <stdint.h>

#include "server/bytes.h"
#include "server/observe/trace_entry.h"

enum {
    OTLP_MOST_LINKS = 32, /* of one span; further ones are counted in it */
    OTLP_EARLIER = 256,
    OTLP_INSTANCE_BYTES = 37,
};

/* A request's span, as links name it. */
struct otlp_place {
    uint8_t trace_id[TRACE_ID_BYTES];
    uint64_t span, batch;
};

/* What is the same for many requests. */
struct otlp_source {
    const char *service;                     /* service.name */
    char instance[OTLP_INSTANCE_BYTES];      /* service.instance.id, a UUID (RFC 9562, version 4) */
    const char *device_kind;                 /* "cpu", "cuda"; NULL: not known */
    int64_t unix_offset_ns;                  /* what to add to clock_now_ns for Unix time */
    uint64_t random;                         /* for the ids of inner spans */
    struct otlp_place earlier[OTLP_EARLIER]; /* requests written before, for links from those of the same batch */
    uint32_t earlier_count;                  /* in all */
};

/* Makes source->instance and the source of ids from a number that nobody else is likely to have. */
void otlp_name_instance(struct otlp_source *source, uint64_t random);

/* Appends the body of an ExportTraceServiceRequest with the spans of count requests: for each its own span (SERVER) and
 * within it "queue", "batch" and, within that, "compute", as far as it came there. A batch that served several of the
 * requests that are traced is a span in each of their traces, with links to the spans of the others. */
void otlp_write(struct otlp_source *source, const struct trace_entry *entries, uint32_t count, struct bytes *out);

/* Of a collector's answer: how many spans it did not take, although it answered 200; 0: it took them all. */
uint64_t otlp_rejected_spans(const char *body);

#endif
