/* Fusing: fewer steps for the same results. */
#ifndef WEIR_ENGINE_GRAPH_FUSE_H
#define WEIR_ENGINE_GRAPH_FUSE_H

#include "engine/graph/program.h"

/* Takes activations behind MATMUL and CONV into their `then`, additions of a bias into MATMUL's c and CONV's b, and a
 * residual addition into CONV's sum, where nothing else reads the value between. Returns false when out of memory (the
 * program still is right). */
bool fuse_program(struct program *program);

#endif
