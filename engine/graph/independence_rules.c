#include "engine/graph/independence_rules.h"

#include <string.h>

bool independence_mixes(struct independence_step *step, const char *fault) {
    step->fault = fault;
    return false;
}

bool independence_has_rows(const struct independence_step *step, int input) {
    return input < step->input_count && step->in[input].axis >= 0;
}

bool independence_rowless(const struct independence_step *step, int from, int to) {
    for (int i = from; i < to && i < step->input_count; i++)
        if (step->in[i].axis >= 0)
            return false;
    return true;
}

bool independence_is_repeated(const struct view *view, int axis, const struct independence_place *place, size_t rows) {
    if (!view->data || view->dims[axis] != place->outer * place->inner * rows)
        return false;
    size_t block = place->inner * view_product(view, axis + 1, view->rank) * view_element_bytes(view->element);
    size_t groups = view_product(view, 0, axis) * place->outer;
    const unsigned char *at = view->data;
    for (size_t i = 0; i < groups; i++, at += rows * block)
        for (size_t row = 1; row < rows; row++)
            if (memcmp(at, at + row * block, block) != 0)
                return false;
    return true;
}

bool independence_fits(struct independence_step *step, int input, int axis, const struct independence_place *place) {
    if (input >= step->input_count)
        return true;
    const struct view *view = &step->inputs[input];
    const struct independence_place *in = &step->in[input];
    if (in->axis >= 0)
        return (in->axis == axis && in->outer == place->outer && in->inner == place->inner) ||
               independence_mixes(step, "its inputs have the rows in different places");
    if (axis < 0 || axis >= view->rank || view->dims[axis] == 1 || (step->even[input] >> axis & 1) ||
        independence_is_repeated(view, axis, place, step->rows))
        return true;
    return independence_mixes(step, "an input that is not of the batch differs from row to row");
}

bool independence_put(struct independence_step *step, int output, int axis, const struct independence_place *place) {
    if (output >= step->output_count || step->output_buffers[output] < 0)
        return true;
    const struct view *y = &step->outputs[output];
    if (axis < 0 || axis >= y->rank || y->dims[axis] != place->outer * place->inner * step->rows)
        return independence_mixes(step, "its output has no dimension for the rows");
    step->out[output] = (struct independence_place){axis, place->outer, place->inner};
    return true;
}

bool independence_broadcast(struct independence_step *step, int from, int to) {
    int rank = step->outputs[0].rank, axis = -1;
    struct independence_place place = {-1, 1, 1};
    to = to < step->input_count ? to : step->input_count;
    for (int i = from; i < to && axis < 0; i++)
        if (step->in[i].axis >= 0) {
            place = step->in[i];
            axis = place.axis + rank - step->inputs[i].rank;
        }
    if (axis < 0)
        return true;
    for (int i = from; i < to; i++)
        if (!independence_fits(step, i, axis - (rank - step->inputs[i].rank), &place))
            return false;
    return independence_put(step, 0, axis, &place);
}

static bool unary(struct independence_step *step) {
    return independence_rowless(step, 1, step->input_count)
               ? independence_broadcast(step, 0, 1)
               : independence_mixes(step, "its parameters are of the batch");
}

static bool binary(struct independence_step *step) {
    return independence_broadcast(step, 0, 2);
}

static bool where(struct independence_step *step) {
    return independence_broadcast(step, 0, 3);
}

/* Rows stay where they are, in every output; the other inputs belong to no row. */
static bool keep(struct independence_step *step) {
    const struct independence_place *place = &step->in[0];
    if (!independence_rowless(step, 1, step->input_count))
        return independence_mixes(step, "its parameters are of the batch");
    for (int i = 0; i < step->output_count; i++)
        if (!independence_put(step, i, place->axis, place))
            return false;
    return true;
}

static bool softmax(struct independence_step *step) {
    const struct softmax *softmax = &step->operation->softmax;
    int axis = step->in[0].axis;
    if (axis == softmax->axis || (softmax->flat && axis > softmax->axis))
        return independence_mixes(step, "it normalizes over the rows");
    return keep(step);
}

static bool layer_norm(struct independence_step *step) {
    if (step->in[0].axis >= step->operation->norm.axis)
        return independence_mixes(step, "it normalizes over the rows");
    return keep(step);
}

/* Everything along one dimension belongs together. */
static bool along_axis(struct independence_step *step, int axis) {
    if (step->in[0].axis == axis)
        return independence_mixes(step, "it works along the rows");
    return keep(step);
}

static bool lp_norm(struct independence_step *step) {
    return along_axis(step, step->operation->norm.axis);
}

static bool channels(struct independence_step *step) {
    return along_axis(step, 1);
}

