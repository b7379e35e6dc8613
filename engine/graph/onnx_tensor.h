/* TensorProto: from the file's bytes to a constant. Source: onnx.proto. */
#ifndef WEIR_ENGINE_GRAPH_ONNX_TENSOR_H
#define WEIR_ENGINE_GRAPH_ONNX_TENSOR_H

#include "engine/graph/graph.h"
#include "engine/graph/wire.h"

/* A tensor of the file. constant is NULL for a type that cannot be used, whose ONNX number is then unsupported_type. */
struct onnx_tensor {
    const char *name; /* "" without one */
    const struct graph_constant *constant;
    int32_t unsupported_type;
};

/* All the external data of one model. */
#define ONNX_MAX_EXTERNAL_BYTES ((size_t)16 << 30)

/* Reads one TensorProto. The elements stay in the file's memory where they lie there as they are used; typed fields,
 * external data (from graph->directory) and what is made wider (uint16 and int16 to int32, uint32 and uint64 to int64)
 * are copied. Every size is checked against the bytes that are there before memory is taken. Errors, naming the tensor:
 * INVALID, UNSUPPORTED, TOO_LARGE, NO_MEMORY, IO. */
enum weir_status onnx_tensor_read(struct graph *graph, struct wire message, struct onnx_tensor *out,
                                  struct weir_error *err) WEIR_CHECKED;

/* Copies a string field. Errors: INVALID (not a string, a NUL byte in it, too long), NO_MEMORY. */
enum weir_status onnx_text(struct region *region, const struct wire_field *field, const char **out,
                           struct weir_error *err) WEIR_CHECKED;

#endif
