/* The arena: one block for the values between steps, which share memory where their lifetimes do not overlap. */
#ifndef WEIR_ENGINE_GRAPH_ARENA_H
#define WEIR_ENGINE_GRAPH_ARENA_H

#include "engine/graph/program.h"

enum { ARENA_ALIGNMENT = 64 };

/* Places every buffer of PROGRAM_ARENA that a step uses. sizes: bytes by buffer (a backend may need more than the
 * elements take), or NULL for the buffers' own. offsets: by buffer, SIZE_MAX where a buffer is not in the arena itself;
 * aliases share their root's. In-place results are left to the caller. Returns the arena's size in *bytes; false:
 * out of memory, or the size does not fit. */
bool arena_place(const struct program *program, const size_t *sizes, size_t *offsets, size_t *bytes);

#endif
