#include "engine/graph/lower_einsum.h"

#include <string.h>

#include "engine/graph/einsum_equation.h"
#include "engine/graph/node.h"
#include "engine/graph/wires.h"

/* Labels of a tensor, one for each dimension. */
struct labels {
    int count;
    signed char at[TENSOR_MAX_RANK];
};

/* An Einsum of two inputs as a product of matrices: the output's labels by what they are. inner is in a's order, the
 * others in the output's. */
struct pairing {
    struct labels a, b, y;
    struct labels batch, left, right, inner;
};

static int find(const struct labels *labels, int label) {
    for (int i = 0; i < labels->count; i++)
        if (labels->at[i] == label)
            return i;
    return -1;
}

static void append(struct labels *labels, const struct labels *more) {
    for (int i = 0; i < more->count; i++)
        labels->at[labels->count++] = more->at[i];
}

static bool same(const struct labels *a, const struct labels *b) {
    return a->count == b->count && memcmp(a->at, b->at, (size_t)a->count) == 0;
}

static bool repeats(const struct labels *labels) {
    for (int i = 0; i < labels->count; i++)
        if (find(labels, labels->at[i]) != i)
            return true;
    return false;
}

static struct labels labels_of(const signed char *at, int count) {
    struct labels labels = {.count = count};
    memcpy(labels.at, at, (size_t)count);
    return labels;
}

/* Is each label of `side` in the other input or in y, and those that are summed of one size? */
static bool side_fits(const struct pairing *pairing, const struct labels *side, const struct labels *other,
                      const struct tensor_shape *side_shape, const struct tensor_shape *other_shape) {
    for (int i = 0; i < side->count; i++) {
        int there = find(other, side->at[i]);
        if (find(&pairing->y, side->at[i]) >= 0)
            continue;
        if (there < 0 || side_shape->dims[i] != other_shape->dims[there])
            return false;
    }
    return true;
}

/* Sorts the labels. Returns false if the Einsum is no product of two matrices. */
static bool make_pairing(const struct einsum *einsum, const struct tensor_shape *a, const struct tensor_shape *b,
                         int y_rank, struct pairing *pairing) {
    *pairing = (struct pairing){.a = labels_of(einsum->inputs[0], a->rank),
                                .b = labels_of(einsum->inputs[1], b->rank),
                                .y = labels_of(einsum->output, y_rank)};
    if (repeats(&pairing->a) || repeats(&pairing->b) || !side_fits(pairing, &pairing->a, &pairing->b, a, b) ||
        !side_fits(pairing, &pairing->b, &pairing->a, b, a))
        return false;
    for (int i = 0; i < y_rank; i++) {
        bool in_a = find(&pairing->a, pairing->y.at[i]) >= 0, in_b = find(&pairing->b, pairing->y.at[i]) >= 0;
        struct labels *group = in_a && in_b ? &pairing->batch : in_a ? &pairing->left : &pairing->right;
        group->at[group->count++] = pairing->y.at[i];
    }
    for (int i = 0; i < pairing->a.count; i++)
        if (find(&pairing->y, pairing->a.at[i]) < 0)
            pairing->inner.at[pairing->inner.count++] = pairing->a.at[i];
    return pairing->inner.count == 0 || pairing->batch.count + 2 <= TENSOR_MAX_RANK;
}

static struct labels sequence(const struct labels *first, const struct labels *second, const struct labels *third) {
    struct labels all = {.count = 0};
    append(&all, first);
    append(&all, second);
    append(&all, third);
    return all;
}

/* What an input is on its way into the product. */
struct operand {
    struct labels labels;
    struct tensor_shape shape;
    int buffer;
};

