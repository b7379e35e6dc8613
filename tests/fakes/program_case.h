/* Programs written by hand, and run twice: by the oracle step by step, and as the CPU backend builds them. */
#ifndef WEIR_TESTS_FAKES_PROGRAM_CASE_H
#define WEIR_TESTS_FAKES_PROGRAM_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/graph/graph.h"
#include "engine/graph/program.h"

enum { PROGRAM_CASE_MAX = 64 };

/* All zero is an empty case. */
struct program_case {
    struct program program;
    struct graph_constant constants[PROGRAM_CASE_MAX];
    int constant_count;
    int input_count, output_count;
    unsigned char *results[PROGRAM_CASE_MAX]; /* by output, of the last run as the CPU backend builds it */
    size_t built_steps;                       /* steps of the last build */
    bool bf16, strict;
};

/* Adds a buffer; dims is "2,3,4", "" a scalar. Constants and inputs get numbers in -1..1 (integers 0 and 1), always the
 * same ones. Returns its number. */
int program_case_buffer(struct program_case *test, enum program_place place, enum tensor_dtype dtype, const char *dims);

/* The same for float32. */
int program_case_floats(struct program_case *test, enum program_place place, const char *dims);
int program_case_alias(struct program_case *test, int of, const char *dims);

/* The bytes of a constant, for tests that set them. */
float *program_case_values(struct program_case *test, int buffer);

/* Appends a step with one output. inputs ends with -2. */
void program_case_step(struct program_case *test, const struct operation *operation, const int *inputs, int output);

/* Runs both; returns the largest difference of an output's element, as a part of that output's largest element. An
 * element that is NaN on one side only counts as infinitely wrong. Negative: the build failed. */
double program_case_error(struct program_case *test);

void program_case_release(struct program_case *test);

#endif
