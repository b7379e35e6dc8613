/* Updates that meet in one place come in order, as the oracle has them: whatever may meet is one thread's. */
#include "kernels/cuda/cuda_families.h"
#include "kernels/cuda/cuda_index.h"
#include "kernels/cuda/cuda_width.h"

static __device__ __forceinline__ float combine(enum scatter_reduction reduction, float before, float update) {
    if (reduction == SCATTER_ADD || reduction == SCATTER_MULTIPLY)
        return reduction == SCATTER_ADD ? before + update : before * update;
    if (before != before || update != update)
        return NAN;
    return (reduction == SCATTER_MAX) == (before > update) ? before : update;
}

/* In 64 bits, cut to the element's width by the caller. */
static __device__ __forceinline__ int64_t combine(enum scatter_reduction reduction, int64_t before, int64_t update) {
    if (reduction == SCATTER_ADD)
        return (int64_t)((uint64_t)before + (uint64_t)update);
    if (reduction == SCATTER_MULTIPLY)
        return (int64_t)((uint64_t)before * (uint64_t)update);
    return (reduction == SCATTER_MAX) == (before > update) ? before : update;
}

/* y = update, or with what is there. */
struct replace {
    template <class unit> __device__ __forceinline__ void operator()(unit *y, unit update) const {
        *y = update;
    }
};

template <class wide> struct reducing {
    enum scatter_reduction reduction;
    template <class number> __device__ __forceinline__ void operator()(number *y, number update) const {
        *y = (number)combine(reduction, (wide)*y, (wide)update);
    }
};

/* A line along the axis of the indices, and of the data: updates of other lines never meet it. */
struct lines_shape {
    struct cuda_walk data, updates; /* over the indices' other dimensions, in the data and in the indices themselves */
    const void *indices;
    bool wide;
    size_t lines, length, size;  /* length: of the indices along the axis; size: of the data */
    size_t data_step, from_step; /* along the axis */
};

template <class unit, class method>
static __global__ void scatter_lines(const struct lines_shape shape, const method put, const unit *updates, unit *y) {
    CUDA_DEVICE_EACH(line, shape.lines) {
        unit *to = y + cuda_walk_offset(&shape.data, line);
        size_t from = (size_t)cuda_walk_offset(&shape.updates, line);
        for (size_t k = 0; k < shape.length; k++, from += shape.from_step) {
            int64_t index = cuda_index_at(shape.indices, shape.wide, from, shape.size);
            if (index >= 0)
                put(to + (size_t)index * shape.data_step, updates[from]);
        }
    }
}

/* A thread for each element of a run: all tuples, in order. */
template <class unit, class method>
static __global__ void scatter_tuples(const struct cuda_index_tuples tuples, const method put, size_t count, size_t run,
                                      const unit *updates, unit *y) {
    CUDA_DEVICE_EACH(at, run) {
        for (size_t tuple = 0; tuple < count; tuple++) {
            int64_t place = cuda_index_tuple(&tuples, tuple);
            if (place >= 0)
                put(y + (size_t)place * run + at, updates[tuple * run + at]);
        }
    }
}

static struct lines_shape lines_of(const struct operation *operation, const struct view *data,
                                   const struct view *indices) {
    struct lines_shape shape = {};
    int axis = operation->gather.axis;
    for (int d = 0; d < data->rank; d++)
        if (d != axis) {
            cuda_walk_add(&shape.data, indices->dims[d], (long long)view_product(data, d + 1, data->rank));
            cuda_walk_add(&shape.updates, indices->dims[d], (long long)view_product(indices, d + 1, indices->rank));
        }
    shape.indices = indices->data;
    shape.wide = indices->element == ELEMENT_I64;
    shape.lines = cuda_walk_count(&shape.updates);
    shape.length = indices->dims[axis];
    shape.size = data->dims[axis];
    shape.data_step = view_product(data, axis + 1, data->rank);
    shape.from_step = view_product(indices, axis + 1, indices->rank);
    return shape;
}

template <class unit, class method>
static cudaError_t scatter(const struct operation *operation, const struct view *inputs, const struct view *y,
                           const method &put, cudaStream_t stream) {
    const struct view *data = &inputs[0], *indices = &inputs[1];
    const unit *updates = (const unit *)inputs[2].data;
    size_t bytes = view_count(data) * sizeof(unit);
    cudaError_t error =
        bytes > 0 ? cudaMemcpyAsync(y->data, data->data, bytes, cudaMemcpyDeviceToDevice, stream) : cudaSuccess;
    if (error != cudaSuccess || bytes == 0 || view_count(&inputs[2]) == 0)
        return error;
    if (operation->kind == OPERATION_SCATTER_ELEMENTS) {
        struct lines_shape shape = lines_of(operation, data, indices);
        return CUDA_DEVICE_LAUNCH((scatter_lines<unit, method>), shape.lines, stream, shape, put, updates,
                                  (unit *)y->data);
    }
    struct cuda_index_tuples tuples = cuda_index_tuples_of(data, indices, 0);
    size_t run = view_product(data, (int)tuples.width, data->rank);
    return CUDA_DEVICE_LAUNCH((scatter_tuples<unit, method>), run, stream, tuples, put, tuples.per_batch, run, updates,
                              (unit *)y->data);
}

template <class unit>
static cudaError_t launch_replace(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs, void *scratch, cudaStream_t stream) {
    (void)scratch;
    return scatter<unit>(operation, inputs, outputs, replace{}, stream);
}

template <class number, class wide>
static cudaError_t launch_reduce(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    (void)scratch;
    return scatter<number>(operation, inputs, outputs, reducing<wide>{operation->gather.reduction}, stream);
}

extern "C" cuda_launcher cuda_scatter_find(const struct operation *operation, const struct view *inputs,
                                           const struct view *outputs) {
    (void)inputs;
    if (operation->kind != OPERATION_SCATTER_ELEMENTS && operation->kind != OPERATION_SCATTER_ND)
        return NULL;
    if (operation->gather.reduction == SCATTER_SET)
        return CUDA_WIDTH_LAUNCHER(launch_replace, outputs[0].element);
    switch (outputs[0].element) {
    case ELEMENT_F32:
        return launch_reduce<float, float>;
    case ELEMENT_I64:
        return launch_reduce<int64_t, int64_t>;
    case ELEMENT_I32:
        return launch_reduce<int32_t, int64_t>;
    case ELEMENT_I8:
        return launch_reduce<int8_t, int64_t>;
    case ELEMENT_U8:
        return launch_reduce<uint8_t, int64_t>;
    default:
        return NULL;
    }
}
