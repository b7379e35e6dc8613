/* Bodies that are one array in NumPy's .npy format: the model's only input, of its type (nothing is converted) and its
 * shape, little-endian and in C order. The batch dimension and free dimensions take their sizes from the array. As in
 * raw bodies NaN and infinities pass, and a bool is 0 or 1. bfloat16 is the type '<V2', two bytes each. */
#ifndef WEIR_SERVER_CODEC_CODEC_NPY_H
#define WEIR_SERVER_CODEC_CODEC_NPY_H

#include "server/codec/codec.h"

/* As decoder_open, for CODEC_NPY. Memory: the head while it is read, then the announced length, or 1.5 bytes for each
 * byte that came; where the batch dimension is not the first, at the end twice that. Errors: UNSUPPORTED (several
 * inputs, or one without elements), NO_MEMORY. */
enum weir_status codec_npy_open(const struct decoder_options *options, struct decoder **out,
                                struct weir_error *err) WEIR_CHECKED;

/* As codec_encode, for CODEC_NPY: the only output, as its shape says. Errors: UNSUPPORTED (several outputs), NO_MEMORY.
 */
enum weir_status codec_npy_encode(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                  struct bytes *out, struct weir_error *err) WEIR_CHECKED;

#endif
