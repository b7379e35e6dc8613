#include "tests/fakes/row_case.h"

#include <string.h>

int row_case_input(struct row_case *test, const char *dims, int axis) {
    test->inputs[test->made.input_count] = (struct independence_place){axis, 1, 1};
    return program_case_floats(&test->made, PROGRAM_INPUT, dims);
}

int row_case_value(struct row_case *test, const char *dims) {
    return program_case_floats(&test->made, PROGRAM_ARENA, dims);
}

int row_case_output(struct row_case *test, const char *dims) {
    return program_case_floats(&test->made, PROGRAM_OUTPUT, dims);
}

static int fill(struct row_case *test, const char *dims, float start, float step) {
    int number = program_case_floats(&test->made, PROGRAM_CONSTANT, dims);
    float *values = program_case_values(&test->made, number);
    for (size_t i = 0; i < test->made.program.buffers[number].elements; i++)
        values[i] = start + step * (float)i;
    return number;
}

int row_case_same(struct row_case *test, const char *dims, float number) {
    return fill(test, dims, number, 0);
}

int row_case_counting(struct row_case *test, const char *dims) {
    return fill(test, dims, 0, 1);
}

void row_case_step(struct row_case *test, struct operation operation, const int *inputs, int output) {
    program_case_step(&test->made, &operation, inputs, output);
}

int row_case_axis(struct row_case *test) {
    struct independence_place outputs[8];
    int axis = ROW_CASE_MIXES;
    if (independence_check(&test->made.program, ROW_CASE_ROWS, test->inputs, outputs, &test->err) == WEIR_OK)
        axis = outputs[0].axis;
    program_case_release(&test->made);
    memset(test->inputs, 0, sizeof test->inputs);
    return axis;
}
