/* The double of cuBLASLt: descriptors, and one product with everything that its computation reads. Matrices are
 * column-major. */
#ifndef WEIR_TESTS_DOUBLE_PRODUCTS_H
#define WEIR_TESTS_DOUBLE_PRODUCTS_H

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

/* These lie within the library's opaque structures, so that both Create and Init work. */
struct product_layout {
    uint64_t rows, cols;
    int64_t ld, batch_stride; /* elements */
    int32_t type, order, batch_count;
};

struct product_desc {
    const void *bias;
    int64_t bias_batch_stride;
    int32_t compute_type, scale_type, pointer_mode, transpose_a, transpose_b, bias_type;
    uint32_t epilogue;
};

struct product_preference {
    uint64_t workspace_bytes;
    uint32_t reduction_mask;
    uint32_t alignment[4]; /* of a, b, c, d */
};

/* WIDE: for the shape it was chosen for. SPLIT: likewise, with parts of the sum in the workspace. FIXED: for any number
 * of columns, with the same bits for each column. */
enum product_algorithm_kind : uint8_t { PRODUCT_WIDE, PRODUCT_SPLIT, PRODUCT_FIXED };
enum { PRODUCT_SPLITS = 4 };

struct product_algorithm {
    uint32_t magic;
    uint8_t kind, a_type, d_type, compute_type, transposes, alignment[4], bias_alignment, spare[2];
    uint64_t rows, cols, depth;
    int64_t batch_count;
};

struct product {
    product_desc desc;
    product_layout a_layout, b_layout, c_layout, d_layout;
    uint64_t rows, cols, depth; /* of op(A) op(B): [rows, depth] x [depth, cols] */
    float alpha, beta;
    const void *a, *b, *c;
    void *d;
    float *workspace;
    product_algorithm algorithm;
};

size_t product_element_bytes(int32_t type);
/* D = epilogue(alpha op(A) op(B) + beta C). Declares to ThreadSanitizer what it reads and writes. */
void product_compute(const struct product &product);

#endif
