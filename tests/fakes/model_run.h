/* Runs a model written by onnx_writer: from its bytes to the outputs, on the CPU backend. */
#ifndef WEIR_TESTS_FAKES_MODEL_RUN_H
#define WEIR_TESTS_FAKES_MODEL_RUN_H

#include <stdint.h>

#include "engine/status.h"
#include "tests/fakes/onnx_writer.h"

struct plan;
struct tensor_dims;

/* Finishes the model, plans it and runs `rows` rows of x; the first output's rows go to y. */
enum weir_status model_run(struct onnx_model *model, int opset, const float *x, uint32_t rows, float *y,
                           struct weir_error *err) WEIR_CHECKED;

/* Finishes the model and only plans it. The plan reads the model's bytes as long as it lives. */
enum weir_status model_plan(struct onnx_model *model, int opset, struct plan **out,
                            struct weir_error *err) WEIR_CHECKED;

/* Runs rows of x through an existing plan with the free sizes of its example; output is the number of the one to read.
 */
enum weir_status model_run_plan(struct plan *plan, const float *x, uint32_t rows, int output, float *y,
                                struct weir_error *err) WEIR_CHECKED;

/* Runs a plan by the oracle's kernels alone, for those sizes: inputs and outputs are whole tensors. */
enum weir_status model_run_oracle(struct plan *plan, const struct tensor_dims *dims, const void *const *inputs,
                                  void *const *outputs, struct weir_error *err) WEIR_CHECKED;

#endif
