/* The program: the steps that a backend runs, in order, and the buffers between them. Every shape is concrete: a
 * program is made for one number of rows and one size of every free dimension. */
#ifndef WEIR_ENGINE_GRAPH_PROGRAM_H
#define WEIR_ENGINE_GRAPH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/graph/region.h"
#include "engine/status.h"
#include "engine/tensor.h"
#include "kernels/operation.h"

struct graph_constant;

enum program_place {
    PROGRAM_ARENA,
    PROGRAM_INPUT,    /* the staging memory of that index, in the signature's order */
    PROGRAM_OUTPUT,   /* likewise */
    PROGRAM_CONSTANT, /* the constant's bytes, or the backend's own packed form of them */
    PROGRAM_ALIAS,    /* the memory of buffer `index`, under another shape of as many bytes */
    PROGRAM_UNUSED
};

/* A tensor. dtype is F32, U8, I8, I32, I64 or BOOL but for inputs and outputs, which also are F16, BF16 or F64. */
struct program_buffer {
    enum program_place place;
    int index;
    enum tensor_dtype dtype;
    struct tensor_shape shape;
    size_t elements, bytes;
    const struct graph_constant *constant;
};

/* One operation. inputs and outputs are buffers, -1 where the operation does without. */
struct program_step {
    struct operation operation;
    int *inputs, *outputs; /* in the program's region */
    int input_count, output_count;
    int node; /* place of its node in the file, for people */
};

/* All zero is an empty program. Owner of the constants: the plan. */
struct program {
    struct region region;
    struct program_step *steps;
    size_t step_count, step_capacity;
    struct program_buffer *buffers;
    int buffer_count, buffer_capacity;
};

/* Appends a step, zeroed but for its kind; inputs and outputs are copied. Returns it, valid until the next call; NULL:
 * out of memory. */
struct program_step *program_add_step(struct program *program, enum operation_kind kind, const int *inputs,
                                      int input_count, const int *outputs, int output_count);

/* Adds a buffer of the arena. Returns its number, -1: out of memory, or the size does not fit. */
int program_add_buffer(struct program *program, enum tensor_dtype dtype, const struct tensor_shape *shape);

/* Follows aliases to the buffer that has the memory. */
int program_root(const struct program *program, int buffer);

/* A view of the buffer; data is NULL, or the constant's bytes. */
struct view program_view(const struct program *program, int buffer);

/* Kernels find optional inputs and outputs by their place: views of those that a step leaves out must be there, empty.
 */
enum { PROGRAM_SPARE_VIEWS = 10 };

/* Fills views for the step's inputs and outputs; both arrays are PROGRAM_SPARE_VIEWS longer than the step's lists, and
 * zeroed. buffer -1 gives a view without data. */
void program_step_views(const struct program *program, const struct program_step *step, struct view *inputs,
                        struct view *outputs);

/* Multiplications and additions of a step, each counted as one; 0 for those that only move. */
double program_step_flops(const struct program *program, const struct program_step *step);

void program_release(struct program *program);

#endif
