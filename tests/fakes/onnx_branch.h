/* Writes If nodes, whose branches are the bodies of other models of onnx_writer. */
#ifndef WEIR_TESTS_FAKES_ONNX_BRANCH_H
#define WEIR_TESTS_FAKES_ONNX_BRANCH_H

#include "tests/fakes/onnx_writer.h"

/* Adds a node with one input and one output and the two branches, either of which may be NULL. */
void onnx_branch_add_if(struct onnx_model *model, const char *condition, const char *output,
                        const struct onnx_bytes *then_branch, const struct onnx_bytes *else_branch);

#endif
