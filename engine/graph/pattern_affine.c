/* A factor and a summand for each channel behind a convolution or product with constant weights go into these:
 * BatchNormalization, and Mul, Div, Add, Sub with a constant. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/pattern.h"

enum kind { CONV, CONV_TRANSPOSE, GEMM, MATMUL };

/* What the result of which the channels are scaled is made by. */
struct host {
    struct graph_node *node;
    enum kind kind;
    const struct graph_constant *weights, *bias; /* bias: NULL if there is none */
    size_t channels, groups;
    bool transposed; /* Gemm: weights are [channels, inner] */
    double beta;     /* Gemm: of the bias */
};

/* y becomes factors[channel] * y + summands[channel]. */
struct affine {
    double *factors, *summands;
    bool adds;
};

static int64_t integer_of(const struct graph_node *node, const char *name, int64_t otherwise) {
    const struct graph_attribute *attribute = graph_attribute(node, name);
    return attribute && attribute->type == GRAPH_ATTRIBUTE_INT ? attribute->integer : otherwise;
}

static double float_of(const struct graph_node *node, const char *name, double otherwise) {
    const struct graph_attribute *attribute = graph_attribute(node, name);
    return attribute && attribute->type == GRAPH_ATTRIBUTE_FLOAT ? (double)attribute->number : otherwise;
}

static bool measure(struct host *host) {
    const struct tensor_shape *w = &host->weights->shape;
    int64_t groups = integer_of(host->node, "group", 1);
    if (groups < 1 || groups > INT32_MAX || w->rank < 2)
        return false;
    host->groups = (size_t)groups;
    host->transposed = host->kind == GEMM && integer_of(host->node, "transB", 0) != 0;
    host->beta = host->kind == GEMM ? float_of(host->node, "beta", 1) : 1;
    switch (host->kind) {
    case CONV:
        host->channels = (size_t)w->dims[0];
        break;
    case CONV_TRANSPOSE:
        host->channels = (size_t)w->dims[1] * host->groups;
        if (w->dims[0] % groups != 0)
            return false;
        break;
    default:
        host->channels = (size_t)w->dims[host->transposed ? 0 : 1];
        if (w->rank != 2)
            return false;
        break;
    }
    size_t elements = host->bias ? host->bias->elements : 0;
    bool fits = !host->bias || elements == host->channels || (host->kind == GEMM && elements == 1);
    bool is_row =
        !host->bias || elements == 1 || host->bias->shape.dims[host->bias->shape.rank - 1] == (int64_t)elements;
    return fits && is_row && host->channels > 0 && host->weights->elements > 0;
}

