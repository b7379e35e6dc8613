#include "kernels/cpu/cpu.h"

#include <criterion/criterion.h>

Test(cpu, a_fast_kernel_is_found_for_what_models_do_most) {
    float x[64], y[64];
    for (int i = 0; i < 64; i++)
        x[i] = (float)i - 32;
    struct view in = {x, ELEMENT_F32, 2, {1, 64}}, out = {y, ELEMENT_F32, 2, {1, 64}};
    struct operation operation = {.kind = OPERATION_UNARY, .unary = {UNARY_RELU, 0, 0}};
    operation_function run = cpu_find(&operation, &in, &out);
    cr_assert_not_null((void *)(uintptr_t)run);
    run(&operation, &in, &out, NULL);
    cr_assert(y[0] == 0 && y[31] == 0 && y[33] == 1 && y[63] == 31);
    operation = (struct operation){.kind = OPERATION_SOFTMAX, .softmax = {.axis = 1}};
    cr_assert_not_null((void *)(uintptr_t)cpu_find(&operation, &in, &out));
}

Test(cpu, what_has_no_fast_kernel_is_left_to_the_oracle) {
    struct view in = {.element = ELEMENT_F32, .rank = 1, .dims = {4}}, out = in;
    struct operation operation = {.kind = OPERATION_EINSUM};
    cr_assert_null((void *)(uintptr_t)cpu_find(&operation, &in, &out));
}
