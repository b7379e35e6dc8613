/* Bodies of raw little-endian float32: row after row, nothing else. Values that are not finite pass. */
#ifndef WEIR_SERVER_CODEC_CODEC_BINARY_H
#define WEIR_SERVER_CODEC_CODEC_BINARY_H

#include "server/codec/codec.h"

/* As decoder_open, for CODEC_RAW_F32. options->signature must have one float32 input. Memory: the announced length, or
 * 1.5 bytes for each byte that came. */
enum weir_status codec_binary_open(const struct decoder_options *options, struct decoder **out,
                                   struct weir_error *err) WEIR_CHECKED;

/* As codec_encode, for CODEC_RAW_F32. Errors: UNSUPPORTED (not one float32 output), NO_MEMORY. */
enum weir_status codec_binary_encode(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                     struct bytes *out, struct weir_error *err) WEIR_CHECKED;

#endif
