#include "engine/graph/inline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/graph_check.h"
#include "engine/graph/node.h"
#include "engine/graph/onnx_body.h"

enum { MOST_ROUNDS = 64 };

/* The graph's nodes as they will be. */
struct inlining {
    struct graph *graph;
    struct graph_node *nodes;
    bool *fresh; /* by node: from a branch */
    int count;
    struct weir_error *err;
};

static bool is_if(const struct graph_node *node) {
    return !node->dead && node->domain[0] == 0 && strcmp(node->op, "If") == 0;
}

static const struct graph_constant *condition_of(const struct graph *graph, const struct graph_node *node) {
    const struct graph_value *value = node_input(graph, node, 0);
    const struct graph_constant *constant = value ? value->constant : NULL;
    return constant && constant->bytes && constant->dtype == TENSOR_BOOL && constant->elements == 1 ? constant : NULL;
}

static enum weir_status find_branch(const struct graph *graph, const struct graph_node *node, struct wire *body,
                                    struct onnx_body_parts *parts, struct weir_error *err) {
    const char *name = condition_of(graph, node)->bytes[0] ? "then_branch" : "else_branch";
    const struct graph_attribute *branch = graph_attribute(node, name);
    if (!branch || branch->type != GRAPH_ATTRIBUTE_GRAPH || !branch->body)
        return node_fail(graph, node, err, WEIR_INVALID, "it has no %s", name);
    *body = wire_over(branch->body, branch->body_size);
    if (onnx_body_measure(graph, *body, parts, err) != WEIR_OK)
        return node_fail(graph, node, err, err->status, "%s: %.200s", name, (const char *)err->text);
    if (parts->outputs < (size_t)node->output_count)
        return node_fail(graph, node, err, WEIR_INVALID, "%s gives %zu outputs, not %d", name, parts->outputs,
                         node->output_count);
    return WEIR_OK;
}

/* Counts the nodes that there will be. *left is an If that stays, or NULL. */
static enum weir_status measure(const struct graph *graph, size_t *total, bool *changed, const struct graph_node **left,
                                struct weir_error *err) {
    struct onnx_body_parts parts;
    struct wire body;
    *total = 0;
    *changed = false;
    *left = NULL;
    for (int i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        if (is_if(node) && condition_of(graph, node)) {
            if (find_branch(graph, node, &body, &parts, err) != WEIR_OK)
                return err->status;
            *total += parts.nodes + (size_t)node->output_count;
            *changed = true;
            continue;
        }
        *total += !node->dead;
        if (is_if(node))
            *left = node;
    }
    if (*total > GRAPH_MAX_NODES)
        return weir_fail(err, WEIR_TOO_LARGE, "%zu nodes with those of its branches; supported: up to %d", *total,
                         GRAPH_MAX_NODES);
    return WEIR_OK;
}

static const struct graph_scope *make_scope(struct graph *graph, const struct graph_node *node) {
    char prefix[32];
    struct graph_scope *scope = region_take(&graph->region, 1, sizeof *scope);
    int size = snprintf(prefix, sizeof prefix, "branch%d/", graph->branches++);
    char *copy = region_copy_text(&graph->region, prefix, (size_t)size);
    if (!scope || !copy)
        return NULL;
    *scope = (struct graph_scope){node->scope, copy, node->scope ? node->scope->depth + 1 : 1};
    return scope;
}

static enum weir_status add_identity(struct inlining *inlining, const struct graph_node *node, int from, int to) {
    int *ends = region_take(&inlining->graph->region, 2, sizeof *ends);
    if (!ends)
        return node_fail(inlining->graph, node, inlining->err, WEIR_NO_MEMORY, "no memory");
    ends[0] = from;
    ends[1] = to;
    inlining->fresh[inlining->count] = true;
    inlining->nodes[inlining->count++] = (struct graph_node){.op = "Identity",
                                                             .name = node->name,
                                                             .domain = "",
                                                             .index = node->index,
                                                             .inputs = ends,
                                                             .outputs = ends + 1,
                                                             .input_count = 1,
                                                             .output_count = 1};
    return WEIR_OK;
}

