/* Tensors as the Open Inference Protocol has them: datatypes by name, and whole, the rows where the model has its batch
 * dimension. Source: open-inference-protocol, specification/protocol/inference_rest.md, "Tensor Data Types". */
#ifndef WEIR_SERVER_CODEC_V2_TENSOR_H
#define WEIR_SERVER_CODEC_V2_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/job.h"
#include "engine/tensor.h"

/* "FP32". */
const char *v2_tensor_datatype(enum tensor_dtype dtype);

/* Reads a name; false: no model takes this type. */
bool v2_tensor_read_datatype(const char *text, size_t size, enum tensor_dtype *out);

/* The whole shape of a job's tensor. */
struct tensor_shape v2_tensor_whole(const struct tensor_spec *spec, const struct job_tensor *tensor, uint32_t rows);

/* Are the bytes of rows one after the other those of the whole tensor? */
bool v2_tensor_is_plain(const struct tensor_spec *spec, const struct tensor_shape *whole);

/* Copies between the two forms; whole is the shape, to_rows the direction. */
void v2_tensor_copy(const struct tensor_spec *spec, const struct tensor_shape *whole, bool to_rows, const void *from,
                    void *to);

#endif
