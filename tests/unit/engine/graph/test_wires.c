#include "engine/graph/wires.h"

#include <criterion/criterion.h>

#include "engine/graph/operators.h"
#include "tests/fakes/node_run.h"

static int input_count, output_count, first, second;

static enum weir_status lower(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct operation operation = {.kind = OPERATION_MATMUL, .matmul = {.alpha = 1}};
    const struct tensor_shape shape = {.rank = 2, .dims = {1, 1}};
    if (lower_define(lowering, node, 0, TENSOR_F32, &shape, err) != WEIR_OK ||
        wires_step(lowering, node, &operation, 3, 2, err) != WEIR_OK)
        return err->status;
    const struct program_step *step = &lowering->program->steps[0];
    input_count = step->input_count;
    output_count = step->output_count;
    first = step->inputs[2];
    second = step->outputs[1];
    return WEIR_OK;
}

Test(wires, what_the_node_does_without_is_named_as_such) {
    static const struct operator_entry entry = {"Two", " ", 2, 2, 1, lower};
    static const struct operator_family family = {&entry, 1};
    static const float x = 3, y = 4;
    static struct node_result result;
    struct node_case node = {"Two", NULL, {{TENSOR_F32, "1,1", &x}, {TENSOR_F32, "1,1", &y}}, 2, 1};
    cr_assert_eq(node_run(&family, &node, &result), WEIR_OK);
    cr_assert(input_count == 3 && output_count == 2 && first == -1 && second == -1);
    cr_assert(result.outputs[0].floats[0] == 12);
}
