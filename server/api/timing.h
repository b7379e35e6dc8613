/* Server-Timing: what an answer took, stage by stage. Source: W3C Server Timing. */
#ifndef WEIR_SERVER_API_TIMING_H
#define WEIR_SERVER_API_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exchange;
struct job;
struct request;

/* Who gets it: nobody, who asks by the header X-Server-Timing: 1, or everybody. */
enum timing_mode { TIMING_OFF, TIMING_ON_REQUEST, TIMING_ALWAYS };

bool timing_is_wanted(enum timing_mode mode, const struct request *request);

enum { TIMING_LINE_BYTES = 160 };

/* Writes the header's line: parse, from the request's first byte to the queue; queue, to its first batch; compute, to
 * its last batch's end; encode, from then to now_ns. All in milliseconds. */
void timing_line(char line[TIMING_LINE_BYTES], const struct exchange *exchange, const struct job *job, int64_t now_ns);

#endif
