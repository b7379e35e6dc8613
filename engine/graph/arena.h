/* The arena: where each buffer between two steps lives, with reuse. */
#ifndef WEIR_ENGINE_GRAPH_ARENA_H
#define WEIR_ENGINE_GRAPH_ARENA_H

#include "engine/graph/program.h"

enum { ARENA_LINE_BYTES = 64 };

/* Gives every ARENA buffer an offset per row, so that buffers that are alive at the same time do not overlap, and sets
 * arena_row_bytes. Returns false: out of memory, or the sum overflows. */
bool arena_place(struct program *program);

#endif
