#include "engine/graph/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/pattern.h"

enum { MOST_REWRITES = 8 }; /* of one node: Conv, BatchNormalization, Mul, Add... */

static bool is_output(const struct graph *graph, int value) {
    for (int i = 0; i < graph->output_count; i++)
        if (graph->outputs[i].value == value)
            return true;
    return false;
}

/* Gives back its first input as it is, and nothing else that is read? */
static bool passes_on(const struct patterns *patterns, const struct graph_node *node) {
    if (node->domain[0] != 0 || node->input_count < 1 || node->inputs[0] == GRAPH_NONE ||
        node->outputs[0] == GRAPH_NONE)
        return false;
    if (strcmp(node->op, "Identity") == 0)
        return true;
    if (strcmp(node->op, "Dropout") != 0 ||
        (node->output_count > 1 && node->outputs[1] != GRAPH_NONE && patterns->readers[node->outputs[1]] > 0))
        return false;
    const struct graph_value *mode =
        pattern_input(node, 2) == GRAPH_NONE ? NULL : &patterns->graph->values[node->inputs[2]];
    if (mode && !(mode->constant && mode->constant->bytes && mode->constant->elements == 1))
        return false;
    return !mode || mode->constant->bytes[0] == 0;
}

static bool count_readers(struct patterns *patterns) {
    struct graph *graph = patterns->graph;
    patterns->most_values = graph->value_count + 2 * graph->node_count;
    patterns->readers = calloc((size_t)patterns->most_values + 1, sizeof *patterns->readers);
    if (!patterns->readers)
        return false;
    for (int i = 0; i < graph->output_count; i++)
        patterns->readers[graph->outputs[i].value]++;
    for (int i = 0; i < graph->node_count; i++)
        for (int j = 0; !graph->nodes[i].dead && j < graph->nodes[i].input_count; j++)
            if (graph->nodes[i].inputs[j] != GRAPH_NONE)
                patterns->readers[graph->nodes[i].inputs[j]]++;
    return true;
}

/* Readers of what is only passed on read the source. */
static bool skip_identities(struct patterns *patterns) {
    struct graph *graph = patterns->graph;
    int *sources = calloc((size_t)graph->value_count + 1, sizeof *sources);
    if (!sources)
        return false;
    for (int i = 0; i < graph->value_count; i++)
        sources[i] = i;
    for (int i = 0; i < graph->node_count; i++) {
        struct graph_node *node = &graph->nodes[i];
        for (int j = 0; !node->dead && j < node->input_count; j++)
            if (node->inputs[j] != GRAPH_NONE && sources[node->inputs[j]] != node->inputs[j]) {
                patterns->readers[node->inputs[j]]--;
                node->inputs[j] = sources[node->inputs[j]];
                patterns->readers[node->inputs[j]]++;
            }
        if (node->dead || node->output_count < 1 || !passes_on(patterns, node) || is_output(graph, node->outputs[0]))
            continue;
        sources[node->outputs[0]] = node->inputs[0];
        patterns->readers[node->inputs[0]]--;
        node->dead = true;
    }
    free(sources);
    return true;
}

static const struct graph_attribute *permutation_of(const struct graph_node *node) {
    const struct graph_attribute *order = graph_attribute(node, "perm");
    if (!order || order->type != GRAPH_ATTRIBUTE_INTS || order->item_count > TENSOR_MAX_RANK)
        return NULL;
    for (size_t i = 0; i < order->item_count; i++)
        if (order->ints[i] < 0 || order->ints[i] >= (int64_t)order->item_count)
            return NULL;
    return order;
}

/* Two transpositions are one, or none. */
static bool join_transpositions(struct patterns *patterns, struct graph_node *node) {
    const struct graph_node *inner =
        strcmp(node->op, "Transpose") == 0 ? pattern_producer(patterns, node->inputs[0], "Transpose") : NULL;
    const struct graph_attribute *first = inner ? permutation_of(inner) : NULL;
    const struct graph_attribute *second = inner ? permutation_of(node) : NULL;
    if (!first || !second || first->item_count != second->item_count)
        return false;
    struct pattern_node form = {.op = "Identity", .inputs = {inner->inputs[0]}, .input_count = 1};
    int64_t *order = region_take(&patterns->graph->region, first->item_count, sizeof *order);
    bool moves = false;
    for (size_t i = 0; order && i < first->item_count; i++) {
        order[i] = first->ints[second->ints[i]];
        moves = moves || order[i] != (int64_t)i;
    }
    if (moves) {
        form.op = "Transpose";
        form.attributes = pattern_take_attributes(patterns, 1);
        form.attribute_count = 1;
        if (form.attributes)
            form.attributes[0] = (struct graph_attribute){
                .name = "perm", .type = GRAPH_ATTRIBUTE_INTS, .ints = order, .item_count = first->item_count};
    }
    patterns->failed = patterns->failed || !order;
    return !patterns->failed && pattern_replace(patterns, node, &form);
}

enum weir_status patterns_apply(struct graph *graph, struct weir_error *err) {
    struct patterns patterns = {.graph = graph};
    bool counted = count_readers(&patterns) && skip_identities(&patterns);
    for (int i = 0; counted && i < graph->node_count && !patterns.failed; i++) {
        struct graph_node *node = &graph->nodes[i];
        if (node->dead || node->domain[0] != 0 || node->input_count < 1 || node->output_count < 1 ||
            node->outputs[0] == GRAPH_NONE)
            continue;
        for (int j = 0; j < MOST_REWRITES; j++)
            if (!pattern_norm_apply(&patterns, node) && !pattern_gelu_apply(&patterns, node) &&
                !pattern_affine_apply(&patterns, node) && !join_transpositions(&patterns, node))
                break;
    }
    free(patterns.readers);
    if (!counted || patterns.failed)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory to simplify the graph");
    return WEIR_OK;
}
