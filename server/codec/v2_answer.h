/* Answers of the Open Inference Protocol (V2). */
#ifndef WEIR_SERVER_CODEC_V2_ANSWER_H
#define WEIR_SERVER_CODEC_V2_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "server/bytes.h"
#include "server/codec/codec.h"

struct v2_answer {
    const struct signature *signature;
    const char *model;
    uint64_t version;
    uint32_t rows;
    const struct job_tensor *outputs;
    const struct wishes *wishes;
};

/* Appends the answer: a JSON object with the outputs that were asked for, data flat, and behind it the bytes of those
 * that go as bytes. *json_bytes: the length of the JSON if bytes follow, even none; SIZE_MAX if nothing is binary.
 * Outputs of float16 and bfloat16 are always binary. Classification: "value:index", the largest first, the lowest index
 * first of equals; values with six decimals. Errors: NON_FINITE (in JSON), INVALID (a classification of a type that has
 * none), NO_MEMORY; out is then as before. */
enum weir_status v2_answer_write(const struct v2_answer *answer, struct bytes *out, size_t *json_bytes,
                                 struct weir_error *err) WEIR_CHECKED;

#endif
