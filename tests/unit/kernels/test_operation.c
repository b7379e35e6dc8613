#include <criterion/criterion.h>

#include "kernels/operation.h"

Test(operation, every_operation_has_its_text) {
    for (int i = 0; i < OPERATION_KINDS; i++)
        cr_assert(operation_text((enum operation_kind)i)[0] != 0);
    cr_assert_str_eq(operation_text(OPERATION_COPY), "copy");
    cr_assert_str_eq(operation_text(OPERATION_MATMUL), "matmul");
    cr_assert_str_eq(operation_text(OPERATION_RECURRENT), "recurrent");
}

Test(operation, functions_of_one_and_two_numbers_have_theirs) {
    for (int i = 0; i < UNARY_KINDS; i++)
        cr_assert(operation_unary_text((enum unary_kind)i)[0] != 0);
    for (int i = 0; i < BINARY_KINDS; i++)
        cr_assert(operation_binary_text((enum binary_kind)i)[0] != 0);
    cr_assert_str_eq(operation_unary_text(UNARY_GELU_TANH), "gelu (tanh)");
    cr_assert_str_eq(operation_unary_text(UNARY_SCALE), "scale");
    cr_assert_str_eq(operation_binary_text(BINARY_LESS_EQUAL), "less or equal");
    cr_assert_str_eq(operation_binary_text(BINARY_SHIFT_RIGHT), "shift right");
}
