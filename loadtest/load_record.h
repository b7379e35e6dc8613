/* What became of each request, one by one: for the series and the trace. */
#ifndef WEIR_LOADTEST_LOAD_RECORD_H
#define WEIR_LOADTEST_LOAD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loadtest/load_options.h"

struct load_record {
    int64_t due_ns;
    float latency_us; /* from due_ns; of a request without an answer, until it failed */
    uint16_t status;  /* 0: no answer */
    uint8_t class;
    bool good;
};

struct load_records {
    struct load_record *items;
    size_t count, room;
};

/* Appends one; returns its index. Ends the process without memory. */
size_t load_records_add(struct load_records *records, const struct load_record *record);

/* Both return NULL, or what is wrong. The series has a line for each step of options->series_ms from begin_ns on; a
 * request belongs to the step in which it was due. The trace has a line for each request, in order. */
const char *load_records_write_series(const struct load_records *records, const struct load_options *options,
                                      int64_t begin_ns);
const char *load_records_write_trace(const struct load_records *records, const struct load_options *options,
                                     int64_t begin_ns);

#endif
