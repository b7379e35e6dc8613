/* One tensor, read token by token from the JSON arrays that hold its rows: nested strictly, every element of the spec's
 * type. A free dimension gets its size from the first array that ends there; all later ones must agree. */
#ifndef WEIR_SERVER_CODEC_JSON_TENSOR_H
#define WEIR_SERVER_CODEC_JSON_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/job.h"
#include "engine/tensor.h"
#include "server/codec/json_reader.h"
#include "server/codec/place.h"

struct json_tensor {
    const struct tensor_spec *spec;
    int64_t *free_sizes; /* of the free dimensions, by all tensors of the body; 0: not known yet */
    bool has_rows;       /* a tensor without is read as one row */
    size_t max_rows;
    struct tensor_shape row; /* negative where the spec's is free and the size not known */
    size_t element_bytes;
    int level;                      /* of the innermost open array; 0: between rows */
    size_t counts[PLACE_MAX_DEPTH]; /* finished elements of the open array of each level; counts[0] is the rows */
    int skip_depth;                 /* the depth at which an array too many, which is only counted, ends; -1: none */
    char *data;
    size_t elements, capacity; /* of data, in elements */
    size_t first_bytes;        /* to begin with */
    size_t most_elements;      /* that the announced body can hold; 0: unknown */
};

struct json_tensor_options {
    const struct tensor_spec *spec;
    int64_t *free_sizes;
    uint32_t max_rows;
    size_t body_bytes; /* announced length; 0 if unknown */
    int input_count;   /* of the body: what its bytes are divided by */
};

void json_tensor_init(struct json_tensor *tensor, const struct json_tensor_options *options);
void json_tensor_release(struct json_tensor *tensor);

/* Before anything is read: the tensor comes as one array, its batch dimension where the spec has it, and this is the
 * number of the free size that it gives. */
void json_tensor_take_whole(struct json_tensor *tensor, int batch_free);

/* Between rows, where a value or the end of the list of rows comes next. */
bool json_tensor_is_between(const struct json_tensor *tensor);

/* Reads numbers that come next the quick way, as far as it goes; call it before each json_reader_next. Errors:
 * NO_MEMORY, INVALID (past the range of the type). */
enum weir_status json_tensor_take_numbers(struct json_tensor *tensor, struct json_reader *reader,
                                          struct weir_error *err) WEIR_CHECKED;

/* Takes a token that lies in the tensor, also the one that begins a row; not the end of the list of rows. Errors:
 * INVALID, naming row and place; NO_MEMORY. */
enum weir_status json_tensor_take(struct json_tensor *tensor, const struct json_reader *reader, enum json_token token,
                                  struct weir_error *err) WEIR_CHECKED;

/* Writes the place of the element that comes next. text holds PLACE_TEXT_BYTES. Returns text. */
const char *json_tensor_place(const struct json_tensor *tensor, char *text);

/* Moves the memory to out and fills its shape. Every free size of the spec must be known. */
void json_tensor_finish(struct json_tensor *tensor, struct job_tensor *out);

/* "an array", "a string", "true". */
const char *json_tensor_token_text(enum json_token token);

#endif
