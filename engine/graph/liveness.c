#include "engine/graph/liveness.h"

#include <stdlib.h>

enum weir_status liveness_mark(struct graph *graph, struct weir_error *err) {
    bool *needed = calloc((size_t)graph->value_count + 1, sizeof *needed);
    if (!needed)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %d values", graph->value_count);
    for (int i = 0; i < graph->output_count; i++)
        needed[graph->outputs[i].value] = true;
    for (int i = graph->node_count - 1; i >= 0; i--) {
        struct graph_node *node = &graph->nodes[i];
        bool used = false;
        for (int j = 0; j < node->output_count; j++)
            used = used || (node->outputs[j] != GRAPH_NONE && needed[node->outputs[j]]);
        node->dead = node->dead || !used;
        for (int j = 0; !node->dead && j < node->input_count; j++)
            if (node->inputs[j] != GRAPH_NONE)
                needed[node->inputs[j]] = true;
    }
    free(needed);
    return WEIR_OK;
}
