#include "kernels/ref/ref.h"

#include "kernels/ref/ref_elementwise.h"
#include "kernels/ref/ref_matmul.h"
#include "kernels/ref/ref_move.h"
#include "kernels/ref/ref_norm.h"
#include "kernels/ref/ref_quantize.h"
#include "kernels/ref/ref_recurrent.h"
#include "kernels/ref/ref_reduce.h"
#include "kernels/ref/ref_resize.h"
#include "kernels/ref/ref_window.h"

operation_function ref_find(enum operation_kind kind) {
    static const operation_function functions[OPERATION_KINDS] = {
        [OPERATION_COPY] = ref_copy,
        [OPERATION_UNARY] = ref_unary,
        [OPERATION_BINARY] = ref_binary,
        [OPERATION_WHERE] = ref_where,
        [OPERATION_CAST] = ref_cast,
        [OPERATION_MATMUL] = ref_matmul,
        [OPERATION_CONV] = ref_conv,
        [OPERATION_CONV_TRANSPOSE] = ref_conv_transpose,
        [OPERATION_POOL] = ref_pool,
        [OPERATION_REDUCE] = ref_reduce,
        [OPERATION_ARG] = ref_arg,
        [OPERATION_SOFTMAX] = ref_softmax,
        [OPERATION_LAYER_NORM] = ref_layer_norm,
        [OPERATION_BATCH_NORM] = ref_batch_norm,
        [OPERATION_INSTANCE_NORM] = ref_instance_norm,
        [OPERATION_LRN] = ref_lrn,
        [OPERATION_LP_NORM] = ref_lp_norm,
        [OPERATION_TRANSPOSE] = ref_transpose,
        [OPERATION_SLICE] = ref_slice,
        [OPERATION_CONCAT] = ref_concat,
        [OPERATION_GATHER] = ref_gather,
        [OPERATION_GATHER_ELEMENTS] = ref_gather_elements,
        [OPERATION_GATHER_ND] = ref_gather_nd,
        [OPERATION_SCATTER_ELEMENTS] = ref_scatter_elements,
        [OPERATION_SCATTER_ND] = ref_scatter_nd,
        [OPERATION_EXPAND] = ref_expand,
        [OPERATION_TILE] = ref_tile,
        [OPERATION_PAD] = ref_pad,
        [OPERATION_RESIZE] = ref_resize,
        [OPERATION_CUMSUM] = ref_cumsum,
        [OPERATION_TOPK] = ref_topk,
        [OPERATION_ONE_HOT] = ref_one_hot,
        [OPERATION_TRILU] = ref_trilu,
        [OPERATION_EINSUM] = ref_einsum,
        [OPERATION_QUANTIZE] = ref_quantize,
        [OPERATION_DEQUANTIZE] = ref_dequantize,
        [OPERATION_DYNAMIC_QUANTIZE] = ref_dynamic_quantize,
        [OPERATION_QLINEAR_MATMUL] = ref_qlinear_matmul,
        [OPERATION_QLINEAR_CONV] = ref_qlinear_conv,
        [OPERATION_MATMUL_INTEGER] = ref_matmul_integer,
        [OPERATION_CONV_INTEGER] = ref_conv_integer,
        [OPERATION_RECURRENT] = ref_recurrent,
    };
    return functions[kind];
}

size_t ref_scratch_bytes(const struct operation *operation, const struct view *inputs, const struct view *outputs) {
    switch (operation->kind) {
    case OPERATION_TOPK:
        return ref_topk_scratch_bytes(operation, inputs, outputs);
    case OPERATION_RECURRENT:
        return ref_recurrent_scratch_bytes(operation, inputs, outputs);
    default:
        return 0;
    }
}
