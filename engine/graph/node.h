/* What every operator needs of its node: typed attributes with defaults, and errors that name the place. */
#ifndef WEIR_ENGINE_GRAPH_NODE_H
#define WEIR_ENGINE_GRAPH_NODE_H

#include "engine/graph/graph.h"
#include "engine/graph/shapes.h"

/* Fills err with `node 1 'nms_7' (NonMaxSuppression, domain ai.onnx, opset 13): text`; a node without a name shows its
 * output instead. Returns status. */
enum weir_status node_fail(const struct graph *graph, const struct graph_node *node, struct weir_error *err,
                           enum weir_status status, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Reads an attribute, or the value to use where it is absent. Errors: INVALID if it has another type. */
enum weir_status node_int(const struct graph *graph, const struct graph_node *node, const char *name, int64_t *value,
                          struct weir_error *err) WEIR_CHECKED;
enum weir_status node_float(const struct graph *graph, const struct graph_node *node, const char *name, float *value,
                            struct weir_error *err) WEIR_CHECKED;

/* Lists of up to TENSOR_MAX_RANK integers (axes, shapes, permutations): from the constant input of that number, else
 * from the attribute. Its count is -1 where there is neither. Errors: INVALID, UNSUPPORTED (computed, or too long). */
enum weir_status node_list(const struct graph *graph, const struct graph_node *node, int input, const char *attribute,
                           struct shapes_list *list, struct weir_error *err) WEIR_CHECKED;

/* The value of that input or output, NULL if it is omitted. */
struct graph_value *node_input(const struct graph *graph, const struct graph_node *node, int input);
struct graph_value *node_output(const struct graph *graph, const struct graph_node *node, int output);

#endif
