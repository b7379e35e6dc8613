#include "engine/device/cuda/cuda_lt.h"

#include <stdint.h>

enum { FULL_ALIGNMENT = 256 };

enum weir_status cuda_lt_open(struct cuda_lt *lt, size_t workspace_bytes, bool split, struct weir_error *err) {
    const uint64_t workspace = workspace_bytes;
    const uint32_t none = CUBLASLT_REDUCTION_SCHEME_NONE;
    cublasStatus_t code = cublasLtCreate(&lt->handle);
    if (code != CUBLAS_STATUS_SUCCESS) {
        lt->handle = NULL;
        return cuda_errors_fail_lt(lt->errors, code, "opening cuBLASLt", err);
    }
    code = cublasLtMatmulPreferenceCreate(&lt->preference);
    if (code != CUBLAS_STATUS_SUCCESS)
        lt->preference = NULL;
    if (code == CUBLAS_STATUS_SUCCESS)
        code = cublasLtMatmulPreferenceSetAttribute(lt->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                    &workspace, sizeof workspace);
    if (code == CUBLAS_STATUS_SUCCESS && !split)
        code = cublasLtMatmulPreferenceSetAttribute(lt->preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &none,
                                                    sizeof none);
    return code == CUBLAS_STATUS_SUCCESS ? WEIR_OK
                                         : cuda_errors_fail_lt(lt->errors, code, "cuBLASLt's preferences", err);
}

void cuda_lt_close(struct cuda_lt *lt) {
    if (lt->preference)
        cublasLtMatmulPreferenceDestroy(lt->preference);
    if (lt->handle)
        cublasLtDestroy(lt->handle);
    lt->preference = NULL;
    lt->handle = NULL;
}

static cudaDataType_t operand_type(const struct cuda_lt *lt) {
    switch (lt->precision) {
    case BACKEND_FP16:
        return CUDA_R_16F;
    case BACKEND_BF16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

size_t cuda_lt_operand_bytes(const struct cuda_lt *lt) {
    return operand_type(lt) == CUDA_R_32F ? sizeof(float) : sizeof(uint16_t);
}

/* A matrix of rows x cols column after column, `count` of them. */
static cublasStatus_t describe(cublasLtMatrixLayout_t *layout, cudaDataType_t type, const size_t shape[3], size_t count,
                               size_t step) {
    cublasStatus_t code = cublasLtMatrixLayoutCreate(layout, type, shape[0], shape[1], (int64_t)shape[2]);
    const int32_t products = (int32_t)count;
    const int64_t stride = (int64_t)step;
    if (code != CUBLAS_STATUS_SUCCESS)
        *layout = NULL;
    if (code == CUBLAS_STATUS_SUCCESS && count > 1)
        code =
            cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &products, sizeof products);
    if (code == CUBLAS_STATUS_SUCCESS && count > 1)
        code = cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                sizeof stride);
    return code;
}

static cublasStatus_t describe_operation(const struct cuda_lt *lt, const struct cuda_lt_product *product,
                                         const float *bias, struct cuda_lt_plan *plan) {
    const cublasOperation_t w = product->w_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t x = product->x_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue = product->bias && product->relu ? CUBLASLT_EPILOGUE_RELU_BIAS
                                        : product->bias                ? CUBLASLT_EPILOGUE_BIAS
                                        : product->relu                ? CUBLASLT_EPILOGUE_RELU
                                                                       : CUBLASLT_EPILOGUE_DEFAULT;
    const cublasComputeType_t compute =
        lt->precision == BACKEND_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasStatus_t code = cublasLtMatmulDescCreate(&plan->operation, compute, CUDA_R_32F);
    if (code != CUBLAS_STATUS_SUCCESS)
        plan->operation = NULL;
    if (code == CUBLAS_STATUS_SUCCESS)
        code = cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_TRANSA, &w, sizeof w);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_TRANSB, &x, sizeof x);
    if (code == CUBLAS_STATUS_SUCCESS)
        code =
            cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (code == CUBLAS_STATUS_SUCCESS && product->bias) /* before the heuristics, which read its alignment */
        code = cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    return code;
}

