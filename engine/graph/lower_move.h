/* Operators that move elements. Their family is in engine/graph/operators.h; here is what its files share. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_MOVE_H
#define WEIR_ENGINE_GRAPH_LOWER_MOVE_H

#include "engine/graph/lower.h"

/* Gives output 0 that type and shape and appends a step to it from the first `inputs` inputs. Nothing happens where the
 * output is omitted. Errors: as lower_define. */
enum weir_status lower_move_step(struct lowering *lowering, const struct graph_node *node,
                                 const struct operation *operation, const struct tensor_shape *shape, int inputs,
                                 struct weir_error *err) WEIR_CHECKED;

/* Brings an axis into 0..rank-1. Errors: INVALID. */
enum weir_status lower_move_axis(const struct lowering *lowering, const struct graph_node *node, int64_t axis, int rank,
                                 int *out, struct weir_error *err) WEIR_CHECKED;

/* Axes of a tensor of that rank, from input `input` (-1: none) or the attribute "axes", as 0..rank-1; all of them in
 * order where neither is there. Errors: INVALID (outside the rank, or twice the same), as lower_list. */
enum weir_status lower_move_axes(const struct lowering *lowering, const struct graph_node *node, int input, int rank,
                                 struct shapes_list *axes, struct weir_error *err) WEIR_CHECKED;

/* Integers of a known input, or of an attribute where the input is omitted; at most `most` of them. *count is -1 where
 * there is neither. Errors: INVALID, UNSUPPORTED. */
struct lower_move_list {
    int64_t *items;
    int most, count;
};
enum weir_status lower_move_list(const struct lowering *lowering, const struct graph_node *node, int input,
                                 const char *attribute, struct lower_move_list *list,
                                 struct weir_error *err) WEIR_CHECKED;

/* The operators of lower_gather.c, lower_pad.c and lower_resize.c. */
enum weir_status lower_gather(struct lowering *lowering, const struct graph_node *node, struct weir_error *err);
enum weir_status lower_gather_elements(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err);
enum weir_status lower_gather_nd(struct lowering *lowering, const struct graph_node *node, struct weir_error *err);
enum weir_status lower_gather_scatter(struct lowering *lowering, const struct graph_node *node, struct weir_error *err);
enum weir_status lower_gather_scatter_nd(struct lowering *lowering, const struct graph_node *node,
                                         struct weir_error *err);
enum weir_status lower_pad(struct lowering *lowering, const struct graph_node *node, struct weir_error *err);
enum weir_status lower_resize(struct lowering *lowering, const struct graph_node *node, struct weir_error *err);

#endif
