/* What a product computes: sums in float32 in the order of the depth, in each element alike. */
#include "tests/double/products.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/double/sanitizers.h"

size_t product_element_bytes(int32_t type) {
    return type == CUDA_R_32F ? 4 : type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 0;
}

static float load(const void *at, int32_t type, size_t index) {
    if (type == CUDA_R_16F)
        return __half2float(static_cast<const __half *>(at)[index]);
    if (type == CUDA_R_16BF)
        return __bfloat162float(static_cast<const __nv_bfloat16 *>(at)[index]);
    return static_cast<const float *>(at)[index];
}

static void store(void *at, int32_t type, size_t index, float value) {
    if (type == CUDA_R_16F)
        static_cast<__half *>(at)[index] = __float2half_rn(value);
    else if (type == CUDA_R_16BF)
        static_cast<__nv_bfloat16 *>(at)[index] = __float2bfloat16_rn(value);
    else
        static_cast<float *>(at)[index] = value;
}

/* What the compute type makes of a float32 operand: tf32 has 10 bits of mantissa, rounded to nearest, ties away. */
static float narrow(float value, int32_t compute_type) {
    if (compute_type == CUBLAS_COMPUTE_32F_FAST_16F)
        return __half2float(__float2half_rn(value));
    if (compute_type == CUBLAS_COMPUTE_32F_FAST_16BF)
        return __bfloat162float(__float2bfloat16_rn(value));
    if (compute_type != CUBLAS_COMPUTE_32F_FAST_TF32 || !std::isfinite(value))
        return value;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000u) & ~0x1fffu;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* GELU's epilogue is the tanh form. */
static float finish(float value, uint32_t epilogue) {
    if ((epilogue & CUBLASLT_EPILOGUE_RELU) != 0)
        return value > 0 || std::isnan(value) ? value : 0;
    if ((epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
        return 0.5f * value * (1 + tanhf(0.7978845608f * (value + 0.044715f * value * value * value)));
    return value;
}

static const char *batch_at(const void *base, const product_layout &layout, int64_t batch) {
    return static_cast<const char *>(base) + layout.batch_stride * batch * int64_t(product_element_bytes(layout.type));
}

static void touch(const void *base, const product_layout &layout, bool write) {
    size_t element = product_element_bytes(layout.type), column = layout.rows * element;
    for (uint64_t col = 0; col < layout.cols; col++) {
        char *at = static_cast<char *>(const_cast<void *>(base)) + col * uint64_t(layout.ld) * element;
        if (write)
            touch_write(at, column);
        else
            touch_read(at, column);
    }
}

/* op(A) of one batch as [depth][rows]. */
static std::vector<float> pack_a(const struct product &product, const void *a) {
    std::vector<float> packed(product.rows * product.depth);
    size_t ld = size_t(product.a_layout.ld);
    for (uint64_t k = 0; k < product.depth; k++) {
        for (uint64_t row = 0; row < product.rows; row++) {
            size_t at = product.desc.transpose_a ? row * ld + k : k * ld + row;
            packed[k * product.rows + row] = narrow(load(a, product.a_layout.type, at), product.desc.compute_type);
        }
    }
    return packed;
}

/* sums[rows] += op(A) times column col of op(B), over the depth [from, to). */
static void add_products(const struct product &product, const float *packed, const void *b, uint64_t col,
                         const uint64_t range[2], float *sums) {
    size_t ld = size_t(product.b_layout.ld), rows = product.rows;
    for (uint64_t k = range[0]; k < range[1]; k++) {
        size_t at = product.desc.transpose_b ? k * ld + col : col * ld + k;
        float factor = narrow(load(b, product.b_layout.type, at), product.desc.compute_type);
        const float *column = packed + k * rows;
        for (size_t row = 0; row < rows; row++)
            sums[row] += column[row] * factor;
    }
}

static void sum_column(const struct product &product, const float *packed, const void *b, uint64_t col, float *sums) {
    uint64_t rows = product.rows, whole[2] = {0, product.depth};
    memset(sums, 0, rows * sizeof *sums);
    if (product.algorithm.kind != PRODUCT_SPLIT) {
        add_products(product, packed, b, col, whole, sums);
        return;
    }
    uint64_t length = (product.depth + PRODUCT_SPLITS - 1) / PRODUCT_SPLITS;
    for (uint64_t split = 0; split < PRODUCT_SPLITS; split++) {
        float *part = product.workspace + (split * product.cols + col) * rows;
        uint64_t range[2] = {split * length,
                             (split + 1) * length < product.depth ? (split + 1) * length : product.depth};
        touch_write(part, rows * sizeof *part);
        memset(part, 0, rows * sizeof *part);
        if (range[0] < range[1])
            add_products(product, packed, b, col, range, part);
        for (uint64_t row = 0; row < rows; row++)
            sums[row] += part[row];
    }
}

static void finish_column(const struct product &product, int64_t batch, uint64_t col, const float *sums) {
    const product_desc &desc = product.desc;
    const char *c = batch_at(product.c, product.c_layout, batch);
    char *d = const_cast<char *>(batch_at(product.d, product.d_layout, batch));
    for (uint64_t row = 0; row < product.rows; row++) {
        float value = product.alpha * sums[row];
        if (product.beta != 0)
            value += product.beta * load(c, product.c_layout.type, col * uint64_t(product.c_layout.ld) + row);
        if ((desc.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
            value += load(desc.bias, desc.bias_type, uint64_t(batch * desc.bias_batch_stride) + row);
        store(d, product.d_layout.type, col * uint64_t(product.d_layout.ld) + row, finish(value, desc.epilogue));
    }
}

void product_compute(const struct product &product) {
    std::vector<float> sums(product.rows);
    for (int64_t batch = 0; batch < product.d_layout.batch_count; batch++) {
        const char *a = batch_at(product.a, product.a_layout, batch), *b = batch_at(product.b, product.b_layout, batch);
        touch(a, product.a_layout, false);
        touch(b, product.b_layout, false);
        if (product.beta != 0)
            touch(batch_at(product.c, product.c_layout, batch), product.c_layout, false);
        if ((product.desc.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
            touch_read(static_cast<const char *>(product.desc.bias) + size_t(batch * product.desc.bias_batch_stride) *
                                                                          product_element_bytes(product.desc.bias_type),
                       product.rows * product_element_bytes(product.desc.bias_type));
        touch(batch_at(product.d, product.d_layout, batch), product.d_layout, true);
        std::vector<float> packed = pack_a(product, a);
        for (uint64_t col = 0; col < product.cols; col++) {
            sum_column(product, packed.data(), b, col, sums.data());
            finish_column(product, batch, col, sums.data());
        }
    }
}
