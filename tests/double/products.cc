/* Choosing, checking and running products. */
#include "tests/double/products.h"

#include <cstring>

#include "tests/double/core.h"

enum : uint32_t { MAGIC = 0xA160D0B1u };
enum { SPLIT_MAX_COLS = 16, SPLIT_MIN_DEPTH = 256, VECTOR_BYTES = 16 };

static_assert(sizeof(product_algorithm) <= sizeof(cublasLtMatmulAlgo_t), "an algorithm is opaque to its user");

/* The shape that the descriptors give; INVALID_VALUE if they do not fit, NOT_SUPPORTED if nothing can do it. */
static cublasStatus_t shape_of(struct product *product) {
    const product_desc &desc = product->desc;
    const product_layout &a = product->a_layout, &b = product->b_layout, &c = product->c_layout, &d = product->d_layout;
    product->rows = desc.transpose_a ? a.cols : a.rows;
    product->depth = desc.transpose_a ? a.rows : a.cols;
    product->cols = desc.transpose_b ? b.rows : b.cols;
    uint64_t other_depth = desc.transpose_b ? b.cols : b.rows;
    if (other_depth != product->depth || d.rows != product->rows || d.cols != product->cols || c.rows != d.rows ||
        c.cols != d.cols || a.batch_count != d.batch_count || b.batch_count != d.batch_count ||
        c.batch_count != d.batch_count || product->rows == 0 || product->cols == 0 || product->depth == 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    bool order = a.order == CUBLASLT_ORDER_COL && b.order == CUBLASLT_ORDER_COL && c.order == CUBLASLT_ORDER_COL &&
                 d.order == CUBLASLT_ORDER_COL;
    bool types = product_element_bytes(a.type) != 0 && a.type == b.type && c.type == d.type &&
                 (d.type == a.type || d.type == CUDA_R_32F);
    bool compute = desc.compute_type == CUBLAS_COMPUTE_32F ||
                   (a.type == CUDA_R_32F && (desc.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                                             desc.compute_type == CUBLAS_COMPUTE_32F_FAST_16F ||
                                             desc.compute_type == CUBLAS_COMPUTE_32F_FAST_16BF));
    uint32_t epilogue = desc.epilogue & ~uint32_t(CUBLASLT_EPILOGUE_BIAS);
    bool known = epilogue == 0 || epilogue == CUBLASLT_EPILOGUE_DEFAULT || epilogue == CUBLASLT_EPILOGUE_RELU ||
                 epilogue == CUBLASLT_EPILOGUE_GELU;
    bool bias = desc.bias_type == d.type || desc.bias_type == a.type;
    bool host = desc.pointer_mode == CUBLASLT_POINTER_MODE_HOST && desc.scale_type == CUDA_R_32F;
    return order && types && compute && known && bias && host ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static size_t workspace_of(const struct product &product, uint8_t kind) {
    return kind == PRODUCT_SPLIT ? PRODUCT_SPLITS * product.rows * product.cols * sizeof(float) : 0;
}

static uint8_t alignment_of(const void *at) {
    uintptr_t bits = reinterpret_cast<uintptr_t>(at);
    uint8_t alignment = VECTOR_BYTES;
    while ((bits & (alignment - 1u)) != 0)
        alignment /= 2;
    return alignment;
}

static product_algorithm algorithm_for(const struct product &product, const uint32_t alignment[4], uint8_t kind) {
    product_algorithm out{};
    out.magic = MAGIC;
    out.kind = kind;
    out.a_type = uint8_t(product.a_layout.type);
    out.d_type = uint8_t(product.d_layout.type);
    out.compute_type = uint8_t(product.desc.compute_type);
    out.transposes = uint8_t(product.desc.transpose_a | product.desc.transpose_b << 1);
    for (int i = 0; i < 4; i++)
        out.alignment[i] = uint8_t(alignment[i] < uint32_t(VECTOR_BYTES) ? alignment[i] : uint32_t(VECTOR_BYTES));
    out.bias_alignment = alignment_of(product.desc.bias);
    out.rows = product.rows;
    out.cols = kind == PRODUCT_FIXED ? 0 : product.cols;
    out.depth = product.depth;
    out.batch_count = product.d_layout.batch_count;
    return out;
}

static bool algorithm_fits(const struct product &product, const product_algorithm &algorithm) {
    const uint32_t any[4] = {VECTOR_BYTES, VECTOR_BYTES, VECTOR_BYTES, VECTOR_BYTES};
    product_algorithm own = algorithm_for(product, any, algorithm.kind);
    memcpy(own.alignment, algorithm.alignment, sizeof own.alignment);
    own.bias_alignment = algorithm.bias_alignment;
    return memcmp(&own, &algorithm, sizeof own) == 0;
}

static struct product product_of(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                 cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
    struct product product {};
    memcpy(&product.desc, desc, sizeof product.desc);
    memcpy(&product.a_layout, a, sizeof product.a_layout);
    memcpy(&product.b_layout, b, sizeof product.b_layout);
    memcpy(&product.c_layout, c, sizeof product.c_layout);
    memcpy(&product.d_layout, d, sizeof product.d_layout);
    return product;
}

/* Within device memory (or pinned memory, which the device reaches too)? Lock held. */
static bool operand_in_bounds(const void *at, const product_layout &layout) {
    size_t element = product_element_bytes(layout.type);
    size_t elements = size_t(layout.ld) * (layout.cols - 1) + layout.rows +
                      size_t(layout.batch_stride) * size_t(layout.batch_count - 1);
    return memory_holds(core.device_blocks, at, elements * element) ||
           memory_holds(core.pinned_blocks, at, elements * element);
}

static bool aligned(const void *at, unsigned bytes) {
    return reinterpret_cast<uintptr_t>(at) % bytes == 0;
}

/* Counts what is wrong with the operands. */
static cublasStatus_t check_operands(const struct product &product, size_t workspace_bytes) {
    const product_algorithm &algorithm = product.algorithm;
    const uint8_t *alignment = algorithm.alignment;
    bool bias = (product.desc.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
    size_t needed = workspace_of(product, algorithm.kind);
    core_guard guard;
    if (!algorithm_fits(product, algorithm)) {
        core.counts.foreign_algorithms++;
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (needed > workspace_bytes || (needed != 0 && !memory_holds(core.device_blocks, product.workspace, needed))) {
        core.counts.small_workspaces++;
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (!aligned(product.a, alignment[0]) || !aligned(product.b, alignment[1]) ||
        (product.beta != 0 && !aligned(product.c, alignment[2])) || !aligned(product.d, alignment[3]) ||
        !aligned(product.workspace, VECTOR_BYTES) || (bias && !aligned(product.desc.bias, algorithm.bias_alignment))) {
        core.counts.misaligned_operands++;
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (bias && product.desc.bias == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    size_t bias_bytes = product.rows * product_element_bytes(product.desc.bias_type);
    if (!operand_in_bounds(product.a, product.a_layout) || !operand_in_bounds(product.b, product.b_layout) ||
        !operand_in_bounds(product.d, product.d_layout) ||
        (product.beta != 0 && !operand_in_bounds(product.c, product.c_layout)) ||
        (bias && !memory_holds(core.device_blocks, product.desc.bias, bias_bytes) &&
         !memory_holds(core.pinned_blocks, product.desc.bias, bias_bytes))) {
        core.counts.out_of_bounds++;
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    core.counts.products++;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" {
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t wish, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results, int *found) {
    *found = 0;
    if (int planned = core_enter_planned(__func__))
        return static_cast<cublasStatus_t>(planned);
    struct product product = product_of(desc, a, b, c, d);
    product_preference preference;
    memcpy(&preference, wish, sizeof preference);
    cublasStatus_t status = shape_of(&product);
    if (status != CUBLAS_STATUS_SUCCESS || wanted < 1)
        return wanted < 1 ? CUBLAS_STATUS_INVALID_VALUE : status;
    uint8_t kinds[3];
    int count = 0;
    bool split = core.config.split_k && preference.reduction_mask != CUBLASLT_REDUCTION_SCHEME_NONE &&
                 product.cols <= SPLIT_MAX_COLS && product.depth >= SPLIT_MIN_DEPTH &&
                 product.d_layout.batch_count == 1 &&
                 workspace_of(product, PRODUCT_SPLIT) <= preference.workspace_bytes;
    if (split)
        kinds[count++] = PRODUCT_SPLIT;
    kinds[count++] = PRODUCT_WIDE;
    kinds[count++] = PRODUCT_FIXED;
    for (int i = 0; i < count && i < wanted; i++) {
        product_algorithm algorithm = algorithm_for(product, preference.alignment, kinds[i]);
        results[i] = cublasLtMatmulHeuristicResult_t{};
        memcpy(&results[i].algo, &algorithm, sizeof algorithm);
        results[i].workspaceSize = workspace_of(product, kinds[i]);
        results[i].state = CUBLAS_STATUS_SUCCESS;
        results[i].wavesCount = 1;
        *found = i + 1;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result) {
    if (int planned = core_enter_planned(__func__))
        return static_cast<cublasStatus_t>(planned);
    struct product product = product_of(desc, a, b, c, d);
    cublasStatus_t status = shape_of(&product);
    memcpy(&product.algorithm, algo, sizeof product.algorithm);
    if (status == CUBLAS_STATUS_SUCCESS && !algorithm_fits(product, product.algorithm))
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    result->state = status;
    result->workspaceSize = workspace_of(product, product.algorithm.kind);
    result->wavesCount = 1;
    return status;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void *out,
                                                    size_t bytes, size_t *written) {
    product_algorithm algorithm;
    memcpy(&algorithm, algo, sizeof algorithm);
    bool split = algorithm.kind == PRODUCT_SPLIT;
    uint32_t value;
    if (algorithm.magic != MAGIC || bytes < sizeof value)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (attribute == CUBLASLT_ALGO_CONFIG_ID)
        value = algorithm.kind;
    else if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM)
        value = split ? PRODUCT_SPLITS : 1;
    else if (attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)
        value = split ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_NONE;
    else
        return CUBLAS_STATUS_NOT_SUPPORTED;
    memcpy(out, &value, sizeof value);
    if (written != nullptr)
        *written = sizeof value;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
                              const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
    if (int planned = core_enter_planned(__func__))
        return static_cast<cublasStatus_t>(planned);
    if (handle == nullptr || alpha == nullptr || beta == nullptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    struct product product = product_of(desc, a_layout, b_layout, c_layout, d_layout);
    cublasStatus_t status = shape_of(&product);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    product.alpha = *static_cast<const float *>(alpha);
    product.beta = *static_cast<const float *>(beta);
    product.a = a;
    product.b = b;
    product.c = c;
    product.d = d;
    product.workspace = static_cast<float *>(workspace);
    if (algo != nullptr)
        memcpy(&product.algorithm, algo, sizeof product.algorithm);
    status = check_operands(product, workspace_bytes);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    cudaError_t error = stream_enqueue(stream, "product", false, [product] { product_compute(product); });
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
}
