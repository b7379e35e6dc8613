#include <criterion/criterion.h>
#include <math.h>

#include "kernels/half.h"

Test(half, known_numbers_have_their_bits) {
    static const struct {
        float number;
        uint16_t bits;
    } rows[] = {{0.0f, 0},      {1.0f, 0x3c00},     {-2.0f, 0xc000},    {65504.0f, 0x7bff},
                {0.5f, 0x3800}, {0x1p-14f, 0x0400}, {0x1p-24f, 0x0001}, {0x3ffp-24f, 0x3ff},
                {1.5f, 0x3e00}, {INFINITY, 0x7c00}, {-INFINITY, 0xfc00}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(half_from_float(rows[i].number), rows[i].bits, "row %zu", i);
        cr_assert_eq(half_to_float(rows[i].bits), rows[i].number, "row %zu", i);
    }
    cr_assert_eq(half_from_float(-0.0f), 0x8000);
    cr_assert(signbit(half_to_float(0x8000)) && half_to_float(0x8000) == 0);
}

Test(half, every_pattern_survives_the_way_there_and_back) {
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        float number = half_to_float((uint16_t)bits);
        if (isnan(number))
            cr_assert(isnan(half_to_float(half_from_float(number))));
        else
            cr_assert_eq(half_from_float(number), bits);
        number = half_bfloat16_to_float((uint16_t)bits);
        if (isnan(number))
            cr_assert(isnan(half_bfloat16_to_float(half_bfloat16_from_float(number))));
        else
            cr_assert_eq(half_bfloat16_from_float(number), bits);
    }
}

Test(half, halves_go_to_the_even_number) {
    cr_assert_eq(half_from_float(1.0f + 0x1p-11f), 0x3c00);            /* between 1 and the next */
    cr_assert_eq(half_from_float(1.0f + 3 * 0x1p-11f), 0x3c02);        /* between the next two */
    cr_assert_eq(half_from_float(1.0f + 0x1p-11f + 0x1p-23f), 0x3c01); /* a little above the middle */
    cr_assert_eq(half_from_float(0x1p-25f), 0);                        /* half the least subnormal */
    cr_assert_eq(half_from_float(0x1.8p-24f), 2);
    cr_assert_eq(half_from_float(nextafterf(0x1p-25f, 1)), 1);
    cr_assert_eq(half_bfloat16_from_float(1.0f + 0x1p-8f), 0x3f80);
    cr_assert_eq(half_bfloat16_from_float(1.0f + 3 * 0x1p-8f), 0x3f82);
}

Test(half, what_is_too_large_becomes_infinite) {
    cr_assert_eq(half_from_float(65519.0f), 0x7bff);
    cr_assert_eq(half_from_float(65520.0f), 0x7c00);
    cr_assert_eq(half_from_float(-1e30f), 0xfc00);
    cr_assert_eq(half_from_double(1e300), 0x7c00);
    cr_assert_eq(half_bfloat16_from_float(3.4028234e38f), 0x7f80);
    cr_assert_eq(half_bfloat16_from_double(-1e300), 0xff80);
}

Test(half, nan_stays_nan) {
    cr_assert(isnan(half_to_float(half_from_float(NAN))));
    cr_assert(isnan(half_to_float(half_from_double((double)NAN))));
    cr_assert(isnan(half_to_float(0x7c01)));
    cr_assert(isnan(half_bfloat16_to_float(half_bfloat16_from_float(-NAN))));
}

Test(half, a_double_is_rounded_once) {
    /* By way of float32 this would become the middle between two, and then the even one. */
    double above = 1.0 + 0x1p-11 + 0x1p-40, below = 1.0 + 3 * 0x1p-11 - 0x1p-40;
    cr_assert_eq(half_from_double(above), 0x3c01);
    cr_assert_eq(half_from_double(below), 0x3c01);
    cr_assert_eq(half_from_double(-above), 0xbc01);
    cr_assert_eq(half_bfloat16_from_double(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
    cr_assert_eq(half_from_double(1.5), 0x3e00);
}
