/* The bytes of a class's requests, and numbers in them that the answer must bring back.
 *
 * Where a body holds the eight letters ######## (JSON) or the four letters #### (octet-stream), each request gets
 * numbers of its own there, counting up, all whole and exact in float32. The model is expected to pass them on: the
 * answer's rows must begin with these numbers, in order, and there must be as many rows as numbers. */
#ifndef WEIR_LOADTEST_LOAD_REQUEST_H
#define WEIR_LOADTEST_LOAD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_class; /* load_options.h */
struct load_options;

struct load_request {
    char *bytes;
    size_t size;
    size_t head_size;
    bool binary;
    size_t *places; /* where the numbers stand */
    size_t place_count;
};

/* Returns NULL, or what is wrong. Owner: the caller, until load_request_release. */
const char *load_request_build(const struct load_options *options, const struct load_class *class,
                               struct load_request *out);
void load_request_release(struct load_request *request);

/* Writes the numbers first, first + 1, ... into a copy of the request's bytes. */
void load_request_number(const struct load_request *request, char *copy, uint64_t first);

/* True if the body of an answer is what the numbers from `first` on should give. */
bool load_request_matches(const struct load_request *request, const char *body, size_t size, uint64_t first);

#endif
