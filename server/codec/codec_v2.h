/* Requests of the Open Inference Protocol (V2): a JSON object, behind which the bytes of those inputs follow that say
 * so (binary tensor data extension). Read as it comes, in any order of members; "data" that comes before name, datatype
 * or shape is kept as text. Sources: open-inference-protocol, inference_rest.md; Triton, extension_binary_data.md.
 *
 * Ours to choose: "data" is flat or nested exactly as the shape; what is out of an integer's range, NaN and infinities
 * are refused; so are zero rows. Members that nobody knows are skipped. */
#ifndef WEIR_SERVER_CODEC_CODEC_V2_H
#define WEIR_SERVER_CODEC_CODEC_V2_H

#include "server/codec/codec.h"

/* As decoder_open, for CODEC_V2. options->json_bytes: the length of the JSON (Inference-Header-Content-Length);
 * SIZE_MAX: all of the body; 0: the body is the only input's bytes alone. */
enum weir_status codec_v2_open(const struct decoder_options *options, struct decoder **out,
                               struct weir_error *err) WEIR_CHECKED;

#endif
