#include "server/api/timing.h"

#include <stdio.h>

#include "engine/job.h"
#include "server/http/exchange.h"

bool timing_is_wanted(enum timing_mode mode, const struct request *request) {
    const struct request_field *field = mode == TIMING_ON_REQUEST ? request_find(request, "x-server-timing") : NULL;
    return mode == TIMING_ALWAYS || (field && request_field_is(field, "1"));
}

static double ms(int64_t from_ns, int64_t to_ns) {
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e6 : 0;
}

void timing_line(char line[TIMING_LINE_BYTES], const struct exchange *exchange, const struct job *job, int64_t now_ns) {
    snprintf(line, TIMING_LINE_BYTES,
             "Server-Timing: parse;dur=%.3f, queue;dur=%.3f, compute;dur=%.3f, encode;dur=%.3f\r\n",
             ms(exchange->started_ns, job->submitted_ns), ms(job->submitted_ns, job->started_ns),
             ms(job->started_ns, job->finished_ns), ms(job->finished_ns, now_ns));
}