/* Is the value made by one of them, for nobody else, with constant weights? */
static bool find_host(const struct patterns *patterns, int value, struct host *host) {
    static const char *const names[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
    if (value == GRAPH_NONE || !pattern_is_alone(patterns, value))
        return false;
    for (int i = 0; i < 4; i++) {
        struct graph_node *node = pattern_producer(patterns, value, names[i]);
        if (!node)
            continue;
        int bias = i == MATMUL ? GRAPH_NONE : pattern_input(node, 2);
        *host = (struct host){.node = node,
                              .kind = (enum kind)i,
                              .weights = pattern_constant(patterns, pattern_input(node, 1)),
                              .bias = pattern_constant(patterns, bias)};
        return host->weights && (bias == GRAPH_NONE || host->bias) && measure(host);
    }
    return false;
}

/* Is the constant one number, or one for each channel of the host's result? */
static bool is_by_channel(const struct host *host, const struct graph_constant *constant) {
    const struct tensor_shape *shape = &constant->shape;
    bool conv = host->kind == CONV || host->kind == CONV_TRANSPOSE;
    int rank = host->weights->shape.rank, most = host->kind == MATMUL ? 1 : rank;
    int behind = conv ? rank - 2 : 0; /* dimensions behind the channels */
    if (shape->rank > most)
        return false;
    if (constant->elements == 1)
        return true;
    int axis = shape->rank - 1 - behind;
    return constant->elements == host->channels && axis >= 0 && shape->dims[axis] == (int64_t)host->channels;
}

static double element_of(const struct graph_constant *constant, size_t channel) {
    return (double)constant_element(constant, constant->elements == 1 ? 0 : channel);
}

static bool take_affine(struct patterns *patterns, const struct host *host, struct affine *affine) {
    affine->factors = calloc(host->channels, sizeof *affine->factors);
    affine->summands = calloc(host->channels, sizeof *affine->summands);
    patterns->failed = patterns->failed || !affine->factors || !affine->summands;
    return affine->factors && affine->summands;
}

static bool read_batch_norm(struct patterns *patterns, const struct graph_node *node, struct host *host,
                            struct affine *affine) {
    const struct graph_constant *parameters[4];
    if (node->input_count != 5 || integer_of(node, "training_mode", 0) != 0 || integer_of(node, "spatial", 1) != 1 ||
        !find_host(patterns, node->inputs[0], host) || host->kind == MATMUL)
        return false;
    for (int i = 1; i < node->output_count; i++)
        if (node->outputs[i] != GRAPH_NONE)
            return false;
    for (int i = 0; i < 4; i++) {
        parameters[i] = pattern_constant(patterns, node->inputs[i + 1]);
        if (!parameters[i] || parameters[i]->elements != host->channels)
            return false;
    }
    if (!take_affine(patterns, host, affine))
        return false;
    double epsilon = float_of(node, "epsilon", (double)1e-5f);
    for (size_t i = 0; i < host->channels; i++) {
        affine->factors[i] = element_of(parameters[0], i) / sqrt(element_of(parameters[3], i) + epsilon);
        affine->summands[i] = element_of(parameters[1], i) - element_of(parameters[2], i) * affine->factors[i];
    }
    affine->adds = true;
    return true;
}

static bool read_arithmetic(struct patterns *patterns, const struct graph_node *node, struct host *host,
                            struct affine *affine) {
    static const char *const names[] = {"Mul", "Div", "Add", "Sub"};
    int op = 0;
    while (op < 4 && strcmp(node->op, names[op]) != 0)
        op++;
    for (int side = 0; op < 4 && node->input_count == 2 && side < 2; side++) {
        const struct graph_constant *constant = pattern_constant(patterns, node->inputs[1 - side]);
        if (!constant || (op == 1 && side == 1) || !find_host(patterns, node->inputs[side], host) ||
            (host->kind == MATMUL && op > 1) || !is_by_channel(host, constant))
            continue;
        if (!take_affine(patterns, host, affine))
            return false;
        for (size_t i = 0; i < host->channels; i++) {
            double c = element_of(constant, i);
            affine->factors[i] = op == 0 ? c : op == 1 ? 1 / c : op == 3 && side == 1 ? -1 : 1;
            affine->summands[i] = op == 2 ? c : op == 3 ? (side == 1 ? c : -c) : 0;
        }
        affine->adds = op > 1;
        return true;
    }
    return false;
}

/* The channel of the result that a weight belongs to. */
static size_t channel_of(const struct host *host, size_t at) {
    const struct tensor_shape *w = &host->weights->shape;
    size_t behind = 1;
    switch (host->kind) {
    case CONV:
        return at / (host->weights->elements / host->channels);
    case CONV_TRANSPOSE: {
        for (int i = 2; i < w->rank; i++)
            behind *= (size_t)w->dims[i];
        size_t per_group = (size_t)w->dims[1];
        size_t row = at / behind / per_group, group = row / ((size_t)w->dims[0] / host->groups);
        return group * per_group + at / behind % per_group;
    }
    default:
        return host->transposed ? at / (size_t)w->dims[1] : at % host->channels;
    }
}

/* Gemm: the new bias is no longer to be multiplied. */
static bool copy_attributes(struct patterns *patterns, const struct host *host, struct pattern_node *form) {
    form->attributes = host->node->attributes;
    form->attribute_count = host->node->attribute_count;
    if (host->beta == 1)
        return true;
    form->attributes = pattern_take_attributes(patterns, form->attribute_count);
    for (int i = 0; form->attributes && i < form->attribute_count; i++) {
        form->attributes[i] = host->node->attributes[i];
        if (strcmp(form->attributes[i].name, "beta") == 0)
            form->attributes[i].number = 1;
    }
    return form->attributes;
}

static bool rewrite(struct patterns *patterns, struct graph_node *node, const struct host *host,
                    const struct affine *affine) {
    struct pattern_node form = {.op = host->node->op, .inputs = {host->node->inputs[0]}, .input_count = 2};
    struct tensor_shape shape = {.rank = 1, .dims = {(int64_t)host->channels}};
    float *weights, *bias;
    if (!copy_attributes(patterns, host, &form))
        return false;
    form.inputs[1] = pattern_add_constant(patterns, &host->weights->shape, &weights);
    if (form.inputs[1] == GRAPH_NONE)
        return false;
    for (size_t i = 0; i < host->weights->elements; i++)
        weights[i] = (float)((double)constant_element(host->weights, i) * affine->factors[channel_of(host, i)]);
    if (host->bias || affine->adds) {
        form.inputs[2] = pattern_add_constant(patterns, &shape, &bias);
        form.input_count = 3;
        if (form.inputs[2] == GRAPH_NONE)
            return false;
        for (size_t i = 0; i < host->channels; i++) {
            double before = host->bias ? host->beta * element_of(host->bias, i) : 0;
            bias[i] = (float)(before * affine->factors[i] + affine->summands[i]);
        }
    }
    return pattern_replace(patterns, node, &form);
}

/* What divides by nothing stays as it was written. */
static bool is_finite(const struct affine *affine, size_t channels) {
    for (size_t i = 0; i < channels; i++)
        if (!isfinite(affine->factors[i]) || !isfinite(affine->summands[i]))
            return false;
    return true;
}

bool pattern_affine_apply(struct patterns *patterns, struct graph_node *node) {
    struct host host;
    struct affine affine = {NULL, NULL, false};
    bool found = strcmp(node->op, "BatchNormalization") == 0 ? read_batch_norm(patterns, node, &host, &affine)
                                                             : read_arithmetic(patterns, node, &host, &affine);
    bool done = found && is_finite(&affine, host.channels) && rewrite(patterns, node, &host, &affine);
    free(affine.factors);
    free(affine.summands);
    return done;
}
