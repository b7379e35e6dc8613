#include "tests/fakes/onnx_branch.h"

#include <string.h>

enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE, ATTRIBUTE_GRAPH = 6, ATTRIBUTE_TYPE = 20 };

static void put_branch(struct onnx_model *model, const char *name, const struct onnx_bytes *branch) {
    if (!branch)
        return;
    model->piece.size = 0;
    onnx_put_bytes(&model->piece, 1, name, strlen(name));
    onnx_put_bytes(&model->piece, ATTRIBUTE_GRAPH, branch->data, branch->size);
    onnx_put_number(&model->piece, ATTRIBUTE_TYPE, 5);
    onnx_put_bytes(&model->part, NODE_ATTRIBUTE, model->piece.data, model->piece.size);
}

void onnx_branch_add_if(struct onnx_model *model, const char *condition, const char *output,
                        const struct onnx_bytes *then_branch, const struct onnx_bytes *else_branch) {
    model->part.size = 0;
    onnx_put_bytes(&model->part, NODE_INPUT, condition, strlen(condition));
    onnx_put_bytes(&model->part, NODE_OUTPUT, output, strlen(output));
    onnx_put_bytes(&model->part, NODE_NAME, "choice", 6);
    onnx_put_bytes(&model->part, NODE_OP, "If", 2);
    put_branch(model, "then_branch", then_branch);
    put_branch(model, "else_branch", else_branch);
    onnx_put_bytes(&model->body, 1, model->part.data, model->part.size);
}
