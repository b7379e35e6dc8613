#include "engine/graph/program.h"

#include <criterion/criterion.h>

#include "engine/graph/graph.h"

static struct program program;

static void destroy(void) {
    program_release(&program);
}

TestSuite(program, .fini = destroy);

static int add(int64_t rows, int64_t cols) {
    return program_add_buffer(&program, TENSOR_F32, &(struct tensor_shape){.rank = 2, .dims = {rows, cols}});
}

Test(program, steps_and_buffers_are_kept_in_order) {
    for (int i = 0; i < 100; i++)
        cr_assert_eq(add(1, i + 1), i);
    for (int i = 1; i < 100; i++) {
        int inputs[2] = {i - 1, -1};
        struct program_step *step = program_add_step(&program, OPERATION_COPY, inputs, 2, &i, 1);
        cr_assert_not_null(step);
        cr_assert(step->inputs[0] == i - 1 && step->inputs[1] == -1 && step->outputs[0] == i);
    }
    cr_assert(program.step_count == 99 && program.buffers[41].elements == 42 && program.buffers[41].bytes == 168);
}

Test(program, a_size_that_overflows_is_refused) {
    cr_assert_eq(add(INT64_MAX, 3), -1);
    cr_assert_eq(add(INT64_MAX, 1), -1);
    cr_assert_eq(program.buffer_count, 0);
}

Test(program, a_view_shows_shape_type_and_a_constants_bytes_also_through_an_alias) {
    static const float numbers[6] = {1, 2, 3, 4, 5, 6};
    struct graph_constant constant = {TENSOR_F32, {2, {2, 3}}, 6, (const unsigned char *)(const void *)numbers};
    int buffer = add(2, 3), alias = add(3, 2);
    program.buffers[buffer].place = PROGRAM_CONSTANT;
    program.buffers[buffer].constant = &constant;
    program.buffers[alias].place = PROGRAM_ALIAS;
    program.buffers[alias].index = buffer;
    cr_assert_eq(program_root(&program, alias), buffer);
    struct view view = program_view(&program, alias);
    cr_assert(view.rank == 2 && view.dims[0] == 3 && view.dims[1] == 2 && view.element == ELEMENT_F32);
    cr_assert_eq(view.data, (const void *)numbers);
    cr_assert_null(program_view(&program, -1).data);
}

Test(program, a_products_flops_are_counted) {
    int a = add(8, 100), b = add(100, 10), y = add(8, 10), inputs[2] = {a, b};
    struct program_step *step = program_add_step(&program, OPERATION_MATMUL, inputs, 2, &y, 1);
    cr_assert_float_eq(program_step_flops(&program, step), 2.0 * 8 * 100 * 10, 0.5);
    step = program_add_step(&program, OPERATION_COPY, &a, 1, &a, 1);
    cr_assert_float_eq(program_step_flops(&program, step), 0, 0);
}
