#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_cast.h"
#include "kernels/ref/ref_elementwise.h"

enum { COUNT = 77 };

static void check(enum element through, struct view x, enum element to) {
    struct operation operation = {.kind = OPERATION_CAST, .through = through};
    struct view y = {calloc(COUNT, 8), to, 1, {COUNT}}, expected = {calloc(COUNT, 8), to, 1, {COUNT}};
    operation_function function = cpu_cast_find(&operation, &x, &y);
    cr_assert_not_null(function, "%d to %d", x.element, to);
    ref_cast(&operation, &x, &expected, NULL);
    function(&operation, &x, &y, NULL);
    cr_assert(memcmp(y.data, expected.data, COUNT * view_element_bytes(to)) == 0, "%d to %d", x.element, to);
    free(y.data);
    free(expected.data);
}

Test(cpu_cast, floats_become_every_element) {
    static const enum element elements[] = {ELEMENT_I64,  ELEMENT_I32, ELEMENT_I8,  ELEMENT_U8,
                                            ELEMENT_BOOL, ELEMENT_F64, ELEMENT_F16, ELEMENT_BF16};
    static const float edges[] = {NAN,     INFINITY, -INFINITY, 0.0f,     -0.0f,       0.5f,          -0.5f,
                                  255.5f,  256,      -128.9f,   -129,     127.9f,      128,           2147483520.0f,
                                  0x1p31f, -0x1p31f, -0x1p32f,  0x1p63f,  -0x1p63f,    -0x1p64f,      9.2233715e18f,
                                  65519,   65520,    6e-8f,     2.98e-8f, 1.00048828f, 3.4028234e38f, -1};
    float x[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        x[i] = i < sizeof edges / sizeof edges[0] ? edges[i] : ((float)i - 40) * 7.3f;
    for (size_t e = 0; e < sizeof elements / sizeof elements[0]; e++)
        check(ELEMENT_F32, (struct view){x, ELEMENT_F32, 1, {COUNT}}, elements[e]);
    check(ELEMENT_F16, (struct view){x, ELEMENT_F32, 1, {COUNT}}, ELEMENT_F32);
    check(ELEMENT_BF16, (struct view){x, ELEMENT_F32, 1, {COUNT}}, ELEMENT_F32);
}

Test(cpu_cast, every_element_becomes_float) {
    unsigned char bytes[COUNT * 8];
    static const enum element elements[] = {ELEMENT_I64, ELEMENT_I32, ELEMENT_I8, ELEMENT_U8, ELEMENT_BOOL};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t e = 0; e + 1 < sizeof elements / sizeof elements[0]; e++)
        check(ELEMENT_F32, (struct view){bytes, elements[e], 1, {COUNT}}, ELEMENT_F32);
    for (size_t i = 0; i < COUNT; i++)
        bytes[i] = i % 3 == 0;
    check(ELEMENT_F32, (struct view){bytes, ELEMENT_BOOL, 1, {COUNT}}, ELEMENT_F32);
    double doubles[COUNT];
    uint16_t halves[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        doubles[i] = ((double)i - 30) * 0.1;
        halves[i] = (uint16_t)(i * 811);
    }
    check(ELEMENT_F32, (struct view){doubles, ELEMENT_F64, 1, {COUNT}}, ELEMENT_F32);
    check(ELEMENT_F32, (struct view){halves, ELEMENT_F16, 1, {COUNT}}, ELEMENT_F32);
    check(ELEMENT_F32, (struct view){halves, ELEMENT_BF16, 1, {COUNT}}, ELEMENT_F32);
}

Test(cpu_cast, integers_and_bools_become_each_other) {
    int64_t x[COUNT];
    int32_t y[COUNT];
    uint8_t bools[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = ((int64_t)i - 9) * 0x12345678;
        y[i] = (int32_t)i - 9;
        bools[i] = i % 2;
    }
    check(ELEMENT_F32, (struct view){x, ELEMENT_I64, 1, {COUNT}}, ELEMENT_I32);
    check(ELEMENT_F32, (struct view){x, ELEMENT_I64, 1, {COUNT}}, ELEMENT_BOOL);
    check(ELEMENT_F32, (struct view){y, ELEMENT_I32, 1, {COUNT}}, ELEMENT_I64);
    check(ELEMENT_F32, (struct view){y, ELEMENT_I32, 1, {COUNT}}, ELEMENT_BOOL);
    check(ELEMENT_F32, (struct view){bools, ELEMENT_BOOL, 1, {COUNT}}, ELEMENT_I64);
    check(ELEMENT_F32, (struct view){bools, ELEMENT_BOOL, 1, {COUNT}}, ELEMENT_I32);
}

Test(cpu_cast, large_tensors_are_done_in_pieces) {
    enum { LARGE = 40001 };
    static int64_t x[LARGE];
    static float y[LARGE];
    struct view in = {x, ELEMENT_I64, 1, {LARGE}}, out = {y, ELEMENT_F32, 1, {LARGE}};
    struct operation operation = {.kind = OPERATION_CAST, .through = ELEMENT_F32};
    for (size_t i = 0; i < LARGE; i++)
        x[i] = -(int64_t)i;
    cpu_cast_find(&operation, &in, &out)(&operation, &in, &out, NULL);
    for (size_t i = 0; i < LARGE; i++)
        cr_assert_eq(y[i], -(float)i);
}

Test(cpu_cast, rare_pairs_are_the_oracles) {
    struct view x = {NULL, ELEMENT_F64, 0, {0}}, y = {NULL, ELEMENT_F16, 0, {0}}, z = {NULL, ELEMENT_F32, 0, {0}};
    struct operation operation = {.kind = OPERATION_CAST, .through = ELEMENT_F32};
    cr_assert_null(cpu_cast_find(&operation, &x, &y));
    operation.through = ELEMENT_F16;
    cr_assert_null(cpu_cast_find(&operation, &x, &z));
}
