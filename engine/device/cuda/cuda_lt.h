/* Matrix products by cuBLASLt: row-major in our words, column-major in its own, the algorithm chosen once. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_LT_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_LT_H

#include "engine/device/backend.h"
#include "engine/device/cuda/cuda_errors.h"

struct cuda_lt {
    cublasLtHandle_t handle;
    cublasLtMatmulPreference_t preference;
    enum backend_precision precision; /* of what goes into products; not INT8 */
    struct cuda_errors *errors;
};

/* Y [rows, cols] = activate(alpha * X [rows, inner] * W [inner, cols] + beta * Y + bias [cols]), so many times. */
struct cuda_lt_product {
    size_t rows, cols, inner;        /* none is 0 */
    bool x_transposed, w_transposed; /* in memory X is [inner, rows]; W is [cols, inner] */
    size_t y_pitch;                  /* elements from row to row of Y */
    size_t count;                    /* products; 1 at least */
    size_t x_step, w_step, y_step;   /* elements from one to the next */
    float alpha, beta;
    bool bias, relu;
    size_t alignment_bytes; /* of X, W and Y at least; a power of two up to 256 */
};

/* A product made ready. All zero is none. */
struct cuda_lt_plan {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t w, x, y;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace_bytes;
    float alpha, beta;
    bool bias;
};

/* What a product works on. X and W are float32, or the 16-bit type of the precision; bias and Y are float32. */
struct cuda_lt_operands {
    const void *x, *w;
    const float *bias; /* NULL: none */
    float *y;
    void *workspace;
    size_t workspace_bytes;
    cudaStream_t stream;
};

/* Opens cuBLASLt on the current device. split: sums may be split over blocks, which changes their order with the shape.
 * Errors: NO_MEMORY, DEVICE, DEVICE_LOST. Owner: the caller; cuda_lt_close, also after an error. */
enum weir_status cuda_lt_open(struct cuda_lt *lt, size_t workspace_bytes, bool split,
                              struct weir_error *err) WEIR_CHECKED;
void cuda_lt_close(struct cuda_lt *lt);

/* Bytes of one number that goes into a product. */
size_t cuda_lt_operand_bytes(const struct cuda_lt *lt);

/* Chooses the algorithm for this shape; bias is where the first run will have it, for its alignment. Errors:
 * UNSUPPORTED (no algorithm), DEVICE, DEVICE_LOST. Owner of *plan: the caller; cuda_lt_release, also after an error. */
enum weir_status cuda_lt_prepare(const struct cuda_lt *lt, const struct cuda_lt_product *product, const float *bias,
                                 struct cuda_lt_plan *plan, struct weir_error *err) WEIR_CHECKED;
void cuda_lt_release(struct cuda_lt_plan *plan);

/* Puts the product into the stream. Errors: DEVICE, DEVICE_LOST. */
enum weir_status cuda_lt_run(const struct cuda_lt *lt, const struct cuda_lt_plan *plan,
                             const struct cuda_lt_operands *operands, struct weir_error *err) WEIR_CHECKED;

#endif
