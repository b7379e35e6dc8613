#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tensor.h"
#include "engine/tensor_element.h"
#include "kernels/view.h"

Test(tensor, every_type_has_its_size_its_text_and_its_onnx_number) {
    static const struct {
        enum tensor_dtype dtype;
        int32_t onnx;
        size_t bytes;
        const char *text;
    } rows[] = {{TENSOR_F32, 1, 4, "float32"},  {TENSOR_U8, 2, 1, "uint8"},     {TENSOR_I8, 3, 1, "int8"},
                {TENSOR_I32, 6, 4, "int32"},    {TENSOR_I64, 7, 8, "int64"},    {TENSOR_BOOL, 9, 1, "bool"},
                {TENSOR_F16, 10, 2, "float16"}, {TENSOR_F64, 11, 8, "float64"}, {TENSOR_BF16, 16, 2, "bfloat16"}};
    cr_assert(eq(sz, sizeof rows / sizeof rows[0], TENSOR_DTYPE_COUNT));
    for (size_t i = 0; i < TENSOR_DTYPE_COUNT; i++) {
        enum tensor_dtype dtype = TENSOR_DTYPE_COUNT;
        cr_assert(tensor_dtype_from_onnx(rows[i].onnx, &dtype));
        cr_assert(dtype == rows[i].dtype);
        cr_assert(eq(sz, tensor_dtype_bytes(dtype), rows[i].bytes));
        cr_assert(eq(str, (char *)tensor_dtype_text(dtype), (char *)rows[i].text));
    }
}

Test(tensor, every_type_has_the_number_and_size_of_its_element_in_the_kernels) {
    _Static_assert((int)ELEMENT_COUNT == (int)TENSOR_DTYPE_COUNT, "the lists have the same entries");
    _Static_assert((int)ELEMENT_F32 == (int)TENSOR_F32 && (int)ELEMENT_U8 == (int)TENSOR_U8 &&
                       (int)ELEMENT_I8 == (int)TENSOR_I8 && (int)ELEMENT_I32 == (int)TENSOR_I32 &&
                       (int)ELEMENT_I64 == (int)TENSOR_I64 && (int)ELEMENT_BOOL == (int)TENSOR_BOOL &&
                       (int)ELEMENT_F16 == (int)TENSOR_F16 && (int)ELEMENT_F64 == (int)TENSOR_F64 &&
                       (int)ELEMENT_BF16 == (int)TENSOR_BF16,
                   "in the same order");
    _Static_assert((int)VIEW_MAX_RANK == (int)TENSOR_MAX_RANK, "and the same rank");
    for (int i = 0; i < ELEMENT_COUNT; i++)
        cr_assert_eq(view_element_bytes((enum element)i), tensor_dtype_bytes((enum tensor_dtype)i));
}

Test(tensor, a_type_outside_the_list_is_refused) {
    enum tensor_dtype dtype = TENSOR_F32;
    static const int32_t numbers[] = {0, -1, 4, 5, 8, 12, 13, 14, 15, 17, 23, 1000};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        cr_assert(not(tensor_dtype_from_onnx(numbers[i], &dtype)));
    cr_assert(dtype == TENSOR_F32);
    cr_assert(eq(sz, tensor_dtype_bytes(TENSOR_DTYPE_COUNT), 0));
    cr_assert(eq(str, (char *)tensor_dtype_text(TENSOR_DTYPE_COUNT), "unknown"));
}

Test(tensor, a_shape_is_written_in_brackets) {
    char text[64];
    struct tensor_shape shape = {.rank = 0};
    cr_assert(eq(str, (char *)tensor_shape_text(&shape, text, sizeof text), "[]"));
    shape = (struct tensor_shape){.rank = 1, .dims = {-1}};
    cr_assert(eq(str, (char *)tensor_shape_text(&shape, text, sizeof text), "[-1]"));
    shape = (struct tensor_shape){.rank = 3, .dims = {-1, 64, 7}};
    cr_assert(eq(str, (char *)tensor_shape_text(&shape, text, sizeof text), "[-1,64,7]"));
}

