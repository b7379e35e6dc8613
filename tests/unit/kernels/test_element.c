#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/element.h"

static unsigned char bytes[64];

static struct view at(enum element element) {
    return (struct view){bytes + 1, element, 1, {4}}; /* not aligned */
}

Test(element, floats_are_those_of_any_precision) {
    static const enum element floats[] = {ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16, ELEMENT_F64};
    for (size_t i = 0; i < 4; i++) {
        struct view view = at(floats[i]);
        cr_assert(element_is_float(floats[i]));
        element_set_number(&view, 2, -1.5);
        cr_assert_eq(element_number(&view, 2), -1.5);
    }
    cr_assert(!element_is_float(ELEMENT_I64) && !element_is_float(ELEMENT_BOOL));
}

Test(element, integers_wrap_to_their_width) {
    static const struct {
        enum element element;
        int64_t in, out;
    } rows[] = {{ELEMENT_U8, 300, 44},         {ELEMENT_U8, -1, 255}, {ELEMENT_I8, 200, -56},
                {ELEMENT_I32, 0x100000005, 5}, {ELEMENT_I32, -7, -7}, {ELEMENT_I64, INT64_MIN, INT64_MIN},
                {ELEMENT_BOOL, 256, 1},        {ELEMENT_BOOL, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct view view = at(rows[i].element);
        element_set_integer(&view, 3, rows[i].in);
        cr_assert_eq(element_integer(&view, 3), rows[i].out, "row %zu", i);
        cr_assert_eq(element_number(&view, 3), (double)rows[i].out);
    }
}

Test(element, a_number_that_does_not_fit_saturates) {
    static const struct {
        enum element element;
        double in;
        int64_t out;
    } rows[] = {{ELEMENT_U8, -3.5, 0},           {ELEMENT_U8, 255.9, 255},       {ELEMENT_U8, 1e9, 255},
                {ELEMENT_I8, -128.9, -128},      {ELEMENT_I8, 127.5, 127},       {ELEMENT_I32, 1e10, INT32_MAX},
                {ELEMENT_I32, -1e10, INT32_MIN}, {ELEMENT_I64, 1e30, INT64_MAX}, {ELEMENT_I64, -1e30, INT64_MIN},
                {ELEMENT_I64, -2.9, -2},         {ELEMENT_BOOL, -0.0, 0},        {ELEMENT_BOOL, 0.25, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_assert_eq(element_saturate(rows[i].element, rows[i].in), rows[i].out, "row %zu", i);
    cr_assert_eq(element_saturate(ELEMENT_I32, (double)NAN), 0);
    cr_assert_eq(element_saturate(ELEMENT_BOOL, (double)NAN), 1);
    cr_assert_eq(element_saturate(ELEMENT_I64, -(double)INFINITY), INT64_MIN);
}
