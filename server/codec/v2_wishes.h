/* What an Open Inference request asks for besides its tensors, as it is read: parameters and outputs. */
#ifndef WEIR_SERVER_CODEC_V2_WISHES_H
#define WEIR_SERVER_CODEC_V2_WISHES_H

#include <stdint.h>

#include "server/codec/codec.h"
#include "server/codec/json_reader.h"

/* reader stands at the token in question. */
struct v2_wishes {
    const struct signature *signature;
    const struct json_reader *reader;
    char parameter[64]; /* the name of the one being read, cut */
    struct wish wish;   /* of the output being read; output -1: not named yet */
    int capacity;
    struct wishes wishes;
};

/* Notes the name of the parameter whose value comes next. */
void v2_wishes_begin(struct v2_wishes *v2);

/* Fails with `parameter "NAME" what (offset N)`. */
enum weir_status v2_wishes_fail(const struct v2_wishes *v2, const char *what, struct weir_error *err) WEIR_CHECKED;

/* Reads the parameter's value as a whole number. Errors: INVALID. */
enum weir_status v2_wishes_count(const struct v2_wishes *v2, enum json_token token, uint64_t *out,
                                 struct weir_error *err) WEIR_CHECKED;

/* Take the value of a parameter of the request, or of the output. Unknown ones are nobody's. Errors: INVALID. */
enum weir_status v2_wishes_parameter(struct v2_wishes *v2, enum json_token token, struct weir_error *err) WEIR_CHECKED;
enum weir_status v2_wishes_output_parameter(struct v2_wishes *v2, enum json_token token,
                                            struct weir_error *err) WEIR_CHECKED;

/* Takes the name of the output. Errors: INVALID (there is none of it; twice). */
enum weir_status v2_wishes_name(struct v2_wishes *v2, struct weir_error *err) WEIR_CHECKED;

/* The output's object ends. Errors: INVALID, NO_MEMORY. */
enum weir_status v2_wishes_end(struct v2_wishes *v2, struct weir_error *err) WEIR_CHECKED;

#endif
