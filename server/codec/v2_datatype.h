/* The Open Inference Protocol's names of datatypes. Source: open-inference-protocol,
 * specification/protocol/inference_rest.md, "Tensor Data Types". */
#ifndef WEIR_SERVER_CODEC_V2_DATATYPE_H
#define WEIR_SERVER_CODEC_V2_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tensor.h"

/* "FP32". */
const char *v2_datatype_text(enum tensor_dtype dtype);

/* Reads a name; false: no model takes this type. */
bool v2_datatype_read(const char *text, size_t size, enum tensor_dtype *out);

#endif