static enum weir_status add_branch(struct inlining *inlining, const struct graph_node *node) {
    struct graph *graph = inlining->graph;
    struct weir_error *err = inlining->err;
    struct onnx_body_parts parts;
    struct wire body;
    if (find_branch(graph, node, &body, &parts, err) != WEIR_OK)
        return err->status;
    const struct graph_scope *scope = make_scope(graph, node);
    int *outputs = region_take(&graph->region, parts.outputs, sizeof *outputs);
    if (!scope || !outputs)
        return node_fail(graph, node, err, WEIR_NO_MEMORY, "no memory");
    if (scope->depth > GRAPH_MAX_DEPTH)
        return node_fail(graph, node, err, WEIR_UNSUPPORTED, "branches more than %d deep", GRAPH_MAX_DEPTH);
    struct onnx_body_target target = {scope, node->index, inlining->nodes + inlining->count, outputs};
    if (onnx_body_read(graph, body, &target, err) != WEIR_OK)
        return weir_fail_in(err, "a branch of node %d '%.64s' (If)", node->index, node->name);
    for (size_t i = 0; i < parts.nodes; i++)
        inlining->fresh[inlining->count++] = true;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i] != GRAPH_NONE && add_identity(inlining, node, outputs[i], node->outputs[i]) != WEIR_OK)
            return err->status;
    return WEIR_OK;
}

/* Puts the new list in place of the old one. The numbers of producers are made anew, and the new nodes are checked. */
static enum weir_status take_over(struct inlining *inlining) {
    struct graph *graph = inlining->graph;
    if (inlining->count > graph->node_capacity) {
        int capacity = inlining->count < GRAPH_MAX_NODES / 2 ? inlining->count * 2 : GRAPH_MAX_NODES;
        struct graph_node *nodes = region_take(&graph->region, (size_t)capacity, sizeof *nodes);
        if (!nodes)
            return weir_fail(inlining->err, WEIR_NO_MEMORY, "no memory for the nodes of branches");
        graph->nodes = nodes;
        graph->node_capacity = capacity;
    }
    if (inlining->count > 0)
        memcpy(graph->nodes, inlining->nodes, (size_t)inlining->count * sizeof *graph->nodes);
    graph->node_count = inlining->count;
    for (int i = 0; i < graph->value_count; i++)
        graph->values[i].producer = GRAPH_NONE;
    for (int i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        if (inlining->fresh[i] && graph_check_node(graph, i, inlining->err) != WEIR_OK)
            return inlining->err->status;
        for (int j = 0; j < node->output_count; j++)
            if (node->outputs[j] != GRAPH_NONE)
                graph->values[node->outputs[j]].producer = i;
    }
    return WEIR_OK;
}

enum weir_status inline_branches(struct graph *graph, bool *changed, struct weir_error *err) {
    struct inlining inlining = {.graph = graph, .err = err};
    const struct graph_node *left;
    size_t total;
    bool found;
    if (measure(graph, &total, &found, &left, err) != WEIR_OK)
        return err->status;
    if (!found && left)
        return node_fail(graph, left, err, WEIR_UNSUPPORTED,
                         "its condition is computed when the model runs; supported: one that is known from constants");
    if (!found) {
        *changed = false;
        return WEIR_OK;
    }
    if (graph->rounds++ == MOST_ROUNDS)
        return weir_fail(err, WEIR_UNSUPPORTED, "more than %d branches that depend on each other", MOST_ROUNDS);
    enum weir_status status = WEIR_OK;
    inlining.nodes = calloc(total + 1, sizeof *inlining.nodes);
    inlining.fresh = calloc(total + 1, sizeof *inlining.fresh);
    if (!inlining.nodes || !inlining.fresh)
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for the nodes of branches");
    for (int i = 0; status == WEIR_OK && i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        if (is_if(node) && condition_of(graph, node))
            status = add_branch(&inlining, node);
        else if (!node->dead)
            inlining.nodes[inlining.count++] = *node;
    }
    if (status == WEIR_OK)
        status = take_over(&inlining);
    if (status == WEIR_OK)
        *changed = true;
    free(inlining.nodes);
    free(inlining.fresh);
    return status;
}
