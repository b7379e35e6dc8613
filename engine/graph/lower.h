/* Lowering: from the nodes of the graph to the steps of the program. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_H
#define WEIR_ENGINE_GRAPH_LOWER_H

#include "engine/graph/graph.h"
#include "engine/graph/program.h"

struct lowering {
    struct graph *graph;
    struct program *program;
};

/* Lowers one operator of one node. Errors, naming the node: INVALID, UNSUPPORTED, TOO_LARGE, NO_MEMORY. */
typedef enum weir_status (*lower_function)(struct lowering *lowering, const struct graph_node *node,
                                           struct weir_error *err);

/* Lowers the whole graph: gives the input its buffer, every live node its steps, every output its place. Several steps
 * may follow one another where fusing later leaves one. Errors: as above, and UNSUPPORTED for inputs and outputs. */
enum weir_status lower_graph(struct graph *graph, struct program *program, struct weir_error *err) WEIR_CHECKED;

/* For the operators. Input number `input` as a computed value. Errors: INVALID (missing), UNSUPPORTED (a constant). */
enum weir_status lower_computed(struct lowering *lowering, const struct graph_node *node, int input,
                                struct graph_value **out, struct weir_error *err) WEIR_CHECKED;

/* Input number `input` as a float constant, NULL where it is omitted. Errors: UNSUPPORTED (computed, or not float). */
enum weir_status lower_constant(struct lowering *lowering, const struct graph_node *node, int input,
                                const struct graph_constant **out, struct weir_error *err) WEIR_CHECKED;

/* Gives output 0 of the node that shape and a buffer: an existing one, or a new one where buffer is GRAPH_NONE. */
enum weir_status lower_define(struct lowering *lowering, const struct graph_node *node,
                              const struct tensor_shape *shape, int buffer, struct weir_error *err) WEIR_CHECKED;

/* Appends a step from x to a buffer, or to a new one as large as x where *y is GRAPH_NONE. NULL: out of memory, err is
 * filled. */
struct program_step *lower_step(struct lowering *lowering, const struct graph_node *node, enum program_step_kind kind,
                                int x, int *y, struct weir_error *err) WEIR_CHECKED;

/* Takes count floats of the program's region. */
enum weir_status lower_floats(struct lowering *lowering, const struct graph_node *node, size_t count, float **out,
                              struct weir_error *err) WEIR_CHECKED;

#endif
