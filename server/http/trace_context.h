/* A request's place in a distributed trace: the header traceparent. Source: W3C Trace Context, section 3.2. */
#ifndef WEIR_SERVER_HTTP_TRACE_CONTEXT_H
#define WEIR_SERVER_HTTP_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_CONTEXT_ID_BYTES = 16, TRACE_CONTEXT_TEXT = 55 };

struct trace_context {
    uint8_t trace_id[TRACE_CONTEXT_ID_BYTES]; /* all 0: there is none */
    uint64_t span;                            /* this server's part of the trace */
    uint64_t parent;                          /* the caller's; 0: the trace begins here */
    uint8_t flags;                            /* bit 0: the caller records it */
};

bool trace_context_is_there(const struct trace_context *context);

/* Does the caller, or this server, record the trace? */
bool trace_context_is_sampled(const struct trace_context *context);

/* Reads the header's value; one that is not valid leaves no trace, as the source asks. span: that of this server, not
 * 0. */
void trace_context_read(struct trace_context *context, const char *text, size_t size, uint64_t span);

/* A trace that begins here and is recorded, from numbers that nobody else is likely to have; none is 0. */
void trace_context_begin(struct trace_context *context, uint64_t high, uint64_t low, uint64_t span);

/* Writes the header's value, TRACE_CONTEXT_TEXT characters without an end, and returns what comes after it. */
char *trace_context_write(const struct trace_context *context, char *to);

#endif
