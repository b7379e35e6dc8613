/* Handles, descriptors, layouts and preferences of cuBLASLt. */
#include <cstring>

#include "tests/double/core.h"
#include "tests/double/products.h"

static_assert(sizeof(product_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "a layout is opaque to its user");
static_assert(sizeof(product_desc) <= sizeof(cublasLtMatmulDescOpaque_t), "a descriptor is opaque to its user");
static_assert(sizeof(product_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "so is a preference");

/* Where an attribute lies in its structure. */
struct attribute_place {
    int attribute;
    size_t offset, bytes;
};

#define PLACE(structure, attribute, member)                                                                            \
    { attribute, offsetof(structure, member), sizeof(structure::member) }

static const attribute_place layout_places[] = {
    PLACE(product_layout, CUBLASLT_MATRIX_LAYOUT_TYPE, type),
    PLACE(product_layout, CUBLASLT_MATRIX_LAYOUT_ORDER, order),
    PLACE(product_layout, CUBLASLT_MATRIX_LAYOUT_ROWS, rows),
    PLACE(product_layout, CUBLASLT_MATRIX_LAYOUT_COLS, cols),
    PLACE(product_layout, CUBLASLT_MATRIX_LAYOUT_LD, ld),
    PLACE(product_layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch_count),
    PLACE(product_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride),
};

static const attribute_place desc_places[] = {
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute_type),
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale_type),
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, pointer_mode),
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_TRANSA, transpose_a),
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_TRANSB, transpose_b),
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue),
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias),
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, bias_batch_stride),
    PLACE(product_desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type),
};

static const attribute_place preference_places[] = {
    PLACE(product_preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes),
    PLACE(product_preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reduction_mask),
    PLACE(product_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment[0]),
    PLACE(product_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment[1]),
    PLACE(product_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment[2]),
    PLACE(product_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment[3]),
};

/* Sets (in) or gets (out) an attribute of exactly its size. */
template <size_t count>
static cublasStatus_t attribute_copy(const attribute_place (&places)[count], int attribute, void *structure,
                                     const void *in, void *out, size_t bytes) {
    for (const attribute_place &place : places) {
        if (place.attribute != attribute)
            continue;
        if (place.bytes != bytes || (in == nullptr && out == nullptr))
            return CUBLAS_STATUS_INVALID_VALUE;
        char *at = static_cast<char *>(structure) + place.offset;
        memcpy(in != nullptr ? at : out, in != nullptr ? in : at, bytes);
        return CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

static void made(void *object) {
    core_guard guard;
    core.product_objects.insert(object);
    core.counts.product_objects++;
}

static void destroyed(void *object) {
    core_guard guard;
    core.product_objects.erase(object);
    core.counts.product_objects--;
}

/* Every function begins with this. */
#define PRODUCTS_ENTER()                                                                                               \
    do {                                                                                                               \
        if (int planned = core_enter_planned(__func__))                                                                \
            return static_cast<cublasStatus_t>(planned);                                                               \
    } while (0)

extern "C" {
/* As the real one it needs a device that works. */
cublasStatus_t cublasLtCreate(cublasLtHandle_t *out) {
    PRODUCTS_ENTER();
    if (core_enter("a context") != cudaSuccess)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *out = reinterpret_cast<cublasLtHandle_t>(new char);
    made(*out);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    PRODUCTS_ENTER();
    destroyed(handle);
    delete reinterpret_cast<char *>(handle);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void) {
    return CUBLAS_VERSION;
}

size_t cublasLtGetCudartVersion(void) {
    return CUDART_VERSION;
}

const char *cublasLtGetStatusName(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
        return "simulated cuBLAS status";
    }
}

const char *cublasLtGetStatusString(cublasStatus_t status) {
    return cublasLtGetStatusName(status);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t at, size_t bytes, cublasComputeType_t compute,
                                               cudaDataType scale) {
    product_desc desc{};
    if (bytes < sizeof desc)
        return CUBLAS_STATUS_ALLOC_FAILED;
    desc.compute_type = compute;
    desc.scale_type = scale;
    desc.pointer_mode = CUBLASLT_POINTER_MODE_HOST;
    desc.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    desc.bias_type = CUDA_R_32F;
    memcpy(at, &desc, sizeof desc);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute, cudaDataType scale) {
    PRODUCTS_ENTER();
    *out = new cublasLtMatmulDescOpaque_t{};
    made(*out);
    return cublasLtMatmulDescInit_internal(*out, sizeof **out, compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
    PRODUCTS_ENTER();
    destroyed(desc);
    delete desc;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void *in, size_t bytes) {
    PRODUCTS_ENTER();
    return attribute_copy(desc_places, attribute, desc, in, nullptr, bytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              void *out, size_t bytes, size_t *written) {
    PRODUCTS_ENTER();
    if (written != nullptr)
        *written = bytes;
    return attribute_copy(desc_places, attribute, desc, nullptr, out, bytes);
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t at, size_t bytes, cudaDataType type,
                                                 uint64_t rows, uint64_t cols, int64_t ld) {
    product_layout layout{rows, cols, ld, 0, type, CUBLASLT_ORDER_COL, 1};
    if (bytes < sizeof layout)
        return CUBLAS_STATUS_ALLOC_FAILED;
    memcpy(at, &layout, sizeof layout);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows, uint64_t cols,
                                          int64_t ld) {
    PRODUCTS_ENTER();
    if (ld < int64_t(rows))
        return CUBLAS_STATUS_INVALID_VALUE;
    *out = new cublasLtMatrixLayoutOpaque_t{};
    made(*out);
    return cublasLtMatrixLayoutInit_internal(*out, sizeof **out, type, rows, cols, ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
    PRODUCTS_ENTER();
    destroyed(layout);
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *in,
                                                size_t bytes) {
    PRODUCTS_ENTER();
    return attribute_copy(layout_places, attribute, layout, in, nullptr, bytes);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void *out, size_t bytes,
                                                size_t *written) {
    PRODUCTS_ENTER();
    if (written != nullptr)
        *written = bytes;
    return attribute_copy(layout_places, attribute, layout, nullptr, out, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t at, size_t bytes) {
    product_preference preference{0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}};
    if (bytes < sizeof preference)
        return CUBLAS_STATUS_ALLOC_FAILED;
    memcpy(at, &preference, sizeof preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
    PRODUCTS_ENTER();
    *out = new cublasLtMatmulPreferenceOpaque_t{};
    made(*out);
    return cublasLtMatmulPreferenceInit_internal(*out, sizeof **out);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
    PRODUCTS_ENTER();
    destroyed(preference);
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *in,
                                                    size_t bytes) {
    PRODUCTS_ENTER();
    return attribute_copy(preference_places, attribute, preference, in, nullptr, bytes);
}
}
