#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_families.h"

extern "C" cuda_launcher cuda_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs) {
    switch (operation->kind) {
    case OPERATION_COPY:
    case OPERATION_UNARY:
    case OPERATION_WHERE:
        return cuda_elementwise_find(operation, inputs, outputs);
    case OPERATION_BINARY:
        return cuda_binary_find(operation, inputs, outputs);
    case OPERATION_CAST:
        return cuda_cast_find(operation, inputs, outputs);
    case OPERATION_SOFTMAX:
    case OPERATION_LAYER_NORM:
    case OPERATION_BATCH_NORM:
    case OPERATION_INSTANCE_NORM:
    case OPERATION_LRN:
    case OPERATION_LP_NORM:
        return cuda_norm_find(operation, inputs, outputs);
    case OPERATION_REDUCE:
    case OPERATION_ARG:
    case OPERATION_CUMSUM:
        return cuda_reduce_find(operation, inputs, outputs);
    case OPERATION_TRANSPOSE:
    case OPERATION_SLICE:
    case OPERATION_EXPAND:
    case OPERATION_CONCAT:
    case OPERATION_TILE:
    case OPERATION_PAD:
    case OPERATION_TRILU:
        return cuda_move_find(operation, inputs, outputs);
    case OPERATION_GATHER:
    case OPERATION_GATHER_ELEMENTS:
    case OPERATION_GATHER_ND:
    case OPERATION_ONE_HOT:
        return cuda_gather_find(operation, inputs, outputs);
    case OPERATION_POOL:
    case OPERATION_CONV:
    case OPERATION_CONV_TRANSPOSE:
        return cuda_window_find(operation, inputs, outputs);
    case OPERATION_RESIZE:
        return cuda_resize_find(operation, inputs, outputs);
    case OPERATION_TOPK:
    case OPERATION_EINSUM:
        return cuda_choice_find(operation, inputs, outputs);
    case OPERATION_SCATTER_ELEMENTS:
    case OPERATION_SCATTER_ND:
        return cuda_scatter_find(operation, inputs, outputs);
    case OPERATION_QUANTIZE:
    case OPERATION_DEQUANTIZE:
    case OPERATION_DYNAMIC_QUANTIZE:
        return cuda_quantize_find(operation, inputs, outputs);
    case OPERATION_RECURRENT:
        return cuda_recurrent_find(operation, inputs, outputs);
    default:
        return NULL;
    }
}

/* What works between the steps of a reduction stays in shared memory; only recurrent layers keep more. */
extern "C" size_t cuda_scratch_bytes(const struct operation *operation, const struct view *inputs,
                                     const struct view *outputs) {
    (void)outputs;
    return operation->kind == OPERATION_RECURRENT ? cuda_recurrent_scratch_bytes(operation, inputs) : 0;
}
