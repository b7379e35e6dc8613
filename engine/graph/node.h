/* What every operator needs of its node: typed attributes with defaults, and errors that name the place. */
#ifndef WEIR_ENGINE_GRAPH_NODE_H
#define WEIR_ENGINE_GRAPH_NODE_H

#include "engine/graph/graph.h"
#include "engine/graph/shapes.h"

/* Fills err with `node 1 'nms_7' (NonMaxSuppression, domain ai.onnx, opset 13): text`; a node without a name shows its
 * output instead. Returns status. */
enum weir_status node_fail(const struct graph *graph, const struct graph_node *node, struct weir_error *err,
                           enum weir_status status, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Reads an attribute, or leaves the value as it is where it is absent. Errors: INVALID if it has another type. */
enum weir_status node_int(const struct graph *graph, const struct graph_node *node, const char *name, int64_t *value,
                          struct weir_error *err) WEIR_CHECKED;
enum weir_status node_float(const struct graph *graph, const struct graph_node *node, const char *name, float *value,
                            struct weir_error *err) WEIR_CHECKED;
/* Owner of the text: the graph. */
enum weir_status node_text(const struct graph *graph, const struct graph_node *node, const char *name,
                           const char **value, struct weir_error *err) WEIR_CHECKED;

/* A list of up to TENSOR_MAX_RANK integers; count -1 where it is absent. Errors: INVALID, UNSUPPORTED (too long). */
enum weir_status node_ints(const struct graph *graph, const struct graph_node *node, const char *name,
                           struct shapes_list *list, struct weir_error *err) WEIR_CHECKED;

/* One of several words by its number. words ends with NULL. *value stays where the attribute is absent. Errors:
 * INVALID, UNSUPPORTED (another word, which is named with the known ones). */
enum weir_status node_word(const struct graph *graph, const struct graph_node *node, const char *name,
                           const char *const *words, int *value, struct weir_error *err) WEIR_CHECKED;

/* The value of that input or output, NULL if it is omitted. */
struct graph_value *node_input(const struct graph *graph, const struct graph_node *node, int input);
struct graph_value *node_output(const struct graph *graph, const struct graph_node *node, int output);

#endif
