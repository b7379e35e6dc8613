/* Passes over the program: several steps become one. */
#ifndef WEIR_ENGINE_GRAPH_FUSE_H
#define WEIR_ENGINE_GRAPH_FUSE_H

#include "engine/graph/program.h"

/* Puts what follows a dense step into it, as long as nothing else reads its result: additions and multiplications with
 * constants go into bias and weights (this is also how BatchNormalization and MatMul + Add fuse), then one activation
 * becomes the step's own. Returns false: out of memory. */
bool fuse_dense(struct program *program);

/* Lets steps that compute element by element, and softmax, write over their input where nothing reads it afterwards. */
void fuse_in_place(struct program *program);

#endif
