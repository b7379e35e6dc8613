/* A plan in plain text, for people (`weir inspect`). */
#ifndef WEIR_ENGINE_GRAPH_DESCRIBE_H
#define WEIR_ENGINE_GRAPH_DESCRIBE_H

#include <stddef.h>

struct plan;

/* Writes inputs and outputs with their free dimensions, whether rows may share a batch, opset, operators with their
 * counts, parameters, operations and memory, and the steps of the program for the example sizes, one fact a line, into
 * text, as snprintf does: cut at size - 1 bytes, and the length of the whole returned. Makes a program, as
 * plan_make_program does: one call at a time. */
size_t plan_describe(struct plan *plan, char *text, size_t size);

#endif
