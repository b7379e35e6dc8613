/* {"instances": [...]} to one float32 tensor, and tensors to {"predictions": [...]}.
 *
 * The rules that are ours to choose: members other than "instances" are skipped, their grammar, UTF-8, depth and names
 * checked all the same; a name that comes twice in one object is refused (json_names.h has the bounds; "instances"
 * always is); half of a surrogate pair is refused; a flat row is not taken for a batch of one; there is no way to write
 * NaN or an infinity. Memory: at most 2 bytes of tensor for each byte of a body whose length was announced and 3 for
 * others, and about 5 KiB besides. */
#ifndef WEIR_SERVER_CODEC_CODEC_JSON_H
#define WEIR_SERVER_CODEC_CODEC_JSON_H

#include "server/codec/codec.h"

/* As decoder_open, for CODEC_JSON. options->signature must have one float32 input. */
enum weir_status codec_json_open(const struct decoder_options *options, struct decoder **out,
                                 struct weir_error *err) WEIR_CHECKED;

/* As codec_encode, for CODEC_JSON. With one output, predictions[i] is that output's row: nested arrays, or a number if
 * the output has no dimension but the batch's. With several, it is an object of them by name. -0 is written as -0.
 * Errors: UNSUPPORTED (an output that is not float32, or of no fixed row shape), NON_FINITE, NO_MEMORY. */
enum weir_status codec_json_encode(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                   struct bytes *out, struct weir_error *err) WEIR_CHECKED;

#endif
