/* Patterns: what exporters write as many nodes, and simple algebra on constants, as one node. */
#ifndef WEIR_ENGINE_GRAPH_PATTERNS_H
#define WEIR_ENGINE_GRAPH_PATTERNS_H

#include "engine/graph/graph.h"

/* Rewrites the graph in place, after constants have been folded: decomposed Gelu (erf and tanh), LayerNormalization,
 * SiLU, HardSwish and the like become one node; BatchNormalization, Mul and Add by channel behind Conv, ConvTranspose
 * or Gemm go into its weights. New nodes carry the name of the last one they replace; nodes that became useless are
 * dead. Errors: NO_MEMORY. thread: loader. */
enum weir_status patterns_apply(struct graph *graph, struct weir_error *err) WEIR_CHECKED;

#endif
