/* Indices that a model computes: they may be negative, or point nowhere. */
#ifndef WEIR_KERNELS_CUDA_CUDA_INDEX_H
#define WEIR_KERNELS_CUDA_CUDA_INDEX_H

#include "kernels/cuda/cuda_device.h"

/* Index number `at`, made 0..size-1; -1 where it is out of range. Negative ones count from the end. wide: I64, else
 * I32. */
static __device__ __forceinline__ int64_t cuda_index_at(const void *indices, bool wide, size_t at, size_t size) {
    int64_t index = wide ? ((const int64_t *)indices)[at] : ((const int32_t *)indices)[at];
    if (index < 0)
        index += (int64_t)size;
    return index >= 0 && index < (int64_t)size ? index : -1;
}

/* Tuples of indices into the first `width` dimensions behind those of the batch. */
struct cuda_index_tuples {
    const void *indices;
    bool wide;
    size_t width, per_batch; /* tuples of one place of the batch */
    size_t sizes[VIEW_MAX_RANK];
};

/* Which run of elements tuple number `tuple` names; -1: none. */
static __device__ __forceinline__ int64_t cuda_index_tuple(const struct cuda_index_tuples *tuples, size_t tuple) {
    size_t place = tuple / tuples->per_batch;
    for (size_t k = 0; k < tuples->width; k++) {
        int64_t index = cuda_index_at(tuples->indices, tuples->wide, tuple * tuples->width + k, tuples->sizes[k]);
        if (index < 0)
            return -1;
        place = place * tuples->sizes[k] + (size_t)index;
    }
    return (int64_t)place;
}

static inline struct cuda_index_tuples cuda_index_tuples_of(const struct view *data, const struct view *indices,
                                                            int batch_dims) {
    struct cuda_index_tuples tuples = {};
    tuples.indices = indices->data;
    tuples.wide = indices->element == ELEMENT_I64;
    tuples.width = indices->dims[indices->rank - 1];
    tuples.per_batch = view_product(indices, batch_dims, indices->rank - 1);
    for (size_t k = 0; k < tuples.width; k++)
        tuples.sizes[k] = data->dims[batch_dims + (int)k];
    return tuples;
}

#endif
