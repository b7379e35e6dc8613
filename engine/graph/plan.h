/* The plan: a model file, read, checked and simplified, from which programs are made for concrete sizes. It keeps the
 * weights that no backend has packed. */
#ifndef WEIR_ENGINE_GRAPH_PLAN_H
#define WEIR_ENGINE_GRAPH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/status.h"
#include "engine/tensor.h"

struct plan;
struct program;
struct graph_constant;

/* Reads, checks and simplifies the ONNX model file at path (".../model.onnx"; external data files must lie beneath its
 * directory), finds out which dimension is the batch, and makes a first program to be sure that it can. Errors: IO,
 * INVALID (broken file), UNSUPPORTED (names node, operator, opset and the supported form), TOO_LARGE, NO_MEMORY.
 * thread: loader. Owner: the caller, released by plan_destroy. */
enum weir_status plan_load(const char *path, struct plan **out, struct weir_error *err) WEIR_CHECKED;
void plan_destroy(struct plan *plan);

/* What goes in and comes out. Owner: the plan. */
const struct signature *plan_signature(const struct plan *plan);

/* Batch size the file was exported with, if it is fixed; 0 if the batch dimension is free. */
uint32_t plan_fixed_batch(const struct plan *plan);

/* Most rows that may run together: UINT32_MAX, or 1 where rows would not stay apart, or the model cannot run more; why
 * is then said in words ("" else). */
uint32_t plan_max_rows(const struct plan *plan);
const char *plan_max_rows_reason(const struct plan *plan);

/* What the caller should tell people: that float64 numbers are computed in float32; "" if nothing. */
const char *plan_notice(const struct plan *plan);

/* Sizes that are known to work, for one row: the first program was made for them. */
const struct tensor_dims *plan_example(const struct plan *plan);

/* Makes the program for these sizes, fused, its constants those of the plan. Errors: INVALID, UNSUPPORTED, TOO_LARGE
 * (the model does not take these sizes), NO_MEMORY. One call at a time. Owner of *program: the caller. */
enum weir_status plan_make_program(struct plan *plan, const struct tensor_dims *dims, struct program *program,
                                   struct weir_error *err) WEIR_CHECKED;

/* The backend has its own form of this constant: its memory goes back to the system. A later program that needs its
 * elements gets UNSUPPORTED. */
void plan_drop_constant(struct plan *plan, const struct graph_constant *constant);

#endif
