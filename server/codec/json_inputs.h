/* The tensors of all inputs of a model, read token by token: by rows from the value of "instances", by columns from
 * that of "inputs", and an input without rows also from a member of its own name. */
#ifndef WEIR_SERVER_CODEC_JSON_INPUTS_H
#define WEIR_SERVER_CODEC_JSON_INPUTS_H

#include "server/codec/codec.h"
#include "server/codec/json_reader.h"
#include "server/codec/json_tensor.h"

/* Where in the value that is being read the reader stands. */
enum json_inputs_stage {
    JSON_INPUTS_CLOSED,   /* in none: the document's next member comes */
    JSON_INPUTS_ROWS,     /* in the array of rows of one input */
    JSON_INPUTS_OBJECTS,  /* in the array of objects, each a row of every input */
    JSON_INPUTS_INSTANCE, /* in such an object, between members */
    JSON_INPUTS_COLUMNS,  /* in the object of columns, between members */
    JSON_INPUTS_TENSOR,   /* in one row of an input, or in the whole of one; `after` follows */
    JSON_INPUTS_SKIP,     /* in the value of a member that nobody wants, until the depth is skip_depth again */
};

struct json_inputs {
    const struct signature *signature;
    struct json_reader *reader;
    size_t max_rows;
    bool is_v1;    /* objects also for a model of one input, and hints for those who come from there */
    bool has_rows; /* some input has */
    bool columns;  /* "inputs" came */
    bool was_read; /* "instances" or "inputs" */
    enum json_inputs_stage stage, after;
    int skip_depth;
    size_t rows;                             /* finished objects; or those of the only input */
    struct json_tensor *tensor;              /* that is being read */
    int64_t free_sizes[TENSOR_MAX_FREE + 1]; /* the last one is that of a batch dimension within the array */
    struct json_tensor *tensors;             /* one for each input; the owner's memory */
};

/* tensors: room for signature->input_count of them. */
void json_inputs_init(struct json_inputs *inputs, const struct decoder_options *options, struct json_reader *reader,
                      struct json_tensor *tensors);
void json_inputs_release(struct json_inputs *inputs);

/* The input whose name the reader's string is; NULL: there is none. */
struct json_tensor *json_inputs_find(struct json_inputs *inputs);

/* The first token of a value of "instances", of "inputs", or the name of an input without rows (its value follows).
 * Unless CLOSED, the tokens that follow go to json_inputs_take. Errors: as json_inputs_take. */
enum weir_status json_inputs_begin_rows(struct json_inputs *inputs, enum json_token token,
                                        struct weir_error *err) WEIR_CHECKED;
enum weir_status json_inputs_begin_columns(struct json_inputs *inputs, enum json_token token,
                                           struct weir_error *err) WEIR_CHECKED;
enum weir_status json_inputs_begin_shared(struct json_inputs *inputs, struct json_tensor *tensor,
                                          struct weir_error *err) WEIR_CHECKED;

/* Errors: INVALID, naming row and place; TOO_LARGE (more than max_rows); NO_MEMORY. */
enum weir_status json_inputs_take(struct json_inputs *inputs, enum json_token token,
                                  struct weir_error *err) WEIR_CHECKED;

/* Reads numbers that come next the quick way, as far as it goes; call it before each json_reader_next. Errors: as
 * json_inputs_take. */
enum weir_status json_inputs_take_numbers(struct json_inputs *inputs, struct weir_error *err) WEIR_CHECKED;

/* Puts in front of the reader's error where in a tensor it is, if it is in one. */
void json_inputs_place_error(const struct json_inputs *inputs, struct weir_error *err);

/* Are all there? Then moves their memory to out. Errors: INVALID (one is missing, or has other rows than another),
 * TOO_LARGE, NO_MEMORY. */
enum weir_status json_inputs_finish(struct json_inputs *inputs, struct decoded *out,
                                    struct weir_error *err) WEIR_CHECKED;

#endif
