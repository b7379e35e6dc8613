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

enum { TENSOR_MAX_RANK = 8, TENSOR_MAX_FREE = 6, TENSOR_BATCH = -1 };

/* Dimensions, outermost first. In a signature TENSOR_BATCH is the batch dimension (one at most, mostly dims[0]) and
 * TENSOR_FREE(k) the signature's free dimension k; elsewhere all are sizes. */
struct tensor_shape {
    int rank;
    int64_t dims[TENSOR_MAX_RANK];
};
#define TENSOR_FREE(k) (-2 - (k))
/* In an output's shape: a size that follows from the free ones in a way only the program knows. */
#define TENSOR_DERIVED (-100)

/* Sizes for what a signature leaves open. Jobs of the same free sizes may share a batch. */
struct tensor_dims {
    uint32_t rows;
    int free_count;
    int64_t free[TENSOR_MAX_FREE];
};

/* One input or output of a model. A row is the shape without its batch dimension. Without a batch dimension an input is
 * shared by all rows of a request (which then runs alone), and an output is the same for all of them. */
struct tensor_spec {
    char *name;
    enum tensor_dtype dtype;
    struct tensor_shape shape;
    int batch_axis;      /* where TENSOR_BATCH is; -1: nowhere */
    bool is_fixed;       /* no free dimension */
    size_t row_elements; /* of a row, if is_fixed */
    size_t row_bytes;    /* likewise */
};

/* What a model takes and gives, in the order of its graph. Owner: whoever made it; released by signature_release. */
struct signature {
    struct tensor_spec *inputs;
    struct tensor_spec *outputs;
    int input_count;
    int output_count;
    char *free_names[TENSOR_MAX_FREE]; /* as the file calls them; "" for those without a name */
    int free_count;
    bool shares_inputs; /* some input has no batch dimension: requests do not share batches */
};

size_t tensor_dtype_bytes(enum tensor_dtype dtype);
const char *tensor_dtype_text(enum tensor_dtype dtype);

/* Maps ONNX's data type number. Returns false for a type that is not in the list. */
bool tensor_dtype_from_onnx(int32_t number, enum tensor_dtype *out);

/* Have both the same dimensions? */
bool tensor_shape_equal(const struct tensor_shape *a, const struct tensor_shape *b);

/* Writes "[-1,64]" into text and returns it; free dimensions are -1 too. */
const char *tensor_shape_text(const struct tensor_shape *shape, char *text, size_t size);

/* Multiplies dims[from..rank). Returns false if a dimension is negative or the product does not fit size_t. */
bool tensor_shape_elements(const struct tensor_shape *shape, int from, size_t *out);

/* Computes batch_axis, is_fixed, row_elements and row_bytes from shape. Returns false on overflow or two batch
 * dimensions. */
bool tensor_spec_measure(struct tensor_spec *spec);

/* The shape of one row, and its elements, for the free sizes of dims. Returns false on overflow, and where a dimension
 * is TENSOR_DERIVED. */
bool tensor_spec_row(const struct tensor_spec *spec, const struct tensor_dims *dims, struct tensor_shape *row,
                     size_t *elements);

/* The whole tensor's shape for the rows and free sizes of dims; TENSOR_DERIVED stays. */
struct tensor_shape tensor_spec_whole(const struct tensor_spec *spec, const struct tensor_dims *dims);

/* Are the free sizes (not the rows) the same? */
bool tensor_dims_share(const struct tensor_dims *a, const struct tensor_dims *b);

/* Frees the names and the lists, which were allocated. */
void signature_release(struct signature *signature);

/* IEEE 754 binary16 and bfloat16 bit patterns to float32, exact. */
float tensor_f16_to_f32(uint16_t bits);
float tensor_bf16_to_f32(uint16_t bits);

#endif
