#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <string.h>

#include "server/codec/element_check.h"

Test(element_check, a_float64_fits_if_it_does_not_become_infinite_in_float32) {
    static const double fit[] = {0,   -0.0,     1e-300,   0x1p-1074, 0x1.FFFFFEp127, -0x1.FFFFFEFFFFFFFp127,
                                 NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof fit / sizeof fit[0]; i++) {
        cr_assert(element_check_fits(fit[i]), "%a", fit[i]);
        cr_assert(isinf((float)fit[i]) == isinf(fit[i]), "%a", fit[i]);
    }
    static const double not_fit[] = {0x1.FFFFFFp127, -0x1.FFFFFFp127, 1e39, -1e300, 0x1.FFFFFFFFFFFFFp1023};
    for (size_t i = 0; i < sizeof not_fit / sizeof not_fit[0]; i++) {
        cr_assert(not(element_check_fits(not_fit[i])), "%a", not_fit[i]);
        cr_assert(isinf((float)not_fit[i]) != 0, "%a", not_fit[i]);
    }
}

Test(element_check, the_first_element_that_is_none_is_named_and_its_place) {
    struct weir_error err;
    const unsigned char bools[] = {0, 1, 1, 2, 3};
    cr_assert(element_check(TENSOR_BOOL, bools, 3, "", &err) == WEIR_OK);
    cr_assert(element_check(TENSOR_BOOL, bools, sizeof bools, " of the body", &err) == WEIR_INVALID);
    cr_assert(eq(str, err.text, "byte 3 of the body is 2, a bool is 0 or 1"));

    const double numbers[] = {1, INFINITY, NAN, 1e300, 1e301};
    char bytes[sizeof numbers + 1];
    memcpy(bytes + 1, numbers, sizeof numbers);
    cr_assert(element_check(TENSOR_F64, bytes + 1, 3 * sizeof(double), "", &err) == WEIR_OK);
    cr_assert(element_check(TENSOR_F64, bytes + 1, sizeof numbers, " of the array", &err) == WEIR_INVALID);
    cr_assert(
        eq(str, err.text, "element 3 of the array is 1e+300, outside the float32 range, in which float64 is computed"));
}

Test(element_check, every_byte_is_a_value_of_the_other_types) {
    struct weir_error err;
    unsigned char bytes[8];
    memset(bytes, 0xFF, sizeof bytes);
    for (int dtype = 0; dtype < TENSOR_DTYPE_COUNT; dtype++)
        if (dtype != TENSOR_BOOL)
            cr_assert(element_check((enum tensor_dtype)dtype, bytes, sizeof bytes, "", &err) == WEIR_OK);
}