Test(tensor, a_shape_that_does_not_fit_its_text_is_cut) {
    struct tensor_shape shape = {.rank = 3, .dims = {-1, 123456789, 123456789}};
    for (size_t size = 1; size < 30; size++) {
        char *text = malloc(size); /* its own block: the sanitizer sees a step too far */
        tensor_shape_text(&shape, text, size);
        cr_assert(lt(sz, strnlen(text, size), size));
        cr_assert(strncmp("[-1,123456789,123456789]", text, strlen(text)) == 0);
        free(text);
    }
    char untouched = 'x';
    tensor_shape_text(&shape, &untouched, 0);
    cr_assert(untouched == 'x');
}

Test(tensor, elements_are_the_product_of_the_dimensions) {
    struct tensor_shape shape = {.rank = 4, .dims = {-1, 2, 3, 4}};
    size_t elements = 99;
    cr_assert(tensor_shape_elements(&shape, 1, &elements));
    cr_assert(eq(sz, elements, 24));
    cr_assert(tensor_shape_elements(&shape, 4, &elements));
    cr_assert(eq(sz, elements, 1));
    shape.dims[2] = 0;
    cr_assert(tensor_shape_elements(&shape, 1, &elements));
    cr_assert(eq(sz, elements, 0));
}

Test(tensor, negative_and_overflowing_dimensions_are_refused) {
    struct tensor_shape shape = {.rank = 3, .dims = {-1, 2, -1}};
    size_t elements = 99;
    cr_assert(not(tensor_shape_elements(&shape, 1, &elements)));
    shape = (struct tensor_shape){.rank = 3, .dims = {-1, INT64_MAX, 3}};
    cr_assert(not(tensor_shape_elements(&shape, 1, &elements)));
    cr_assert(eq(sz, elements, 99));
}

Test(tensor, a_spec_is_measured_by_row) {
    struct tensor_spec spec = {.dtype = TENSOR_I64, .shape = {.rank = 3, .dims = {-1, 5, 6}}};
    cr_assert(tensor_spec_measure(&spec));
    cr_assert(eq(sz, spec.row_elements, 30));
    cr_assert(eq(sz, spec.row_bytes, 240));
    spec.shape.rank = 1;
    cr_assert(tensor_spec_measure(&spec));
    cr_assert(eq(sz, spec.row_elements, 1));
    cr_assert(eq(sz, spec.row_bytes, 8));
    spec.shape = (struct tensor_shape){.rank = 2, .dims = {-1, INT64_MAX}};
    cr_assert(not(tensor_spec_measure(&spec)));
}

Test(tensor, a_spec_may_have_its_batch_anywhere_and_free_dimensions) {
    struct tensor_spec spec = {.dtype = TENSOR_F32, .shape = {.rank = 3, .dims = {2, TENSOR_BATCH, 128}}};
    struct tensor_dims dims = {.rows = 3, .free_count = 2, .free = {7, 9}};
    struct tensor_shape row;
    size_t elements;
    cr_assert(tensor_spec_measure(&spec));
    cr_assert(spec.batch_axis == 1 && spec.is_fixed && spec.row_elements == 256);
    spec.shape = (struct tensor_shape){.rank = 3, .dims = {TENSOR_BATCH, TENSOR_FREE(1), 4}};
    cr_assert(tensor_spec_measure(&spec));
    cr_assert(spec.batch_axis == 0 && !spec.is_fixed && spec.row_elements == 0);
    cr_assert(tensor_spec_row(&spec, &dims, &row, &elements));
    cr_assert(row.rank == 2 && row.dims[0] == 9 && row.dims[1] == 4 && elements == 36);
    struct tensor_shape whole = tensor_spec_whole(&spec, &dims);
    cr_assert(whole.rank == 3 && whole.dims[0] == 3 && whole.dims[1] == 9 && whole.dims[2] == 4);
    spec.shape.dims[1] = TENSOR_DERIVED;
    cr_assert(tensor_spec_measure(&spec) && !spec.is_fixed);
    cr_assert(not(tensor_spec_row(&spec, &dims, &row, &elements)));
    spec.shape.dims[1] = TENSOR_BATCH;
    cr_assert(not(tensor_spec_measure(&spec)));
    spec.shape = (struct tensor_shape){.rank = 0};
    cr_assert(tensor_spec_measure(&spec) && spec.batch_axis == -1 && spec.row_elements == 1);
}

