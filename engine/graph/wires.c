#include "engine/graph/wires.h"

enum weir_status wires_step(struct lowering *lowering, const struct graph_node *node, const struct operation *operation,
                            int input_count, int output_count, struct weir_error *err) {
    int inputs[WIRES_MAX], outputs[WIRES_MAX];
    for (int i = 0; i < input_count; i++)
        if (lower_input_buffer(lowering, node, i, &inputs[i], err) != WEIR_OK)
            return err->status;
    for (int i = 0; i < output_count; i++)
        outputs[i] = lower_output_buffer(lowering, node, i);
    struct lower_wires wires = {inputs, outputs, input_count, output_count};
    return lower_wired_step(lowering, node, operation, &wires, err);
}
