/* A plan in plain text, for people (`weir inspect`). */
#ifndef WEIR_ENGINE_GRAPH_DESCRIBE_H
#define WEIR_ENGINE_GRAPH_DESCRIBE_H

#include <stddef.h>

struct plan;

/* Writes inputs, outputs, opset, operators with their counts, parameters, operations per row and the fused steps, one
 * fact a line, into text, as snprintf does: cut at size - 1 bytes, and the length of the whole returned. */
size_t plan_describe(const struct plan *plan, char *text, size_t size);

#endif