/* Brings the dimensions into that order. */
static enum weir_status reorder(struct lowering *lowering, const struct graph_node *node, const struct labels *wanted,
                                struct operand *operand, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_TRANSPOSE};
    struct tensor_shape shape = {.rank = wanted->count};
    int buffer;
    if (same(&operand->labels, wanted))
        return WEIR_OK;
    for (int i = 0; i < wanted->count; i++) {
        operation.transpose.order[i] = find(&operand->labels, wanted->at[i]);
        shape.dims[i] = operand->shape.dims[operation.transpose.order[i]];
    }
    if (lower_temporary(lowering, node, TENSOR_F32, &shape, &buffer, err) != WEIR_OK)
        return err->status;
    struct lower_wires wires = {&operand->buffer, &buffer, 1, 1};
    if (lower_wired_step(lowering, node, &operation, &wires, err) != WEIR_OK)
        return err->status;
    *operand = (struct operand){*wanted, shape, buffer};
    return WEIR_OK;
}

static enum weir_status reshape(struct lowering *lowering, const struct graph_node *node,
                                const struct tensor_shape *shape, struct operand *operand, struct weir_error *err) {
    if (shapes_equal(shape, &operand->shape))
        return WEIR_OK;
    if (lower_temporary_alias(lowering, node, operand->buffer, shape, &operand->buffer, err) != WEIR_OK)
        return err->status;
    operand->shape = *shape;
    return WEIR_OK;
}

/* Product of the operand's dimensions that carry those labels. */
static int64_t extent(const struct operand *operand, const struct labels *labels) {
    int64_t product = 1;
    for (int i = 0; i < labels->count; i++)
        product = (int64_t)((uint64_t)product * (uint64_t)operand->shape.dims[find(&operand->labels, labels->at[i])]);
    return product;
}

/* Makes the operand [batch..., rows, cols]; *transposed: it is left as [batch..., cols, rows] without moving anything.
 */
