/* Element types, shapes and the signature of a model: what goes in and what comes out. */
#ifndef WEIR_ENGINE_TENSOR_H
#define WEIR_ENGINE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, ONNX data type number, bytes, text). Source of the numbers: onnx.proto, TensorProto.DataType. */
#define TENSOR_DTYPE_LIST(X)                                                                                           \
    X(F32, 1, 4, "float32")                                                                                            \
    X(U8, 2, 1, "uint8")                                                                                               \
    X(I8, 3, 1, "int8")                                                                                                \
    X(I32, 6, 4, "int32")                                                                                              \
    X(I64, 7, 8, "int64")                                                                                              \
    X(BOOL, 9, 1, "bool")                                                                                              \
    X(F16, 10, 2, "float16")                                                                                           \
    X(F64, 11, 8, "float64")                                                                                           \
    X(BF16, 16, 2, "bfloat16")

enum tensor_dtype {
#define TENSOR_DTYPE_ENUM(name, onnx, bytes, text) TENSOR_##name,
    TENSOR_DTYPE_LIST(TENSOR_DTYPE_ENUM)
#undef TENSOR_DTYPE_ENUM
        TENSOR_DTYPE_COUNT
};

enum { TENSOR_MAX_RANK = 8 };

/* Dimensions, outermost first. -1 is the batch dimension of a model (only dims[0] may be it). */
struct tensor_shape {
    int rank;
    int64_t dims[TENSOR_MAX_RANK];
};

/* One input or output of a model. shape.dims[0] is the batch dimension (-1); the rest is one row. row_elements is the
 * product of the rest (1 if there is none), row_bytes = row_elements * bytes of the dtype. */
struct tensor_spec {
    char *name;
    enum tensor_dtype dtype;
    struct tensor_shape shape;
    size_t row_elements;
    size_t row_bytes;
};

/* What a model takes and gives, in the order of its graph. Owner: whoever made it; released by signature_release. */
struct signature {
    struct tensor_spec *inputs;
    struct tensor_spec *outputs;
    int input_count;
    int output_count;
};

size_t tensor_dtype_bytes(enum tensor_dtype dtype);
const char *tensor_dtype_text(enum tensor_dtype dtype);

/* Maps ONNX's data type number. Returns false for a type that is not in the list. */
bool tensor_dtype_from_onnx(int32_t number, enum tensor_dtype *out);

/* Writes "[-1,64]" into text and returns it. */
const char *tensor_shape_text(const struct tensor_shape *shape, char *text, size_t size);

/* Multiplies dims[from..rank). Returns false if a dimension is negative or the product does not fit size_t. */
bool tensor_shape_elements(const struct tensor_shape *shape, int from, size_t *out);

/* Computes row_elements and row_bytes of spec. Returns false on overflow or a negative inner dimension. */
bool tensor_spec_measure(struct tensor_spec *spec);

/* Makes a copy with its own names. Returns false, leaving *out empty, if memory ran out. */
bool signature_copy(const struct signature *signature, struct signature *out);
void signature_release(struct signature *signature);

/* IEEE 754 binary16 and bfloat16 bit patterns to float32, exact. */
float tensor_f16_to_f32(uint16_t bits);
float tensor_bf16_to_f32(uint16_t bits);

#endif