Test(tensor, free_dimensions_are_written_as_minus_one) {
    char text[64];
    struct tensor_shape shape = {.rank = 3, .dims = {TENSOR_BATCH, TENSOR_FREE(2), TENSOR_DERIVED}};
    cr_assert(eq(str, (char *)tensor_shape_text(&shape, text, sizeof text), "[-1,-1,-1]"));
}

Test(tensor, only_equal_free_sizes_share_a_batch) {
    struct tensor_dims a = {.rows = 1, .free_count = 2, .free = {7, 9}}, b = a;
    b.rows = 5;
    cr_assert(tensor_dims_share(&a, &b));
    b.free[1] = 8;
    cr_assert(not(tensor_dims_share(&a, &b)));
    b = a;
    b.free_count = 1;
    cr_assert(not(tensor_dims_share(&a, &b)));
}

Test(tensor, a_released_signature_is_empty) {
    struct signature signature = {.inputs = calloc(2, sizeof(struct tensor_spec)),
                                  .outputs = calloc(1, sizeof(struct tensor_spec)),
                                  .input_count = 2,
                                  .output_count = 1};
    signature.inputs[0].name = strdup("a");
    signature.outputs[0].name = strdup("b");
    signature_release(&signature); /* the leak check of the sanitizer is the assertion */
    cr_assert(signature.inputs == NULL && signature.outputs == NULL);
    cr_assert(signature.input_count == 0 && signature.output_count == 0);
    signature_release(&signature);
}

Test(tensor, single_elements_are_read_wherever_they_lie) {
    const unsigned char bytes[] = {0xFF, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x3C, 0xC0, 0x3F};
    const float single = 2.5f;
    const double wide = -0.1;
    char moved[1 + 2 * sizeof wide];
    cr_assert(tensor_integer_at(TENSOR_I8, bytes, 1) == -2);
    cr_assert(tensor_integer_at(TENSOR_U8, bytes, 1) == 254);
    cr_assert(tensor_integer_at(TENSOR_I32, bytes + 1, 0) == -2);
    cr_assert(tensor_integer_at(TENSOR_I64, bytes + 1, 0) == -2);
    cr_assert(tensor_integer_at(TENSOR_I32, bytes + 1, 1) == -1);
    cr_assert(tensor_float_at(TENSOR_F16, bytes + 7, 1) == 1);
    cr_assert(tensor_float_at(TENSOR_BF16, bytes + 9, 1) == 1.5);
    memcpy(moved + 1 + sizeof single, &single, sizeof single);
    cr_assert(tensor_float_at(TENSOR_F32, moved + 1, 1) == 2.5);
    memcpy(moved + 1 + sizeof wide, &wide, sizeof wide);
    cr_assert(tensor_float_at(TENSOR_F64, moved + 1, 1) == -0.1);
    for (int dtype = 0; dtype < TENSOR_DTYPE_COUNT; dtype++)
        cr_assert(tensor_is_float((enum tensor_dtype)dtype) == (strstr(tensor_dtype_text(dtype), "float") != NULL));
}

Test(tensor, every_float16_is_the_float32_of_its_formula) {
    for (uint32_t bits = 0; bits <= 0xFFFF; bits++) {
        int exponent = (bits >> 10) & 0x1F;
        double fraction = bits & 0x3FF;
        double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
        float value = tensor_f16_to_f32((uint16_t)bits);
        cr_assert(bits >> 15 ? signbit(value) != 0 : signbit(value) == 0);
        if (exponent < 31)
            cr_assert(fabsf(value) == (float)magnitude, "%04x", bits);
        else if (fraction == 0)
            cr_assert(isinf(value) != 0, "%04x", bits);
        else
            cr_assert(isnan(value) != 0, "%04x", bits);
    }
}

Test(tensor, a_bfloat16_is_the_upper_half_of_a_float32) {
    cr_assert(tensor_bf16_to_f32(0x3F80) == 1);
    cr_assert(tensor_bf16_to_f32(0xC040) == -3);
    cr_assert(isinf(tensor_bf16_to_f32(0x7F80)) != 0);
    cr_assert(isnan(tensor_bf16_to_f32(0x7FC0)) != 0);
    cr_assert(tensor_bf16_to_f32(0x0001) == 0x1p-133F);
}
