#include "engine/graph/graph_check.h"

#include "engine/graph/node.h"
#include "engine/graph/onnx_body.h"

static bool defined_later(const struct graph *graph, int from, int value) {
    for (int i = from; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].output_count; j++)
            if (graph->nodes[i].outputs[j] == value)
                return true;
    return false;
}

enum weir_status graph_check_node(struct graph *graph, int index, struct weir_error *err) {
    struct graph_node *node = &graph->nodes[index];
    if (onnx_body_capture(graph, node, err) != WEIR_OK)
        return weir_fail_in(err, "node %d '%.64s' (%.64s)", node->index, node->name, node->op);
    for (int i = 0; i < node->input_count; i++) {
        const struct graph_value *value = node_input(graph, node, i);
        if (!value || graph_defined(value))
            continue;
        return node_fail(graph, node, err, WEIR_INVALID, "input %d '%.64s' is %s", i, value->name,
                         defined_later(graph, index, node->inputs[i])
                             ? "defined only by this or a later node (a cycle, or nodes out of order)"
                             : "defined nowhere");
    }
    for (int i = 0; i < node->output_count; i++) {
        struct graph_value *value = node_output(graph, node, i);
        if (!value)
            continue;
        if (graph_defined(value))
            return node_fail(graph, node, err, WEIR_INVALID, "output %d '%.64s' is defined a second time", i,
                             value->name);
        value->producer = index;
    }
    return WEIR_OK;
}

enum weir_status graph_check(struct graph *graph, struct weir_error *err) {
    for (int i = 0; i < graph->node_count; i++)
        if (graph_check_node(graph, i, err) != WEIR_OK)
            return err->status;
    for (int i = 0; i < graph->output_count; i++) {
        const struct graph_value *value = &graph->values[graph->outputs[i].value];
        if (!graph_defined(value))
            return weir_fail(err, WEIR_INVALID, "output '%.64s' of the graph is defined nowhere", value->name);
        for (int j = 0; j < i; j++)
            if (graph->outputs[j].value == graph->outputs[i].value)
                return weir_fail(err, WEIR_INVALID, "output '%.64s' of the graph is listed twice", value->name);
    }
    return WEIR_OK;
}

enum weir_status graph_check_opset(const struct graph *graph, struct weir_error *err) {
    if (graph->opset == 0 && graph->import_count > 0)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "the model imports no opset of ai.onnx, but of '%.64s'; supported: ai.onnx",
                         graph->imports[0].domain);
    if (graph->opset == 0)
        return weir_fail(err, WEIR_INVALID, "the model imports no opset of ai.onnx");
    if (graph->opset < GRAPH_MIN_OPSET || graph->opset > GRAPH_MAX_OPSET)
        return weir_fail(err, WEIR_UNSUPPORTED, "opset %lld of ai.onnx; supported: %d to %d", (long long)graph->opset,
                         GRAPH_MIN_OPSET, GRAPH_MAX_OPSET);
    return WEIR_OK;
}
