/* The plan: what a backend runs. A model file is read into a graph, checked, folded and fused; the plan fixes the order
 * of the steps and where each value lives in the arena. */
#ifndef WEIR_ENGINE_GRAPH_PLAN_H
#define WEIR_ENGINE_GRAPH_PLAN_H

#include <stdint.h>

#include "engine/status.h"
#include "engine/tensor.h"

struct plan;

/* Reads, checks, fuses and plans the ONNX model file at path (".../model.onnx"; external data files must lie beneath
 * its directory). Errors: IO, INVALID (broken file), UNSUPPORTED (names node, operator, opset and the supported form),
 * NO_MEMORY. thread: loader. Owner: the caller, released by plan_destroy. */
enum weir_status plan_load(const char *path, struct plan **out, struct weir_error *err) WEIR_CHECKED;
void plan_destroy(struct plan *plan);

/* What goes in and comes out. Owner: the plan. */
const struct signature *plan_signature(const struct plan *plan);

/* Batch size the file was exported with, if it is fixed; 0 if the batch dimension is free. */
uint32_t plan_fixed_batch(const struct plan *plan);

#endif