static bool instance_norm(struct independence_step *step) {
    if (step->in[0].axis != 0)
        return independence_mixes(step, "it normalizes over the rows");
    return keep(step);
}

static bool cumsum(struct independence_step *step) {
    return along_axis(step, step->operation->cumsum.axis);
}

static bool topk(struct independence_step *step) {
    return along_axis(step, step->operation->topk.axis);
}

static bool trilu(struct independence_step *step) {
    if (step->in[0].axis >= step->inputs[0].rank - 2)
        return independence_mixes(step, "what it keeps depends on the place of the row");
    return keep(step);
}

static bool reduced(struct independence_step *step, uint32_t axes) {
    const struct independence_place *place = &step->in[0];
    int axis = place->axis;
    if (!independence_rowless(step, 1, step->input_count))
        return independence_mixes(step, "its parameters are of the batch");
    if (axes >> axis & 1)
        return independence_mixes(step, "it reduces over the rows");
    for (int i = 0; i < place->axis && step->outputs[0].rank < step->inputs[0].rank; i++)
        axis -= (int)(axes >> i & 1);
    return independence_put(step, 0, axis, place);
}

static bool reduce(struct independence_step *step) {
    return reduced(step, step->operation->reduce.axes);
}

static bool arg(struct independence_step *step) {
    return reduced(step, 1u << step->operation->arg.axis);
}

/* Scale and zero point are one number, or a list along one dimension. */
static bool quantize(struct independence_step *step) {
    const struct independence_place *place = &step->in[0];
    if (place->axis < 0)
        return independence_mixes(step, "its scale is of the batch");
    for (int i = 1; i < step->input_count; i++) {
        bool list = view_count(&step->inputs[i]) > 1;
        bool whole = step->inputs[i].rank > 1;
        int axis = !list ? -1 : whole ? place->axis : place->axis == step->operation->axis ? 0 : -1;
        if (!independence_fits(step, i, axis, place))
            return false;
    }
    return independence_put(step, 0, place->axis, place);
}

static bool dynamic_quantize(struct independence_step *step) {
    return independence_mixes(step, "its scale is taken from all rows together");
}

independence_rule independence_rule_of(enum operation_kind kind) {
    static const independence_rule rules[OPERATION_KINDS] = {
        [OPERATION_UNARY] = unary,
        [OPERATION_BINARY] = binary,
        [OPERATION_WHERE] = where,
        [OPERATION_CAST] = unary,
        [OPERATION_EXPAND] = unary,
        [OPERATION_MATMUL] = independence_matmul,
        [OPERATION_CONV] = independence_window,
        [OPERATION_CONV_TRANSPOSE] = independence_window,
        [OPERATION_CONV_INTEGER] = independence_window,
        [OPERATION_QLINEAR_CONV] = independence_window,
        [OPERATION_POOL] = independence_pool,
        [OPERATION_REDUCE] = reduce,
        [OPERATION_ARG] = arg,
        [OPERATION_SOFTMAX] = softmax,
        [OPERATION_LAYER_NORM] = layer_norm,
        [OPERATION_BATCH_NORM] = channels,
        [OPERATION_INSTANCE_NORM] = instance_norm,
        [OPERATION_LRN] = channels,
        [OPERATION_LP_NORM] = lp_norm,
        [OPERATION_TRANSPOSE] = independence_transpose,
        [OPERATION_SLICE] = independence_slice,
        [OPERATION_CONCAT] = independence_concat,
        [OPERATION_GATHER] = independence_gather,
        [OPERATION_GATHER_ELEMENTS] = independence_gather_elements,
        [OPERATION_GATHER_ND] = independence_gather_nd,
        [OPERATION_SCATTER_ELEMENTS] = independence_scatter_elements,
        [OPERATION_SCATTER_ND] = independence_scatter_nd,
        [OPERATION_TILE] = independence_tile,
        [OPERATION_PAD] = independence_pad,
        [OPERATION_RESIZE] = independence_resize,
        [OPERATION_CUMSUM] = cumsum,
        [OPERATION_TOPK] = topk,
        [OPERATION_ONE_HOT] = independence_one_hot,
        [OPERATION_TRILU] = trilu,
        [OPERATION_EINSUM] = independence_einsum,
        [OPERATION_QUANTIZE] = quantize,
        [OPERATION_DEQUANTIZE] = quantize,
        [OPERATION_DYNAMIC_QUANTIZE] = dynamic_quantize,
        [OPERATION_QLINEAR_MATMUL] = independence_qlinear_matmul,
        [OPERATION_MATMUL_INTEGER] = independence_matmul_integer,
        [OPERATION_RECURRENT] = independence_recurrent,
    };
    return (unsigned)kind < OPERATION_KINDS ? rules[kind] : NULL;
}
