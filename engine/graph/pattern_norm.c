/* LayerNormalization as exporters write it before opset 17: (x - mean) / sqrt(variance + epsilon) * scale + bias. */
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/pattern.h"

/* ReduceMean over the last dimensions, which stay as 1: how many. */
static bool mean_over_last(const struct patterns *patterns, const struct graph_node *mean, int64_t *dims) {
    const struct graph_attribute *axes = graph_attribute(mean, "axes"), *keep = graph_attribute(mean, "keepdims");
    int64_t list[TENSOR_MAX_RANK];
    size_t count = 0;
    uint32_t seen = 0;
    int input = pattern_input(mean, 1);
    const struct graph_constant *constant = input == GRAPH_NONE ? NULL : patterns->graph->values[input].constant;
    if (keep && keep->integer == 0)
        return false;
    if (axes && axes->type == GRAPH_ATTRIBUTE_INTS && axes->item_count <= TENSOR_MAX_RANK) {
        count = axes->item_count;
        if (count > 0)
            memcpy(list, axes->ints, count * sizeof *list);
    } else if (constant && constant->bytes && constant->elements <= TENSOR_MAX_RANK &&
               constant_integers(constant, list)) {
        count = constant->elements;
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i] >= 0 || list[i] < -(int64_t)count)
            return false; /* from the front: what it means depends on the rank */
        seen |= 1u << -list[i];
    }
    *dims = (int64_t)count;
    return count > 0 && seen == (1u << (count + 1)) - 2;
}

/* x less its mean over the last *dims dimensions. */
static bool is_centered(const struct patterns *patterns, int value, int *x, int64_t *dims) {
    const struct graph_node *subtract = pattern_producer(patterns, value, "Sub");
    const struct graph_node *mean = subtract ? pattern_producer(patterns, subtract->inputs[1], "ReduceMean") : NULL;
    if (!mean || mean->inputs[0] != subtract->inputs[0] || !mean_over_last(patterns, mean, dims))
        return false;
    *x = subtract->inputs[0];
    return true;
}

/* The square of what, by Pow or Mul. */
static bool is_square(const struct patterns *patterns, int value, int *of) {
    const struct graph_node *power = pattern_producer(patterns, value, "Pow");
    const struct graph_node *product = pattern_producer(patterns, value, "Mul");
    double number;
    int at;
    if (power)
        return pattern_split(patterns, power, &number, of, &at) && at == 1 && number == 2;
    if (!product || product->input_count != 2 || product->inputs[0] != product->inputs[1])
        return false;
    *of = product->inputs[0];
    return true;
}

/* sqrt(mean((x - mean)^2) + epsilon), over the same dimensions. */
static bool is_deviation(const struct patterns *patterns, int value, int x, int64_t dims, double *epsilon) {
    const struct graph_node *root = pattern_producer(patterns, value, "Sqrt");
    const struct graph_node *add = root ? pattern_producer(patterns, root->inputs[0], "Add") : NULL;
    int variance, squared, x_there, at;
    int64_t dims_there, dims_of_mean;
    if (!add || !pattern_split(patterns, add, epsilon, &variance, &at))
        return false;
    const struct graph_node *mean = pattern_producer(patterns, variance, "ReduceMean");
    return mean && mean_over_last(patterns, mean, &dims_of_mean) && dims_of_mean == dims &&
           is_square(patterns, mean->inputs[0], &squared) && is_centered(patterns, squared, &x_there, &dims_there) &&
           x_there == x && dims_there == dims;
}

/* The normalized value itself, by division or by multiplication with the reciprocal. */
static bool match_core(const struct patterns *patterns, const struct graph_node *node, int *x, int64_t *dims,
                       double *epsilon) {
    if (node->input_count != 2)
        return false;
    if (strcmp(node->op, "Div") == 0)
        return is_centered(patterns, node->inputs[0], x, dims) &&
               is_deviation(patterns, node->inputs[1], *x, *dims, epsilon);
    if (strcmp(node->op, "Mul") != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct graph_node *reciprocal = pattern_producer(patterns, node->inputs[1 - i], "Reciprocal");
        if (reciprocal && is_centered(patterns, node->inputs[i], x, dims) &&
            is_deviation(patterns, reciprocal->inputs[0], *x, *dims, epsilon))
            return true;
    }
    return false;
}

static bool rewrite_core(struct patterns *patterns, struct graph_node *node, int x, int64_t dims, double epsilon) {
    struct tensor_shape scalar = {.rank = 0};
    struct pattern_node form = {.op = "LayerNormalization", .inputs = {x, GRAPH_NONE}, .input_count = 2};
    float *one;
    form.inputs[1] = pattern_add_constant(patterns, &scalar, &one);
    form.attributes = pattern_take_attributes(patterns, 2);
    if (form.inputs[1] == GRAPH_NONE || !form.attributes)
        return false;
    *one = 1;
    form.attributes[0] = (struct graph_attribute){.name = "axis", .type = GRAPH_ATTRIBUTE_INT, .integer = -dims};
    form.attributes[1] =
        (struct graph_attribute){.name = "epsilon", .type = GRAPH_ATTRIBUTE_FLOAT, .number = (float)epsilon};
    form.attribute_count = 2;
    return pattern_replace(patterns, node, &form);
}

/* A LayerNormalization whose result the node alone reads, beside a constant over the normalized dimensions. */
static struct graph_node *find_host(const struct patterns *patterns, const struct graph_node *node, int *constant) {
    for (int i = 0; i < 2 && node->input_count == 2; i++) {
        struct graph_node *host = pattern_producer(patterns, node->inputs[i], "LayerNormalization");
        const struct graph_constant *other = pattern_constant(patterns, node->inputs[1 - i]);
        const struct graph_attribute *axis = host ? graph_attribute(host, "axis") : NULL;
        if (!host || !other || !pattern_is_alone(patterns, node->inputs[i]) || pattern_input(host, 2) != GRAPH_NONE)
            continue;
        int64_t last = axis ? axis->integer : -1;
        if (last >= 0 || other->shape.rank > -last)
            continue;
        for (int j = 1; j < host->output_count; j++)
            if (host->outputs[j] != GRAPH_NONE)
                return NULL;
        *constant = node->inputs[1 - i];
        return host;
    }
    return NULL;
}

/* What follows a normalization without scale or bias becomes that. */
static bool match_affine(struct patterns *patterns, struct graph_node *node) {
    double one;
    int constant;
    bool scales = strcmp(node->op, "Mul") == 0;
    if (!scales && strcmp(node->op, "Add") != 0)
        return false;
    struct graph_node *host = find_host(patterns, node, &constant);
    if (!host || (scales && (!pattern_number(patterns, pattern_input(host, 1), &one) || one != 1)))
        return false;
    struct pattern_node form = {.op = "LayerNormalization",
                                .inputs = {host->inputs[0], scales ? constant : host->inputs[1], constant},
                                .input_count = scales ? 2 : 3,
                                .attributes = host->attributes,
                                .attribute_count = host->attribute_count};
    return pattern_replace(patterns, node, &form);
}

bool pattern_norm_apply(struct patterns *patterns, struct graph_node *node) {
    int x;
    int64_t dims;
    double epsilon;
    if (match_core(patterns, node, &x, &dims, &epsilon))
        return rewrite_core(patterns, node, x, dims, epsilon);
    return match_affine(patterns, node);
}
