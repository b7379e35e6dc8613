#include "engine/graph/pattern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/constant.h"

enum { DEEPEST_RELEASE = 64, DEEPEST_PRODUCT = 8 };

struct graph_node *pattern_producer(const struct patterns *patterns, int value, const char *op) {
    const struct graph *graph = patterns->graph;
    if (value == GRAPH_NONE || graph->values[value].constant || graph->values[value].producer == GRAPH_NONE)
        return NULL;
    struct graph_node *node = &graph->nodes[graph->values[value].producer];
    return !node->dead && node->domain[0] == 0 && strcmp(node->op, op) == 0 && node->outputs[0] == value ? node : NULL;
}

int pattern_input(const struct graph_node *node, int input) {
    return input < node->input_count ? node->inputs[input] : GRAPH_NONE;
}

bool pattern_is_alone(const struct patterns *patterns, int value) {
    return value != GRAPH_NONE && patterns->readers[value] == 1;
}

const struct graph_constant *pattern_constant(const struct patterns *patterns, int value) {
    const struct graph_constant *constant = value == GRAPH_NONE ? NULL : patterns->graph->values[value].constant;
    return constant && constant->bytes && constant_is_float(constant) ? constant : NULL;
}

bool pattern_number(const struct patterns *patterns, int value, double *number) {
    const struct graph_constant *constant = value == GRAPH_NONE ? NULL : patterns->graph->values[value].constant;
    if (!constant || !constant->bytes || constant->elements != 1 || constant->dtype == TENSOR_BOOL)
        return false;
    *number = (double)constant_element(constant, 0);
    return true;
}

bool pattern_is_near(double number, double wanted) {
    return fabs(number - wanted) <= 6e-4 * fabs(wanted); /* float16 has half a thousandth */
}

bool pattern_split(const struct patterns *patterns, const struct graph_node *node, double *number, int *other,
                   int *at) {
    if (node->input_count != 2)
        return false;
    for (int i = 1; i >= 0; i--)
        if (pattern_number(patterns, node->inputs[i], number)) {
            *other = node->inputs[1 - i];
            *at = i;
            return *other != GRAPH_NONE;
        }
    return false;
}

static void multiply(const struct patterns *patterns, int value, int depth, struct pattern_product *product) {
    const struct graph_node *node;
    double number;
    int other, at;
    bool follows = depth == 0 || (depth < DEEPEST_PRODUCT && pattern_is_alone(patterns, value));
    if (follows && (node = pattern_producer(patterns, value, "Mul")) && node->input_count == 2) {
        for (int i = 0; i < 2; i++) {
            if (pattern_number(patterns, node->inputs[i], &number))
                product->scale *= number;
            else
                multiply(patterns, node->inputs[i], depth + 1, product);
        }
        return;
    }
    if (follows && (node = pattern_producer(patterns, value, "Div")) &&
        pattern_split(patterns, node, &number, &other, &at) && at == 1) {
        product->scale /= number;
        multiply(patterns, other, depth + 1, product);
        return;
    }
    int times = 1;
    if (follows && (node = pattern_producer(patterns, value, "Pow")) &&
        pattern_split(patterns, node, &number, &other, &at) && at == 1 && (number == 2 || number == 3)) {
        times = (int)number;
        value = other;
    }
    for (int i = 0; i < times; i++, product->count++)
        if (product->count < PATTERN_MAX_FACTORS)
            product->factors[product->count] = value;
}

struct pattern_product pattern_multiply(const struct patterns *patterns, int value) {
    struct pattern_product product = {.scale = 1};
    multiply(patterns, value, 0, &product);
    return product;
}

bool pattern_is_power(const struct pattern_product *product, int value, int count) {
    if (product->count != count)
        return false;
    for (int i = 0; i < count; i++)
        if (product->factors[i] != value)
            return false;
    return true;
}

int pattern_add_constant(struct patterns *patterns, const struct tensor_shape *shape, float **elements) {
    struct graph *graph = patterns->graph;
    unsigned char *bytes;
    struct graph_constant *constant = constant_make(&graph->region, TENSOR_F32, shape, &bytes);
    int value = constant && graph->value_count < patterns->most_values ? graph_add(graph, "folded") : GRAPH_NONE;
    if (value == GRAPH_NONE) {
        patterns->failed = true;
        return GRAPH_NONE;
    }
    graph->values[value].constant = constant;
    *elements = (float *)(void *)bytes;
    return value;
}

struct graph_attribute *pattern_take_attributes(struct patterns *patterns, int count) {
    struct graph_attribute *attributes = region_take(&patterns->graph->region, (size_t)count, sizeof *attributes);
    patterns->failed = patterns->failed || !attributes;
    return attributes;
}

/* One reader less; a node that nobody reads any more goes, and so on. */
static void release(struct patterns *patterns, int value, int depth) {
    const struct graph *graph = patterns->graph;
    if (value == GRAPH_NONE || --patterns->readers[value] > 0 || graph->values[value].producer == GRAPH_NONE ||
        depth == DEEPEST_RELEASE)
        return;
    struct graph_node *node = &graph->nodes[graph->values[value].producer];
    bool read = node->dead;
    for (int i = 0; i < node->output_count; i++)
        read = read || (node->outputs[i] != GRAPH_NONE && patterns->readers[node->outputs[i]] > 0);
    if (read)
        return;
    node->dead = true;
    for (int i = 0; i < node->input_count; i++)
        release(patterns, node->inputs[i], depth + 1);
}

bool pattern_replace(struct patterns *patterns, struct graph_node *node, const struct pattern_node *form) {
    const int *before = node->inputs;
    int before_count = node->input_count;
    int *inputs = region_take(&patterns->graph->region, (size_t)form->input_count, sizeof *inputs);
    if (!inputs) {
        patterns->failed = true;
        return false;
    }
    for (int i = 0; i < form->input_count; i++) {
        inputs[i] = form->inputs[i];
        if (inputs[i] != GRAPH_NONE)
            patterns->readers[inputs[i]]++;
    }
    node->op = form->op;
    node->inputs = inputs;
    node->input_count = form->input_count;
    node->attributes = form->attributes;
    node->attribute_count = form->attribute_count;
    for (int i = 0; i < before_count; i++)
        release(patterns, before[i], 0);
    return true;
}
