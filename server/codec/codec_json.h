/* {"instances": [...]} to the tensors of one request.
 *
 * A model of one input: each instance is one row, nested arrays of the input's shape. Of several: each instance is an
 * object that holds one row of every input, by name. An input without a batch dimension comes once: by its name beside
 * "instances" or in the first of them; where it is the only input, "instances" is the tensor. Free dimensions get their
 * sizes from the first row, and every later row must have the same. Integers are written without fraction and exponent,
 * bool as true, false, 1 or 0; what does not fit the type is refused.
 *
 * KServe V1 and TensorFlow Serving (CODEC_V1) take that, rows as objects also for one input, and in place of
 * "instances"
 * {"inputs": ...}: each input whole, nested as its shape says, in an object by name, or bare where there is one. Of
 * "signature_name" there is "serving_default", which "" means too.
 *
 * The rules that are ours to choose: other members beside "instances" are skipped, their grammar, UTF-8, depth and
 * names checked all the same; a name that comes twice in one object is refused (json_names.h has the bounds;
 * "instances" and the inputs always are); half of a surrogate pair is refused; a flat row is not taken for a batch of
 * one; there is no way to write NaN or an infinity. Memory: at most 2 bytes of float32 tensor for each byte of a body
 * whose length was announced and 3 for others (twice that for types of 8 bytes), and about 5 KiB besides. */
#ifndef WEIR_SERVER_CODEC_CODEC_JSON_H
#define WEIR_SERVER_CODEC_CODEC_JSON_H

#include "server/codec/codec.h"

/* As decoder_open, for CODEC_JSON and CODEC_V1. Errors: UNSUPPORTED (no inputs, or one without elements), NO_MEMORY. */
enum weir_status codec_json_open(const struct decoder_options *options, struct decoder **out,
                                 struct weir_error *err) WEIR_CHECKED;

#endif