static enum weir_status arrange(struct lowering *lowering, const struct graph_node *node,
                                const struct labels *const groups[3], struct operand *operand, bool *transposed,
                                struct weir_error *err) {
    struct labels straight = sequence(groups[0], groups[1], groups[2]);
    struct labels turned = sequence(groups[0], groups[2], groups[1]);
    struct tensor_shape shape = {.rank = groups[0]->count};
    *transposed = !same(&operand->labels, &straight) && same(&operand->labels, &turned);
    if (!*transposed && reorder(lowering, node, &straight, operand, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = operand->shape.dims[i];
    shape.dims[shape.rank++] = extent(operand, groups[*transposed ? 2 : 1]);
    shape.dims[shape.rank++] = extent(operand, groups[*transposed ? 1 : 2]);
    return reshape(lowering, node, &shape, operand, err);
}

/* Where the product goes: to the output's memory if its order is right, else on to a transposition. */
static enum weir_status place_product(struct lowering *lowering, const struct graph_node *node,
                                      const struct pairing *pairing, const struct tensor_shape *shape, int *product,
                                      struct weir_error *err) {
    struct labels given = sequence(&pairing->batch, &pairing->left, &pairing->right);
    int output = lower_output_buffer(lowering, node, 0);
    if (!same(&given, &pairing->y))
        return lower_temporary(lowering, node, TENSOR_F32, shape, product, err);
    if (!shapes_equal(shape, &lowering->program->buffers[output].shape))
        return lower_temporary_alias(lowering, node, output, shape, product, err);
    *product = output;
    return WEIR_OK;
}

static enum weir_status transpose_product(struct lowering *lowering, const struct graph_node *node,
                                          const struct pairing *pairing, const struct tensor_shape *y, int product,
                                          struct weir_error *err) {
    struct labels given = sequence(&pairing->batch, &pairing->left, &pairing->right);
    struct operation operation = {.kind = OPERATION_TRANSPOSE};
    struct tensor_shape shape = {.rank = y->rank};
    int output = lower_output_buffer(lowering, node, 0), input;
    if (same(&given, &pairing->y))
        return WEIR_OK;
    for (int i = 0; i < y->rank; i++) {
        operation.transpose.order[i] = find(&given, pairing->y.at[i]);
        shape.dims[operation.transpose.order[i]] = y->dims[i];
    }
    if (lower_temporary_alias(lowering, node, product, &shape, &input, err) != WEIR_OK)
        return err->status;
    struct lower_wires wires = {&input, &output, 1, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

/* Where the output wants b's dimensions before a's, the inputs change places. */
static void prefer_order(struct pairing *pairing, struct operand *a, struct operand *b) {
    struct labels turned = sequence(&pairing->batch, &pairing->right, &pairing->left);
    struct labels straight = sequence(&pairing->batch, &pairing->left, &pairing->right);
    if (same(&straight, &pairing->y) || !same(&turned, &pairing->y))
        return;
    struct operand operand = *a;
    struct labels labels = pairing->left;
    *a = *b;
    *b = operand;
    pairing->left = pairing->right;
    pairing->right = labels;
}

static enum weir_status lower_product(struct lowering *lowering, const struct graph_node *node, struct pairing *pairing,
                                      struct operand *a, struct operand *b, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1.0f, .beta = 1.0f}};
    const struct tensor_shape y = lowering->program->buffers[lower_output_buffer(lowering, node, 0)].shape;
    struct tensor_shape shape = {.rank = pairing->batch.count};
    int product;
    prefer_order(pairing, a, b);
    const struct labels *const left[3] = {&pairing->batch, &pairing->left, &pairing->inner};
    const struct labels *const right[3] = {&pairing->batch, &pairing->inner, &pairing->right};
    if (arrange(lowering, node, left, a, &operation.matmul.transpose_a, err) != WEIR_OK ||
        arrange(lowering, node, right, b, &operation.matmul.transpose_b, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = y.dims[find(&pairing->y, pairing->batch.at[i])];
    shape.dims[shape.rank] = a->shape.dims[shape.rank + operation.matmul.transpose_a];
    shape.dims[shape.rank + 1] = b->shape.dims[shape.rank + !operation.matmul.transpose_b];
    shape.rank += 2;
    if (place_product(lowering, node, pairing, &shape, &product, err) != WEIR_OK)
        return err->status;
    int inputs[3] = {a->buffer, b->buffer, -1};
    struct lower_wires wires = {inputs, &product, 3, 1};
    if (lower_wired_step(lowering, node, &operation, &wires, err) != WEIR_OK)
        return err->status;
    return transpose_product(lowering, node, pairing, &y, product, err);
}

/* Brings the operand's dimensions into y's order, with ones where it lacks one. */
static enum weir_status spread(struct lowering *lowering, const struct graph_node *node, const struct labels *y,
                               struct operand *operand, struct weir_error *err) {
    struct labels wanted = {.count = 0};
    struct tensor_shape shape = {.rank = y->count};
    for (int i = 0; i < y->count; i++) {
        int at = find(&operand->labels, y->at[i]);
        shape.dims[i] = at < 0 ? 1 : operand->shape.dims[at];
        if (at >= 0)
            wanted.at[wanted.count++] = y->at[i];
    }
    if (reorder(lowering, node, &wanted, operand, err) != WEIR_OK)
        return err->status;
    return reshape(lowering, node, &shape, operand, err);
}

/* Nothing is summed: a product of elements. */
static enum weir_status lower_elements(struct lowering *lowering, const struct graph_node *node,
                                       const struct pairing *pairing, struct operand *a, struct operand *b,
                                       struct weir_error *err) {
    const struct operation operation = {.kind = OPERATION_BINARY, .binary = BINARY_MULTIPLY};
    if (spread(lowering, node, &pairing->y, a, err) != WEIR_OK ||
        spread(lowering, node, &pairing->y, b, err) != WEIR_OK)
        return err->status;
    int inputs[2] = {a->buffer, b->buffer}, output = lower_output_buffer(lowering, node, 0);
    struct lower_wires wires = {inputs, &output, 2, 1};
    return lower_wired_step(lowering, node, &operation, &wires, err);
}

/* Two inputs, where they are a product. *done: it was one. */
static enum weir_status lower_pair(struct lowering *lowering, const struct graph_node *node,
                                   const struct einsum *einsum, int y_rank, bool *done, struct weir_error *err) {
    const struct fact *a = lower_input(lowering, node, 0), *b = lower_input(lowering, node, 1);
    struct pairing pairing;
    *done = make_pairing(einsum, &a->shape, &b->shape, y_rank, &pairing);
    if (!*done)
        return WEIR_OK;
    struct operand left = {pairing.a, a->shape, -1}, right = {pairing.b, b->shape, -1};
    if (lower_input_buffer(lowering, node, 0, &left.buffer, err) != WEIR_OK ||
        lower_input_buffer(lowering, node, 1, &right.buffer, err) != WEIR_OK)
        return err->status;
    if (pairing.inner.count == 0)
        return lower_elements(lowering, node, &pairing, &left, &right, err);
    return lower_product(lowering, node, &pairing, &left, &right, err);
}

/* One input whose dimensions only change places. */
static bool is_permutation(const struct einsum *einsum, const struct tensor_shape *x, int y_rank,
                           struct transpose *transpose) {
    struct labels from = labels_of(einsum->inputs[0], x->rank);
    if (einsum->term_count != 1 || x->rank != y_rank || repeats(&from))
        return false;
    for (int i = 0; i < y_rank; i++)
        transpose->order[i] = find(&from, einsum->output[i]);
    return true;
}

/* The sizes of all labels, 1 counting as any size; y's shape is made of them. */
static enum weir_status measure(const struct lowering *lowering, const struct graph_node *node,
                                const struct einsum *einsum, struct tensor_shape *y, struct weir_error *err) {
    int64_t sizes[OPERATION_MAX_LABELS];
    for (int i = 0; i < einsum->label_count; i++)
        sizes[i] = 1;
    for (int term = 0; term < einsum->term_count; term++) {
        const struct tensor_shape *shape = &lower_input(lowering, node, term)->shape;
        for (int i = 0; i < shape->rank; i++) {
            int64_t *size = &sizes[(int)einsum->inputs[term][i]];
            if (*size != 1 && shape->dims[i] != 1 && *size != shape->dims[i])
                return node_fail(lowering->graph, node, err, WEIR_INVALID,
                                 "dimension %d of input %d is %lld where another one with its letter is %lld", i, term,
                                 (long long)shape->dims[i], (long long)*size);
            if (shape->dims[i] != 1)
                *size = shape->dims[i];
        }
    }
    for (int i = 0; i < y->rank; i++)
        y->dims[i] = sizes[(int)einsum->output[i]];
    return WEIR_OK;
}

static enum weir_status read_equation(const struct lowering *lowering, const struct graph_node *node,
                                      struct einsum *einsum, int *y_rank, struct weir_error *err) {
    const char *text = NULL, *fault = "";
    int ranks[OPERATION_MAX_TERMS];
    const struct fact *fact;
    if (node->input_count > OPERATION_MAX_TERMS)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "%d inputs; supported: up to %d",
                         node->input_count, OPERATION_MAX_TERMS);
    if (node_text(lowering->graph, node, "equation", &text, err) != WEIR_OK)
        return err->status;
    if (!text)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "attribute equation is missing");
    for (int i = 0; i < node->input_count; i++) {
        if (lower_need_float(lowering, node, i, &fact, err) != WEIR_OK)
            return err->status;
        ranks[i] = fact->shape.rank;
    }
    enum weir_status status = einsum_equation_read(text, ranks, node->input_count, einsum, y_rank, &fault);
    if (status != WEIR_OK)
        return node_fail(lowering->graph, node, err, status, "the equation '%.64s' %s", text, fault);
    return WEIR_OK;
}

enum weir_status lower_einsum(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    struct operation operation = {.kind = OPERATION_EINSUM}, transpose = {.kind = OPERATION_TRANSPOSE};
    struct tensor_shape y = {.rank = 0};
    bool done = false;
    if (read_equation(lowering, node, &operation.einsum, &y.rank, err) != WEIR_OK ||
        measure(lowering, node, &operation.einsum, &y, err) != WEIR_OK ||
        lower_define(lowering, node, 0, TENSOR_F32, &y, err) != WEIR_OK)
        return err->status;
    if (operation.einsum.term_count == 2 &&
        lower_pair(lowering, node, &operation.einsum, y.rank, &done, err) != WEIR_OK)
        return err->status;
    if (done)
        return WEIR_OK;
    if (is_permutation(&operation.einsum, &lower_input(lowering, node, 0)->shape, y.rank, &transpose.transpose))
        return lower_step(lowering, node, &transpose, err);
    return lower_step(lowering, node, &operation, err);
}
