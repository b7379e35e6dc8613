/* Inlining: an If whose condition is known is replaced by the nodes of the branch that it takes. */
#ifndef WEIR_ENGINE_GRAPH_INLINE_H
#define WEIR_ENGINE_GRAPH_INLINE_H

#include "engine/graph/graph.h"

/* Replaces every live If whose condition is a constant by its branch, whose outputs reach the If's through Identity
 * nodes; dead nodes are dropped, so that node numbers change. To be called after dead code has been marked and
 * constants folded, and again after them as long as *changed: that brings up what depends on the branch. Errors, naming
 * the node: INVALID (a branch that does not hang together), UNSUPPORTED (no If could be replaced and one is left: its
 * condition is computed when the model runs), TOO_LARGE, NO_MEMORY, IO. thread: loader. */
enum weir_status inline_branches(struct graph *graph, bool *changed, struct weir_error *err) WEIR_CHECKED;

#endif
