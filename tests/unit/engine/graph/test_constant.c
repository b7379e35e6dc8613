#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/constant.h"

static struct graph_constant over(enum tensor_dtype dtype, const void *bytes, int64_t elements) {
    return (struct graph_constant){dtype, {.rank = 1, .dims = {elements}}, (size_t)elements, bytes};
}

Test(constant, every_type_is_read_as_float32) {
    static const float f32[] = {1.5f, -0.0f};
    static const double f64[] = {1.5, 1e300};
    static const uint16_t f16[] = {0x3E00, 0x0001}, bf16[] = {0x3FC0, 0xC000};
    static const int64_t i64[] = {-7, 1 << 20};
    static const int32_t i32[] = {-7, 9};
    static const int8_t i8[] = {-7, 9};
    static const uint8_t u8[] = {200, 1};
    struct graph_constant constants[] = {
        over(TENSOR_F32, f32, 2),   over(TENSOR_F64, f64, 2), over(TENSOR_F16, f16, 2),
        over(TENSOR_BF16, bf16, 2), over(TENSOR_I64, i64, 2), over(TENSOR_I32, i32, 2),
        over(TENSOR_I8, i8, 2),     over(TENSOR_U8, u8, 2),   over(TENSOR_BOOL, u8 + 1, 1)};
    static const float expected[] = {1.5f, 1.5f, 1.5f, 1.5f, -7, -7, -7, 200, 1};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        cr_assert(constant_element(&constants[i], 0) == expected[i], "constant %zu", i);
    cr_assert(constant_element(&constants[1], 1) > 3.4e38f); /* beyond float32: infinite */
    cr_assert(constant_element(&constants[2], 1) == 0x1p-24f);
    cr_assert(constant_element(&constants[3], 1) == -2.0f);
}

Test(constant, bytes_need_no_alignment) {
    unsigned char memory[9];
    static const float values[] = {3.25f, -8.5f};
    memcpy(memory + 1, values, sizeof values);
    struct graph_constant constant = over(TENSOR_F32, memory + 1, 2);
    float out[2];
    constant_floats(&constant, out);
    cr_assert(out[0] == 3.25f && out[1] == -8.5f);
}

Test(constant, integers_are_not_read_from_floats) {
    static const float values[] = {1};
    static const int32_t numbers[] = {-5};
    struct graph_constant floats = over(TENSOR_F32, values, 1), integers = over(TENSOR_I32, numbers, 1);
    int64_t out = 0;
    cr_assert_not(constant_integers(&floats, &out));
    cr_assert(constant_integers(&integers, &out) && out == -5);
}

Test(constant, programs_hold_all_floats_as_float32) {
    struct region region = {0};
    static const uint16_t halves[] = {0x3C00, 0xC000}, brains[] = {0x3F80, 0xC000};
    static const double wide[] = {1, -2};
    struct graph_constant constants[] = {over(TENSOR_F16, halves, 2), over(TENSOR_BF16, brains, 2),
                                         over(TENSOR_F64, wide, 2)};
    for (size_t i = 0; i < 3; i++) {
        const struct graph_constant *made = constant_as_program_type(&region, &constants[i]);
        cr_assert(made->dtype == TENSOR_F32 && made->elements == 2 && made->shape.rank == 1);
        cr_assert(constant_element(made, 0) == 1.0f && constant_element(made, 1) == -2.0f);
    }
    region_release(&region);
}

Test(constant, programs_hold_elements_where_they_lie_unless_they_are_not_aligned) {
    struct region region = {0};
    _Alignas(8) static unsigned char memory[24];
    static const int64_t values[] = {-3, 1ll << 40};
    memcpy(memory, values, sizeof values);
    struct graph_constant constant = over(TENSOR_I64, memory, 2);
    cr_assert_eq(constant_as_program_type(&region, &constant), &constant);
    memmove(memory + 3, memory, sizeof values);
    constant.bytes = memory + 3;
    const struct graph_constant *made = constant_as_program_type(&region, &constant);
    cr_assert(made != &constant && (uintptr_t)made->bytes % 8 == 0 && memcmp(made->bytes, values, sizeof values) == 0);
    constant.bytes = NULL; /* a backend has packed it */
    cr_assert_eq(constant_as_program_type(&region, &constant), &constant);
    region_release(&region);
}

Test(constant, a_shape_that_overflows_is_not_made) {
    struct region region = {0};
    unsigned char *bytes;
    struct tensor_shape shape = {.rank = 2, .dims = {INT64_MAX, 4}};
    cr_assert_null(constant_make(&region, TENSOR_F32, &shape, &bytes));
    region_release(&region);
}