static cublasStatus_t set_alignment(const struct cuda_lt *lt, size_t bytes) {
    static const cublasLtMatmulPreferenceAttributes_t attributes[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    const uint32_t alignment = (uint32_t)bytes;
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes && code == CUBLAS_STATUS_SUCCESS; i++)
        code = cublasLtMatmulPreferenceSetAttribute(lt->preference, attributes[i], &alignment, sizeof alignment);
    return code;
}

/* A row-major matrix is the column-major one of its transpose. So Y' [cols, rows] = W' X', in which W' is the first
 * operand and the bias runs along the rows, as the epilogue wants it. */
enum weir_status cuda_lt_prepare(const struct cuda_lt *lt, const struct cuda_lt_product *product, const float *bias,
                                 struct cuda_lt_plan *plan, struct weir_error *err) {
    const size_t rows = product->rows, cols = product->cols, inner = product->inner;
    const size_t w[3] = {product->w_transposed ? inner : cols, product->w_transposed ? cols : inner,
                         product->w_transposed ? inner : cols};
    const size_t x[3] = {product->x_transposed ? rows : inner, product->x_transposed ? inner : rows,
                         product->x_transposed ? rows : inner};
    const size_t y[3] = {cols, rows, product->y_pitch};
    const bool is_odd = product->alignment_bytes < FULL_ALIGNMENT;
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    plan->alpha = product->alpha;
    plan->beta = product->beta;
    plan->bias = product->bias;
    if (product->count > INT32_MAX || rows > INT32_MAX || cols > INT32_MAX || inner > INT32_MAX)
        return weir_fail(err, WEIR_UNSUPPORTED, "a product of %zu x [%zu,%zu,%zu] is too large", product->count, rows,
                         inner, cols);
    cublasStatus_t code = describe_operation(lt, product, bias, plan);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = describe(&plan->w, operand_type(lt), w, product->count, product->w_step);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = describe(&plan->x, operand_type(lt), x, product->count, product->x_step);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = describe(&plan->y, CUDA_R_32F, y, product->count, product->y_step);
    if (code == CUBLAS_STATUS_SUCCESS && is_odd)
        code = set_alignment(lt, product->alignment_bytes);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = cublasLtMatmulAlgoGetHeuristic(lt->handle, plan->operation, plan->w, plan->x, plan->y, plan->y,
                                              lt->preference, 1, &best, &found);
    if (code == CUBLAS_STATUS_SUCCESS && is_odd)
        code = set_alignment(lt, FULL_ALIGNMENT);
    if (code == CUBLAS_STATUS_NOT_SUPPORTED || (code == CUBLAS_STATUS_SUCCESS && found == 0))
        return weir_fail(err, WEIR_UNSUPPORTED, "cuBLASLt has no algorithm for a product of %zu x [%zu,%zu,%zu]",
                         product->count, rows, inner, cols);
    if (code != CUBLAS_STATUS_SUCCESS)
        return cuda_errors_fail_lt(lt->errors, code, "choosing a product's algorithm", err);
    plan->algorithm = best.algo;
    plan->workspace_bytes = best.workspaceSize;
    return WEIR_OK;
}

void cuda_lt_release(struct cuda_lt_plan *plan) {
    if (plan->operation)
        cublasLtMatmulDescDestroy(plan->operation);
    if (plan->w)
        cublasLtMatrixLayoutDestroy(plan->w);
    if (plan->x)
        cublasLtMatrixLayoutDestroy(plan->x);
    if (plan->y)
        cublasLtMatrixLayoutDestroy(plan->y);
    *plan = (struct cuda_lt_plan){0};
}

enum weir_status cuda_lt_run(const struct cuda_lt *lt, const struct cuda_lt_plan *plan,
                             const struct cuda_lt_operands *operands, struct weir_error *err) {
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    if (plan->bias) /* it differs by slot where it is no constant */
        code = cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &operands->bias,
                                              sizeof operands->bias);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = cublasLtMatmul(lt->handle, plan->operation, &plan->alpha, operands->w, plan->w, operands->x, plan->x,
                              &plan->beta, operands->y, plan->y, operands->y, plan->y, &plan->algorithm,
                              operands->workspace, operands->workspace_bytes, operands->stream);
    return code == CUBLAS_STATUS_SUCCESS ? WEIR_OK : cuda_errors_fail_lt(lt->errors, code, "a product", err);
}
