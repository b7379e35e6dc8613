/* Tensors to {"predictions": [...]} and {"outputs": ...}. */
#ifndef WEIR_SERVER_CODEC_JSON_ANSWER_H
#define WEIR_SERVER_CODEC_JSON_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/job.h"
#include "server/bytes.h"

/* As codec_encode, for CODEC_JSON. With one output, predictions[i] is that output's row: nested arrays, or one value if
 * the output has no dimension but the batch's. With several, it is an object of them by name. An output without a batch
 * dimension stands whole in each prediction. -0 is written as -0; bool as true and false. Errors: NON_FINITE,
 * NO_MEMORY. */
enum weir_status json_answer_write(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                   struct bytes *out, struct weir_error *err) WEIR_CHECKED;

/* Appends count elements with commas between. False: not all of them, *written tells how many; the next is not finite,
 * or memory ran out (which out knows). */
bool json_answer_elements(struct bytes *out, enum tensor_dtype dtype, const void *data, size_t count, size_t *written);

/* The same for an answer by columns: each output whole, nested as its shape says; in an object by name where there are
 * several. */
enum weir_status json_answer_write_columns(const struct signature *signature, uint32_t rows,
                                           const struct job_tensor *outputs, struct bytes *out,
                                           struct weir_error *err) WEIR_CHECKED;

#endif
