#include "engine/graph/lower_dense.h"

#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/node.h"
#include "engine/graph/shapes.h"

enum { TILE = 32 };

/* The weights as in x out floats, times alpha. Tiles keep both sides of a transposition in the cache. */
static void copy_weights(const struct graph_constant *b, bool transposed, float alpha,
                         const struct program_dense *dense) {
    size_t in = dense->in, out = dense->out;
    if (!transposed)
        constant_floats(b, dense->weights);
    for (size_t k0 = 0; transposed && k0 < in; k0 += TILE)
        for (size_t n0 = 0; n0 < out; n0 += TILE)
            for (size_t k = k0; k < in && k < k0 + TILE; k++)
                for (size_t n = n0; n < out && n < n0 + TILE; n++)
                    dense->weights[k * out + n] = constant_element(b, n * in + k);
    for (size_t i = 0; alpha != 1.0f && i < in * out; i++)
        dense->weights[i] *= alpha;
}

/* Adds the dense step for x of that shape, whose last dimension is consumed. */
static enum weir_status add_dense(struct lowering *lowering, const struct graph_node *node, const struct graph_value *x,
                                  struct program_dense *dense, int *y, struct weir_error *err) {
    struct program_step *step;
    size_t count, row;
    dense->inner_rows = shapes_product(&x->shape, 1, x->shape.rank - 1);
    if (__builtin_mul_overflow(dense->inner_rows, dense->out, &row) || row > GRAPH_MAX_ROW_ELEMENTS ||
        __builtin_mul_overflow(dense->in, dense->out, &count))
        return node_fail(lowering->graph, node, err, WEIR_TOO_LARGE, "its output has more than %d elements a row",
                         GRAPH_MAX_ROW_ELEMENTS);
    if (lower_floats(lowering, node, count, &dense->weights, err) != WEIR_OK)
        return err->status;
    *y = program_add_buffer(lowering->program, row);
    if (*y < 0)
        return node_fail(lowering->graph, node, err, WEIR_NO_MEMORY, "no memory");
    if (!(step = lower_step(lowering, node, PROGRAM_DENSE, x->buffer, y, err)))
        return err->status;
    step->dense = *dense;
    return WEIR_OK;
}

/* The bias of a Gemm from a constant C. */
static enum weir_status gemm_bias(struct lowering *lowering, const struct graph_node *node,
                                  const struct graph_constant *c, float beta, struct program_dense *dense,
                                  struct weir_error *err) {
    const struct tensor_shape batch = {.rank = 2, .dims = {-1, (int64_t)dense->out}};
    char text[96];
    const char *fault = "";
    size_t period;
    enum weir_status status = shapes_broadcast(&batch, &c->shape, &period, &fault);
    /* With one output column, [1] and [1,1] say the same as a bias of one element. */
    if (status != WEIR_OK)
        return node_fail(lowering->graph, node, err, status, "C %s: %s",
                         tensor_shape_text(&c->shape, text, sizeof text), fault);
    if (c->elements == 0)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "C is empty");
    if (beta == 0.0f)
        return WEIR_OK;
    if (lower_floats(lowering, node, dense->out, &dense->bias, err) != WEIR_OK)
        return err->status;
    for (size_t i = 0; i < dense->out; i++)
        dense->bias[i] = beta * constant_element(c, period == 1 ? 0 : i);
    return WEIR_OK;
}

/* Adds beta * C where C is computed. */
static enum weir_status gemm_add(struct lowering *lowering, const struct graph_node *node, float beta, int *y,
                                 struct weir_error *err) {
    struct graph_value *c;
    struct program_step *step;
    const struct program_buffer *buffers = lowering->program->buffers;
    if (lower_computed(lowering, node, 2, &c, err) != WEIR_OK)
        return err->status;
    if (c->shape.rank != 2 || buffers[c->buffer].row_elements != buffers[*y].row_elements)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "a computed C of another shape; supported: the shape of Y, or a constant");
    if (beta == 0.0f)
        return WEIR_OK;
    int term = c->buffer, sum = GRAPH_NONE;
    if (beta != 1.0f) {
        float *factor;
        term = GRAPH_NONE;
        if (lower_floats(lowering, node, 1, &factor, err) != WEIR_OK ||
            !(step = lower_step(lowering, node, PROGRAM_COMBINE_CONSTANT, c->buffer, &term, err)))
            return err->status;
        *factor = beta;
        step->combine = (struct program_combine){.op = COMBINATION_MULTIPLY, .period = 1, .values = factor};
    }
    if (!(step = lower_step(lowering, node, PROGRAM_COMBINE, *y, &sum, err)))
        return err->status;
    step->combine.op = COMBINATION_ADD;
    step->x2 = term;
    *y = sum;
    return WEIR_OK;
}

