#include "engine/graph/lower_matrix.h"

#include "engine/graph/lower_einsum.h"
#include "engine/graph/node.h"
#include "engine/graph/operators.h"
#include "engine/graph/wires.h"

/* The dimensions in front of a matrix, or none of a vector. */
static struct tensor_shape leading(const struct tensor_shape *shape) {
    struct tensor_shape lead = *shape;
    lead.rank = shape->rank > 2 ? shape->rank - 2 : 0;
    return lead;
}

enum weir_status lower_matrix_shape(const struct lowering *lowering, const struct graph_node *node,
                                    const struct tensor_shape *a, const struct tensor_shape *b, struct tensor_shape *y,
                                    struct weir_error *err) {
    char left[160], right[160];
    struct tensor_shape a_lead = leading(a), b_lead = leading(b), shape;
    tensor_shape_text(a, left, sizeof left);
    tensor_shape_text(b, right, sizeof right);
    if (a->rank == 0 || b->rank == 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "A is %s and B %s: a scalar is no matrix", left,
                         right);
    int a_inner = a->rank - 1, b_inner = b->rank > 1 ? b->rank - 2 : 0;
    if (a->dims[a_inner] != b->dims[b_inner])
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "A is %s and B %s: dimension %d of A (%lld) must be dimension %d of B (%lld)", left, right,
                         a_inner, (long long)a->dims[a_inner], b_inner, (long long)b->dims[b_inner]);
    if (!shapes_broadcast(&a_lead, &b_lead, &shape))
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "A is %s and B %s: their dimensions before the last two do not fit", left, right);
    if (a->rank > 1)
        shape.dims[shape.rank++] = a->dims[a->rank - 2];
    if (b->rank > 1)
        shape.dims[shape.rank++] = b->dims[b->rank - 1];
    *y = shape;
    return WEIR_OK;
}

static enum weir_status lower_matmul(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct operation operation = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1.0f, .beta = 1.0f}};
    const struct fact *a, *b;
    struct tensor_shape y;
    if (lower_need_float(lowering, node, 0, &a, err) != WEIR_OK ||
        lower_need_float(lowering, node, 1, &b, err) != WEIR_OK ||
        lower_matrix_shape(lowering, node, &a->shape, &b->shape, &y, err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_F32, &y, err) != WEIR_OK)
        return err->status;
    return wires_step(lowering, node, &operation, 3, 1, err);
}

static enum weir_status gemm_attributes(const struct lowering *lowering, const struct graph_node *node,
                                        struct matmul *matmul, struct weir_error *err) {
    int64_t transpose_a = 0, transpose_b = 0;
    if (node_float(lowering->graph, node, "alpha", &matmul->alpha, err) != WEIR_OK ||
        node_float(lowering->graph, node, "beta", &matmul->beta, err) != WEIR_OK ||
        node_int(lowering->graph, node, "transA", &transpose_a, err) != WEIR_OK ||
        node_int(lowering->graph, node, "transB", &transpose_b, err) != WEIR_OK)
        return err->status;
    matmul->transpose_a = transpose_a != 0;
    matmul->transpose_b = transpose_b != 0;
    return WEIR_OK;
}

/* Shape of the product of inputs 0 and 1, two matrices, transposed as matmul says. */
static enum weir_status gemm_shape(const struct lowering *lowering, const struct graph_node *node,
                                   const struct matmul *matmul, struct tensor_shape *y, struct weir_error *err) {
    const struct tensor_shape *a = &lower_input(lowering, node, 0)->shape, *b = &lower_input(lowering, node, 1)->shape;
    char left[160], right[160];
    tensor_shape_text(a, left, sizeof left);
    tensor_shape_text(b, right, sizeof right);
    if (a->rank != 2 || b->rank != 2)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "A is %s and B %s, expected two matrices", left,
                         right);
    int a_inner = !matmul->transpose_a, b_inner = matmul->transpose_b;
    if (a->dims[a_inner] != b->dims[b_inner])
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "A is %s and B %s: dimension %d of A (%lld) must be dimension %d of B (%lld)", left, right,
                         a_inner, (long long)a->dims[a_inner], b_inner, (long long)b->dims[b_inner]);
    *y = (struct tensor_shape){.rank = 2, .dims = {a->dims[!a_inner], b->dims[!b_inner]}};
    return WEIR_OK;
}

static enum weir_status check_addend(const struct lowering *lowering, const struct graph_node *node,
                                     const struct tensor_shape *c, const struct tensor_shape *y,
                                     struct weir_error *err) {
    struct tensor_shape both;
    char addend[160], whole[160];
    if (!shapes_broadcast(c, y, &both) || !shapes_equal(&both, y))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "C is %s, which does not broadcast to %s",
                         tensor_shape_text(c, addend, sizeof addend), tensor_shape_text(y, whole, sizeof whole));
    return WEIR_OK;
}

static enum weir_status lower_gemm(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1.0f, .beta = 1.0f}};
    const struct fact *a, *b, *c = NULL;
    struct tensor_shape y;
    int inputs[3] = {-1, -1, -1}, output;
    bool added = lower_input(lowering, node, 2);
    if (lower_need_float(lowering, node, 0, &a, err) != WEIR_OK ||
        lower_need_float(lowering, node, 1, &b, err) != WEIR_OK ||
        (added && lower_need_float(lowering, node, 2, &c, err) != WEIR_OK) ||
        gemm_attributes(lowering, node, &operation.matmul, err) != WEIR_OK ||
        gemm_shape(lowering, node, &operation.matmul, &y, err) != WEIR_OK ||
        (added && check_addend(lowering, node, &c->shape, &y, err) != WEIR_OK) ||
        lower_define(lowering, node, 0, TENSOR_F32, &y, err) != WEIR_OK)
        return err->status;
    /* As in BLAS, nothing is read of a C that counts for nothing. */
    int count = added && operation.matmul.beta != 0.0f ? 3 : 2;
    for (int i = 0; i < count; i++)
        if (lower_input_buffer(lowering, node, i, &inputs[i], err) != WEIR_OK)
            return err->status;
    output = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {inputs, &output, 3, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

static const struct operator_entry entries[] = {
    {"Einsum", " equation ", 1, GRAPH_MAX_NODE_VALUES, 1, lower_einsum},
    {"Gemm", " alpha beta broadcast transA transB ", 2, 3, 1, lower_gemm}, /* broadcast: before opset 7 */
    {"MatMul", " ", 2, 2, 1, lower_matmul},
};

const struct operator_family lower_matrix_family = {entries, sizeof entries / sizeof entries[0]};
