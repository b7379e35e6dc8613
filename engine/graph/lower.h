/* Lowering: from the nodes of the graph to the steps of the program, for concrete sizes of every dimension.
 *
 * Each value of the graph has a fact: its type and shape, and its elements where they are known (constants, and what is
 * computed from shapes). A node whose inputs are all known is computed on the spot by the oracle and leaves no steps:
 * an operator's lowering need not care. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_H
#define WEIR_ENGINE_GRAPH_LOWER_H

#include "engine/graph/graph.h"
#include "engine/graph/program.h"
#include "engine/graph/shapes.h"

/* dtype: F32 stands for all floats, as in programs. */
struct fact {
    bool defined;
    enum tensor_dtype dtype;
    struct tensor_shape shape;
    size_t elements;
    const void *known;                     /* all its elements; NULL: known only when the program runs */
    const struct graph_constant *constant; /* if known: the same as a constant */
    int buffer;                            /* GRAPH_NONE: none yet */
};

struct lowering {
    struct graph *graph;
    struct program *program;
    struct fact *facts;    /* by value */
    struct region *region; /* for what is known: the graph's when it is loaded, else the program's */
    uint32_t rows;         /* of the batch; 0: it is not known (constants are folded as the graph is loaded) */
};

/* Lowers one operator of one node. Errors, naming the node: INVALID, UNSUPPORTED, TOO_LARGE, NO_MEMORY. Every input
 * that is not omitted is defined; the number of inputs was checked against the operator's table entry. */
typedef enum weir_status (*lower_function)(struct lowering *lowering, const struct graph_node *node,
                                           struct weir_error *err);

/* Makes the steps of all live nodes for inputs of the given shapes (one for each graph input). Errors: as above. */
enum weir_status lower_graph(struct graph *graph, const struct tensor_shape *inputs, uint32_t rows,
                             struct program *program, struct weir_error *err) WEIR_CHECKED;

/* Computes every node that depends on constants alone; its outputs become constants of the graph, and it dies. Errors:
 * as above. */
enum weir_status lower_constants(struct graph *graph, struct weir_error *err) WEIR_CHECKED;

/* Finds conditions of Ifs that are not constants and yet the same for both sets of input shapes (the rank of a value,
 * say): they become constants, for inline_branches. *found: there was one. Errors: NO_MEMORY. */
enum weir_status lower_conditions(struct graph *graph, const struct tensor_shape *inputs,
                                  const struct tensor_shape *other_inputs, bool *found,
                                  struct weir_error *err) WEIR_CHECKED;

/* ---- for the operators ---- */

/* The fact of an input; NULL if the input is omitted. */
const struct fact *lower_input(const struct lowering *lowering, const struct graph_node *node, int input);

/* The same for an input that must be there. Errors: INVALID. */
enum weir_status lower_need(const struct lowering *lowering, const struct graph_node *node, int input,
                            const struct fact **out, struct weir_error *err) WEIR_CHECKED;

/* The same, and it must be float (F32 here). Errors: INVALID, UNSUPPORTED (naming its type). */
enum weir_status lower_need_float(const struct lowering *lowering, const struct graph_node *node, int input,
                                  const struct fact **out, struct weir_error *err) WEIR_CHECKED;

/* A list of up to TENSOR_MAX_RANK integers (axes, shapes, permutations): the elements of the known input of that number
 * (I64 or I32, rank 0 or 1), else the attribute's (NULL: there is none). Its count is -1 where there is neither. input
 * -1: only the attribute. Errors: INVALID, UNSUPPORTED (not known before the program runs, or too long). */
enum weir_status lower_list(const struct lowering *lowering, const struct graph_node *node, int input,
                            const char *attribute, struct shapes_list *list, struct weir_error *err) WEIR_CHECKED;

/* One number, float or integer, of a known input with one element; *value stays as it is if the input is omitted.
 * Errors: INVALID, UNSUPPORTED. */
enum weir_status lower_scalar(const struct lowering *lowering, const struct graph_node *node, int input, double *value,
                              struct weir_error *err) WEIR_CHECKED;

/* Gives an output of the node its type and shape, and a new buffer of the arena. Nothing happens where the output is
 * omitted. Errors: INVALID (a negative dimension), TOO_LARGE, NO_MEMORY. */
enum weir_status lower_define(struct lowering *lowering, const struct graph_node *node, int output,
                              enum tensor_dtype dtype, const struct tensor_shape *shape,
                              struct weir_error *err) WEIR_CHECKED;

/* The output is input `input` under another shape of as many elements: no step. */
enum weir_status lower_alias(struct lowering *lowering, const struct graph_node *node, int output, int input,
                             const struct tensor_shape *shape, struct weir_error *err) WEIR_CHECKED;

/* The output is known: the caller fills *bytes (zeroed before). For Shape, Range, ConstantOfShape and the like. */
enum weir_status lower_known(struct lowering *lowering, const struct graph_node *node, int output,
                             enum tensor_dtype dtype, const struct tensor_shape *shape, void **bytes,
                             struct weir_error *err) WEIR_CHECKED;

/* A buffer of the arena between two steps of one node. */
enum weir_status lower_temporary(struct lowering *lowering, const struct graph_node *node, enum tensor_dtype dtype,
                                 const struct tensor_shape *shape, int *buffer, struct weir_error *err) WEIR_CHECKED;

/* A known tensor that is no value of the graph: the caller fills *bytes. */
enum weir_status lower_temporary_known(struct lowering *lowering, const struct graph_node *node,
                                       enum tensor_dtype dtype, const struct tensor_shape *shape, int *buffer,
                                       void **bytes, struct weir_error *err) WEIR_CHECKED;

/* A buffer under another shape of as many elements. */
enum weir_status lower_temporary_alias(struct lowering *lowering, const struct graph_node *node, int of,
                                       const struct tensor_shape *shape, int *buffer,
                                       struct weir_error *err) WEIR_CHECKED;

/* The buffer of an input (-1 if it is omitted) or of a defined output (-1 likewise). *buffer is -2 and err filled when
 * out of memory. */
enum weir_status lower_input_buffer(struct lowering *lowering, const struct graph_node *node, int input, int *buffer,
                                    struct weir_error *err) WEIR_CHECKED;
int lower_output_buffer(const struct lowering *lowering, const struct graph_node *node, int output);

/* Appends a step from all the node's inputs to all its outputs, in order; the outputs are defined before. The operation
 * is copied. Errors: NO_MEMORY. */
enum weir_status lower_step(struct lowering *lowering, const struct graph_node *node, const struct operation *operation,
                            struct weir_error *err) WEIR_CHECKED;

/* Buffers of one step. */
struct lower_wires {
    const int *inputs, *outputs;
    int input_count, output_count;
};

/* Appends a step between those buffers. */
enum weir_status lower_wired_step(struct lowering *lowering, const struct graph_node *node,
                                  const struct operation *operation, const struct lower_wires *wires,
                                  struct weir_error *err) WEIR_CHECKED;

#endif