/* Reads alpha, beta and the transpositions, of which transA must be 0: it would make columns of the batch's rows. */
static enum weir_status gemm_attributes(struct lowering *lowering, const struct graph_node *node, float *alpha,
                                        float *beta, bool *transposed, struct weir_error *err) {
    int64_t trans_a = 0, trans_b = 0;
    if (node_float(lowering->graph, node, "alpha", alpha, err) != WEIR_OK ||
        node_float(lowering->graph, node, "beta", beta, err) != WEIR_OK ||
        node_int(lowering->graph, node, "transA", &trans_a, err) != WEIR_OK ||
        node_int(lowering->graph, node, "transB", &trans_b, err) != WEIR_OK)
        return err->status;
    if (trans_a != 0)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "transA=1 would mix the rows of a batch; supported: transA=0");
    *transposed = trans_b != 0;
    return WEIR_OK;
}

static enum weir_status weights_fault(struct lowering *lowering, const struct graph_node *node,
                                      const struct graph_value *a, const struct graph_constant *b,
                                      struct weir_error *err) {
    char left[96], right[96];
    return node_fail(lowering->graph, node, err, WEIR_INVALID, "A %s and the weights %s do not fit",
                     tensor_shape_text(&a->shape, left, sizeof left),
                     tensor_shape_text(&b->shape, right, sizeof right));
}

enum weir_status lower_dense_gemm(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    float alpha = 1.0f, beta = 1.0f;
    bool transposed = false;
    struct graph_value *a;
    const struct graph_constant *b, *c = NULL;
    struct program_dense dense = {0};
    int y;
    if (gemm_attributes(lowering, node, &alpha, &beta, &transposed, err) != WEIR_OK ||
        lower_computed(lowering, node, 0, &a, err) != WEIR_OK || lower_constant(lowering, node, 1, &b, err) != WEIR_OK)
        return err->status;
    if (!b)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its weights are missing");
    if (a->shape.rank != 2 || b->shape.rank != 2 || b->elements == 0 || b->shape.dims[transposed] != a->shape.dims[1])
        return weights_fault(lowering, node, a, b, err);
    dense.in = (size_t)b->shape.dims[transposed];
    dense.out = (size_t)b->shape.dims[!transposed];
    const struct graph_value *third = node_input(lowering->graph, node, 2);
    bool computed = third && !third->constant;
    if (!computed && (lower_constant(lowering, node, 2, &c, err) != WEIR_OK ||
                      (c && gemm_bias(lowering, node, c, beta, &dense, err) != WEIR_OK)))
        return err->status;
    if (add_dense(lowering, node, a, &dense, &y, err) != WEIR_OK)
        return err->status;
    copy_weights(b, transposed, alpha, &dense);
    if (computed && gemm_add(lowering, node, beta, &y, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = {.rank = 2, .dims = {-1, (int64_t)dense.out}};
    return lower_define(lowering, node, &shape, y, err);
}

enum weir_status lower_dense_matmul(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct graph_value *a;
    const struct graph_constant *b;
    struct program_dense dense = {0};
    int y;
    if (node_input(lowering->graph, node, 0) && node_input(lowering->graph, node, 0)->constant)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "its left side is a constant; supported: a constant right side");
    if (lower_computed(lowering, node, 0, &a, err) != WEIR_OK || lower_constant(lowering, node, 1, &b, err) != WEIR_OK)
        return err->status;
    if (!b)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its weights are missing");
    struct tensor_shape shape = a->shape;
    int rank = b->shape.rank;
    if (rank == 0 || b->elements == 0)
        return weights_fault(lowering, node, a, b, err);
    if (shape.rank < 2 || (rank > 2 && (rank > shape.rank || shapes_product(&b->shape, 0, rank - 2) != 1)))
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "a vector on the left or a batch of matrices on the right; supported: [batch, ..., K] times "
                         "[K, N]");
    int64_t in = b->shape.dims[rank == 1 ? 0 : rank - 2];
    if (shape.dims[shape.rank - 1] != in)
        return weights_fault(lowering, node, a, b, err);
    dense.in = (size_t)in;
    dense.out = rank == 1 ? 1 : (size_t)b->shape.dims[rank - 1];
    if (add_dense(lowering, node, a, &dense, &y, err) != WEIR_OK)
        return err->status;
    copy_weights(b, false, 1.0f, &dense);
    if (rank == 1)
        shape.rank--;
    else
        shape.dims[shape.rank - 1] = (int64_t)dense.out;
    return lower_define(lowering, node, &shape, y, err);
}
