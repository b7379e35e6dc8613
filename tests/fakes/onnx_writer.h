/* Writes small ONNX models for tests, field by field (onnx.proto). Everything lies in one struct; nothing is allocated.
 */
#ifndef WEIR_TESTS_FAKES_ONNX_WRITER_H
#define WEIR_TESTS_FAKES_ONNX_WRITER_H

#include <stddef.h>
#include <stdint.h>

struct onnx_bytes {
    size_t size;
    unsigned char data[1 << 23];
};

/* body is the GraphProto, file the finished model; part and piece are messages under construction. */
struct onnx_model {
    struct onnx_bytes body, file, part, piece;
};

/* Parts of a message. */
void onnx_put(struct onnx_bytes *to, const void *bytes, size_t size);
void onnx_put_varint(struct onnx_bytes *to, uint64_t value);
void onnx_put_number(struct onnx_bytes *to, uint32_t field, int64_t value);
void onnx_put_bytes(struct onnx_bytes *to, uint32_t field, const void *bytes, size_t size);
void onnx_put_float(struct onnx_bytes *to, uint32_t field, float value);

/* inputs and outputs are words, "-" is an omitted one; attributes are words such as "alpha:f=0.5", "axis:i=-1" and
 * "axes:l=1,2". attributes, name and domain may be NULL. */
struct onnx_node {
    const char *op, *inputs, *outputs, *attributes, *name, *domain;
};
void onnx_add_node(struct onnx_model *model, struct onnx_node node);

/* A tensor of dims "4,3" ("" is a scalar), with raw data unless raw is NULL. make leaves its message in part, so that a
 * test can add fields before it appends it; add makes it an initializer. */
void onnx_make_tensor(struct onnx_model *model, const char *name, int type, const char *dims, const void *raw,
                      size_t size);
void onnx_add_part(struct onnx_model *model, uint32_t field);
void onnx_add_tensor(struct onnx_model *model, const char *name, int type, const char *dims, const void *raw,
                     size_t size);
void onnx_add_floats(struct onnx_model *model, const char *name, const char *dims, const float *values, size_t count);
void onnx_add_integers(struct onnx_model *model, const char *name, const char *dims, const int64_t *values,
                       size_t count);

/* A float32 input or output. A dimension that is no number is free: "N,4". */
void onnx_add_input(struct onnx_model *model, const char *name, const char *dims);
void onnx_add_output(struct onnx_model *model, const char *name, const char *dims);
/* field 11 is an input, 12 an output. */
void onnx_add_port(struct onnx_model *model, uint32_t field, const char *name, int type, const char *dims);

/* Makes file from body. */
void onnx_finish(struct onnx_model *model, int opset);

/* Forgets everything. */
void onnx_begin(struct onnx_model *model);

#endif
