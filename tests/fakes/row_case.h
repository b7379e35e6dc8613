/* A program of one or a few steps, and where rows are found in its output: for the tests of independence. */
#ifndef WEIR_TESTS_FAKES_ROW_CASE_H
#define WEIR_TESTS_FAKES_ROW_CASE_H

#include "engine/graph/independence.h"
#include "tests/fakes/program_case.h"

/* Every case is of three rows. All zero is an empty one. */
enum { ROW_CASE_ROWS = 3, ROW_CASE_MIXES = -2 };
struct row_case {
    struct program_case made;
    struct independence_place inputs[8];
    struct weir_error err;
};

/* An input whose dimension axis are the rows; axis -1: it is the same for all of them. Returns its buffer. */
int row_case_input(struct row_case *test, const char *dims, int axis);

/* A value between steps, and the output. */
int row_case_value(struct row_case *test, const char *dims);
int row_case_output(struct row_case *test, const char *dims);

/* A float32 constant, the same number everywhere, or its index. */
int row_case_same(struct row_case *test, const char *dims, float number);
int row_case_counting(struct row_case *test, const char *dims);

/* Appends a step; inputs ends with -2. */
void row_case_step(struct row_case *test, struct operation operation, const int *inputs, int output);

/* The dimension of output 0 that holds the rows, -1 if it is the same for all, ROW_CASE_MIXES if they would mix.
 * Forgets the case; err says why. */
int row_case_axis(struct row_case *test);

#endif
