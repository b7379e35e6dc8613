/* Bodies of raw elements: little-endian, row after row, nothing else. They carry one input of any type; what no number
 * of it can be is only known to the model, so NaN and infinities pass (a bool is 0 or 1). A free dimension of the
 * input, one at most, follows from the body's length: such a body is one row. */
#ifndef WEIR_SERVER_CODEC_CODEC_BINARY_H
#define WEIR_SERVER_CODEC_CODEC_BINARY_H

#include "server/codec/codec.h"

/* As decoder_open, for CODEC_RAW. Memory: the announced length, or 1.5 bytes for each byte that came. Errors:
 * UNSUPPORTED (several inputs, or more than one free dimension), NO_MEMORY. */
enum weir_status codec_binary_open(const struct decoder_options *options, struct decoder **out,
                                   struct weir_error *err) WEIR_CHECKED;

/* As codec_encode, for CODEC_RAW: the only output's rows, one after the other. Errors: UNSUPPORTED (several outputs),
 * NO_MEMORY. */
enum weir_status codec_binary_encode(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                     struct bytes *out, struct weir_error *err) WEIR_CHECKED;

#endif
