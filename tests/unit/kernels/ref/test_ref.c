#include "kernels/ref/ref.h"

#include <criterion/criterion.h>

Test(ref, every_operation_has_a_kernel) {
    for (int kind = 0; kind < OPERATION_KINDS; kind++)
        cr_assert_not_null((void *)(uintptr_t)ref_find((enum operation_kind)kind), "%s",
                           operation_text((enum operation_kind)kind));
}

Test(ref, a_kernel_is_found_by_its_kind) {
    float x[2] = {-1, 2}, y[2];
    struct view in = {x, ELEMENT_F32, 1, {2}}, out = {y, ELEMENT_F32, 1, {2}};
    struct operation operation = {.kind = OPERATION_UNARY, .unary = {UNARY_RELU, 0, 0}};
    cr_assert_eq(ref_scratch_bytes(&operation, &in, &out), 0);
    ref_find(operation.kind)(&operation, &in, &out, NULL);
    cr_assert(y[0] == 0 && y[1] == 2);
}
