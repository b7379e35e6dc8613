/* TensorProto: from the file's bytes to a constant. Source: onnx.proto. */
#ifndef WEIR_ENGINE_GRAPH_ONNX_TENSOR_H
#define WEIR_ENGINE_GRAPH_ONNX_TENSOR_H

#include "engine/graph/graph.h"
#include "engine/graph/wire.h"

/* Where constants come from and what they may take. */
struct onnx_source {
    struct region *region;
    int directory;         /* of external data; -1: there is none */
    size_t external_bytes; /* external data read so far */
};

/* All the external data of one model. */
#define ONNX_MAX_EXTERNAL_BYTES ((size_t)16 << 30)

/* Reads one TensorProto. The elements stay in the file's memory where they lie there as they are used; typed fields and
 * external data are copied. *name is "" for a tensor without one. Every size is checked against the bytes that are
 * there before memory is taken. Errors, naming the tensor: INVALID, UNSUPPORTED, TOO_LARGE, NO_MEMORY, IO. */
enum weir_status onnx_tensor_read(struct onnx_source *source, struct wire message, const char **name,
                                  const struct graph_constant **out, struct weir_error *err) WEIR_CHECKED;

/* Copies a string field. Errors: INVALID (not a string, a NUL byte in it, too long), NO_MEMORY. */
enum weir_status onnx_text(struct region *region, const struct wire_field *field, const char **out,
                           struct weir_error *err) WEIR_CHECKED;

#endif
