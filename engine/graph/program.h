/* The program: the steps that a backend runs, in order, and the buffers between them. */
#ifndef WEIR_ENGINE_GRAPH_PROGRAM_H
#define WEIR_ENGINE_GRAPH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/graph/region.h"
#include "engine/status.h"
#include "kernels/operation.h"

enum program_place { PROGRAM_INPUT, PROGRAM_OUTPUT, PROGRAM_ARENA, PROGRAM_UNUSED };

/* A float32 value of row_elements a row, rows one after another. INPUT and OUTPUT: the staging memory of that index. */
struct program_buffer {
    enum program_place place;
    int index;
    size_t row_elements;
    size_t row_offset_bytes; /* ARENA: the buffer of a batch begins at row_offset_bytes * rows; a multiple of 64 */
};

enum program_step_kind {
    PROGRAM_DENSE,            /* y = activation(x * weights + bias) */
    PROGRAM_ACTIVATE,         /* y = activation(x) */
    PROGRAM_COMBINE,          /* y = x op x2 */
    PROGRAM_COMBINE_CONSTANT, /* y = x op constant */
    PROGRAM_SOFTMAX,
    PROGRAM_COPY,
    PROGRAM_STEP_KINDS
};

/* Every batch row is a matrix of inner_rows x in; the result has inner_rows x out. */
struct program_dense {
    size_t inner_rows, in, out;
    float *weights; /* in x out, row by row */
    float *bias;    /* out elements, or NULL */
};

struct program_combine {
    enum combination op;
    bool on_left;  /* COMBINE_CONSTANT: constant op x */
    size_t period; /* COMBINE_CONSTANT: 1, the last dimensions' product, or row_elements */
    const float *values;
};

/* Per batch row: `outer` groups; length elements, inner apart, are normalized together. */
struct program_softmax {
    size_t outer, length, inner;
    bool log;
};

/* Per batch row: outer pieces of chunk elements go to y + piece * stride + offset. */
struct program_copy {
    size_t outer, chunk, stride, offset;
};

/* x, x2 and y are buffers; y may be x but for DENSE and COPY. */
struct program_step {
    enum program_step_kind kind;
    int x, x2, y;
    struct activation activation; /* DENSE, ACTIVATE */
    union {
        struct program_dense dense;
        struct program_combine combine;
        struct program_softmax softmax;
        struct program_copy copy;
    };
};

/* All zero is an empty program. Weights lie in the region. Owner: the plan. */
struct program {
    struct region region;
    struct program_step *steps;
    size_t step_count, step_capacity;
    struct program_buffer *buffers;
    int buffer_count, buffer_capacity;
    size_t arena_row_bytes;
};

/* Appends a step. Returns it, zeroed but for its kind and buffers, valid until the next call; NULL: out of memory. */
struct program_step *program_add_step(struct program *program, enum program_step_kind kind, int x, int y);

/* Adds a buffer of the arena. Returns its number, -1: out of memory. */
int program_add_buffer(struct program *program, size_t row_elements);

/* Multiplications and additions of one row, each counted as one. */
double program_row_flops(const struct program_step *step, const struct program *program);

/* "dense", "activate"... */
const char *program_step_text(enum program_step_kind kind);
const char *program_activation_text(enum activation_kind kind);

void program_release(struct program *program);

#endif
