/* One input of an Open Inference request while its JSON object is read. */
#ifndef WEIR_SERVER_CODEC_V2_INPUT_H
#define WEIR_SERVER_CODEC_V2_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/bytes.h"
#include "server/codec/codec.h"
#include "server/codec/json_reader.h"
#include "server/codec/json_tensor.h"

/* What is known of a model's input by now. */
struct v2_slot {
    bool is_given, is_binary;
    struct tensor_shape whole;
    size_t elements, bytes, capacity;
    char *data; /* as it came: whole */
};

struct v2_input {
    const struct signature *signature;
    struct v2_slot *slots; /* one for each input of the model */
    int64_t *free_sizes;   /* of the signature's free dimensions; 0: not known yet */
    uint32_t *rows;        /* of the request; 0: not known yet */
    uint32_t max_rows;
    size_t body_bytes;

    int index; /* of the model's input; -1: not named yet */
    bool has_shape, has_datatype, has_data, has_binary;
    struct tensor_shape shape;
    char datatype[16];
    uint64_t binary_bytes;
    struct bytes kept; /* of "data" that came before what tells how to read it */
    bool is_kept, is_reading;
    struct tensor_spec spec; /* of the tensor being read: the whole shape, or a list of that many */
    struct json_tensor tensor;
};

/* Begins the next object of "inputs". */
void v2_input_begin(struct v2_input *input);
void v2_input_release(struct v2_input *input);

/* Its members. Errors: INVALID, naming what is wrong. */
enum weir_status v2_input_name(struct v2_input *input, const struct json_string *name,
                               struct weir_error *err) WEIR_CHECKED;
enum weir_status v2_input_datatype(struct v2_input *input, const struct json_string *text,
                                   struct weir_error *err) WEIR_CHECKED;
enum weir_status v2_input_dimension(struct v2_input *input, const struct json_reader *reader,
                                    struct weir_error *err) WEIR_CHECKED;

/* Is enough known to read "data"? If not it is to be kept as text. */
bool v2_input_is_ready(const struct v2_input *input);

/* Begins "data": checks name, datatype and shape against the model. The value's tokens then go to v2_input_data, until
 * *done. Errors: INVALID, UNSUPPORTED, TOO_LARGE. */
enum weir_status v2_input_begin_data(struct v2_input *input, struct weir_error *err) WEIR_CHECKED;
enum weir_status v2_input_data(struct v2_input *input, struct json_reader *reader, enum json_token token, bool *done,
                               struct weir_error *err) WEIR_CHECKED;

/* The object ends: reads kept text, or notes how many bytes will come. Errors as above. */
enum weir_status v2_input_end(struct v2_input *input, struct weir_error *err) WEIR_CHECKED;

/* Are the bytes that came values of the type? Errors: INVALID, as element_check. */
enum weir_status v2_input_check_bytes(const struct tensor_spec *spec, const struct v2_slot *slot,
                                      struct weir_error *err) WEIR_CHECKED;

/* Reads an integer of 0 or more from a number's token. False: it is none, or does not fit. */
bool v2_input_count(const struct json_reader *reader, uint64_t *out);

#endif
