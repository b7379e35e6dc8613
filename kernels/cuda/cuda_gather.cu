#include "kernels/cuda/cuda_families.h"
#include "kernels/cuda/cuda_index.h"
#include "kernels/cuda/cuda_width.h"

/* y [outer, count, inner] = x [outer, size, inner] at the indices. */
struct gather_shape {
    const void *indices;
    bool wide; /* I64 */
    size_t size, count, inner;
};

template <class unit>
static __global__ void gather_runs(const struct gather_shape shape, const void *x, void *y, size_t count) {
    const unit nothing = {};
    CUDA_DEVICE_EACH(i, count) {
        size_t row = i / shape.inner, outer = row / shape.count;
        int64_t index = cuda_index_at(shape.indices, shape.wide, row - outer * shape.count, shape.size);
        size_t from = (outer * shape.size + (size_t)index) * shape.inner + (i - row * shape.inner);
        ((unit *)y)[i] = index < 0 ? nothing : ((const unit *)x)[from];
    }
}

static cudaError_t launch_gather(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *x = &inputs[0], *indices = &inputs[1], *y = &outputs[0];
    int axis = operation->gather.axis;
    size_t inner = view_product(x, axis + 1, x->rank), element_bytes = view_element_bytes(y->element);
    size_t bytes = cuda_width_of_runs(element_bytes, inner ? inner : 1, x->data, y->data);
    struct gather_shape shape = {indices->data, indices->element == ELEMENT_I64, x->dims[axis], view_count(indices),
                                 inner * element_bytes / bytes};
    size_t count = view_product(x, 0, axis) * shape.count * shape.inner;
    cudaError_t error;
    (void)scratch;
    CUDA_WIDTH_SWITCH(error, bytes, gather_runs, count, stream, shape, x->data, y->data, count)
    return error;
}

/* walk: the indices' dimensions with the strides of x, that along the axis 0. */
struct elements_shape {
    struct cuda_walk walk;
    const void *indices;
    bool wide;
    size_t size;
    long long stride; /* along the axis */
};

template <class unit>
static __global__ void gather_elements(const struct elements_shape shape, const unit *x, unit *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        int64_t index = cuda_index_at(shape.indices, shape.wide, i, shape.size);
        y[i] = index < 0 ? (unit)0 : x[cuda_walk_offset(&shape.walk, i) + index * shape.stride];
    }
}

template <class unit>
static cudaError_t launch_gather_elements(const struct operation *operation, const struct view *inputs,
                                          const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *x = &inputs[0], *indices = &inputs[1];
    int axis = operation->gather.axis;
    size_t count = view_count(&outputs[0]);
    struct elements_shape shape = {};
    (void)scratch;
    if (count == 0)
        return cudaSuccess;
    for (int d = 0; d < x->rank; d++)
        cuda_walk_add(&shape.walk, indices->dims[d], d == axis ? 0 : (long long)view_product(x, d + 1, x->rank));
    shape.indices = indices->data;
    shape.wide = indices->element == ELEMENT_I64;
    shape.size = x->dims[axis];
    shape.stride = (long long)view_product(x, axis + 1, x->rank);
    return CUDA_DEVICE_LAUNCH(gather_elements<unit>, count, stream, shape, (const unit *)x->data,
                              (unit *)outputs[0].data, count);
}

/* Each tuple takes a run of `run` units. */
template <class unit>
static __global__ void gather_nd(const struct cuda_index_tuples tuples, size_t run, const void *x, void *y,
                                 size_t count) {
    const unit nothing = {};
    CUDA_DEVICE_EACH(i, count) {
        size_t tuple = i / run;
        int64_t from = cuda_index_tuple(&tuples, tuple);
        ((unit *)y)[i] = from >= 0 ? ((const unit *)x)[(size_t)from * run + (i - tuple * run)] : nothing;
    }
}

static cudaError_t launch_gather_nd(const struct operation *operation, const struct view *inputs,
                                    const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *x = &inputs[0], *indices = &inputs[1], *y = &outputs[0];
    int batch_dims = operation->gather.batch_dims;
    size_t element_bytes = view_element_bytes(y->element);
    cudaError_t error;
    (void)scratch;
    if (view_count(y) == 0)
        return cudaSuccess;
    struct cuda_index_tuples tuples = cuda_index_tuples_of(x, indices, batch_dims);
    size_t run = view_product(x, batch_dims + (int)tuples.width, x->rank);
    size_t bytes = cuda_width_of_runs(element_bytes, run, x->data, y->data);
    run = run * element_bytes / bytes;
    size_t count = view_product(indices, 0, indices->rank - 1) * run;
    CUDA_WIDTH_SWITCH(error, bytes, gather_nd, count, stream, tuples, run, x->data, y->data, count)
    return error;
}

/* y [outer, depth, inner]; values: off, on. */
template <class index, class unit>
static __global__ void one_hot(size_t depth, size_t inner, const index *indices, const unit *values, unit *y,
                               size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        size_t row = i / inner, outer = row / depth;
        int64_t at = (int64_t)(row - outer * depth), found = (int64_t)indices[outer * inner + (i - row * inner)];
        y[i] = values[found == at || (found < 0 && found + (int64_t)depth == at)];
    }
}

template <class index, class unit>
static cudaError_t launch_one_hot(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct view *y = &outputs[0];
    size_t count = view_count(y);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH((one_hot<index, unit>), count, stream, y->dims[operation->axis],
                              view_product(y, operation->axis + 1, y->rank), (const index *)inputs[0].data,
                              (const unit *)inputs[1].data, (unit *)y->data, count);
}

static cuda_launcher find_one_hot(enum element indices, enum element values) {
    size_t bytes = view_element_bytes(values);
    if (indices == ELEMENT_I64)
        return bytes == 1   ? launch_one_hot<int64_t, uint8_t>
               : bytes == 4 ? launch_one_hot<int64_t, uint32_t>
               : bytes == 8 ? launch_one_hot<int64_t, uint64_t>
                            : NULL;
    if (indices == ELEMENT_F32)
        return bytes == 1   ? launch_one_hot<float, uint8_t>
               : bytes == 4 ? launch_one_hot<float, uint32_t>
               : bytes == 8 ? launch_one_hot<float, uint64_t>
                            : NULL;
    if (indices == ELEMENT_I32)
        return bytes == 1   ? launch_one_hot<int32_t, uint8_t>
               : bytes == 4 ? launch_one_hot<int32_t, uint32_t>
               : bytes == 8 ? launch_one_hot<int32_t, uint64_t>
                            : NULL;
    return NULL;
}

extern "C" cuda_launcher cuda_gather_find(const struct operation *operation, const struct view *inputs,
                                          const struct view *outputs) {
    switch (operation->kind) {
    case OPERATION_GATHER:
        return launch_gather;
    case OPERATION_GATHER_ELEMENTS:
        return CUDA_WIDTH_LAUNCHER(launch_gather_elements, outputs[0].element);
    case OPERATION_GATHER_ND:
        return launch_gather_nd;
    case OPERATION_ONE_HOT:
        return find_one_hot(inputs[0].element, outputs[0].element);
    default:
        return NULL;
    }
}
