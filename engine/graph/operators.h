/* The operators that are known: one table for each family, and the checks that all of them share. */
#ifndef WEIR_ENGINE_GRAPH_OPERATORS_H
#define WEIR_ENGINE_GRAPH_OPERATORS_H

#include "engine/graph/lower.h"

struct operator_entry {
    const char *name;
    const char *attributes; /* the known ones, between blanks: " axis keepdims ", or " " */
    int min_inputs, max_inputs;
    int max_outputs;
    lower_function lower;
};

struct operator_family {
    const struct operator_entry *entries; /* sorted by name */
    size_t count;
};

/* Each in its lower_*.c. */
extern const struct operator_family lower_elementwise_family; /* functions, arithmetic, comparisons, Where, Cast */
extern const struct operator_family lower_layout_family;      /* the same elements under another shape; Shape, Size */
extern const struct operator_family lower_move_family;        /* Transpose, Slice, Concat, Gather, Pad, ... */
extern const struct operator_family lower_make_family;        /* ConstantOfShape, Range, EyeLike, OneHot... */
extern const struct operator_family lower_reduce_family;      /* reductions, ArgMax, TopK, CumSum */
extern const struct operator_family lower_norm_family;        /* softmax and normalizations */
extern const struct operator_family lower_matrix_family;      /* MatMul, Gemm, Einsum */
extern const struct operator_family lower_window_family;      /* Conv, pools, Resize */
extern const struct operator_family lower_quantize_family;
extern const struct operator_family lower_recurrent_family;

/* Is the operator known, with this many inputs and outputs and these attributes? Errors, naming the node: UNSUPPORTED,
 * INVALID. */
enum weir_status operators_check(const struct graph *graph, const struct graph_node *node,
                                 struct weir_error *err) WEIR_CHECKED;

/* Lowers the node, which operators_check has passed. */
enum weir_status operators_lower(struct lowering *lowering, const struct graph_node *node,
                                 struct weir_error *err) WEIR_CHECKED;

/* The names of the operators, in no order: NULL behind the last. */
const char *operators_name(size_t index);

#endif
