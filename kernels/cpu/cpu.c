#include "kernels/cpu/cpu.h"

#include "kernels/cpu/cpu_elementwise.h"
#include "kernels/cpu/cpu_move.h"
#include "kernels/cpu/cpu_norm.h"
#include "kernels/cpu/cpu_quantize.h"
#include "kernels/cpu/cpu_recurrent.h"
#include "kernels/cpu/cpu_reduce.h"

operation_function cpu_find(const struct operation *operation, const struct view *inputs, const struct view *outputs) {
    switch (operation->kind) {
    case OPERATION_COPY:
    case OPERATION_UNARY:
    case OPERATION_BINARY:
    case OPERATION_WHERE:
    case OPERATION_CAST:
        return cpu_elementwise_find(operation, inputs, outputs);
    case OPERATION_TRANSPOSE:
    case OPERATION_SLICE:
    case OPERATION_CONCAT:
    case OPERATION_GATHER:
    case OPERATION_EXPAND:
    case OPERATION_TILE:
    case OPERATION_PAD:
    case OPERATION_RESIZE:
        return cpu_move_find(operation, inputs, outputs);
    case OPERATION_SOFTMAX:
    case OPERATION_LAYER_NORM:
    case OPERATION_BATCH_NORM:
    case OPERATION_INSTANCE_NORM:
        return cpu_norm_find(operation, inputs, outputs);
    case OPERATION_REDUCE:
    case OPERATION_ARG:
        return cpu_reduce_find(operation, inputs, outputs);
    case OPERATION_RECURRENT:
        return cpu_recurrent_find(operation, inputs, outputs);
    case OPERATION_QUANTIZE:
    case OPERATION_DEQUANTIZE:
    case OPERATION_DYNAMIC_QUANTIZE:
    case OPERATION_QLINEAR_MATMUL:
    case OPERATION_QLINEAR_CONV:
    case OPERATION_MATMUL_INTEGER:
    case OPERATION_CONV_INTEGER:
        return cpu_quantize_find(operation, inputs, outputs);
    default:
        return NULL;
    }
}

size_t cpu_scratch_bytes(const struct operation *operation, const struct view *inputs, const struct view *outputs) {
    return operation->kind == OPERATION_RECURRENT ? cpu_recurrent_scratch_bytes(operation, inputs, outputs) : 0;
}
