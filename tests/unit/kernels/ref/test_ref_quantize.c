#include "kernels/ref/ref_quantize.h"

#include <criterion/criterion.h>
#include <math.h>

#define VIEW(kind, pointer, count, ...)                                                                                \
    {                                                                                                                  \
        .data = (void *)(pointer), .element = (kind), .rank = (count), .dims = { __VA_ARGS__ }                         \
    }
#define FLOATS(pointer, count, ...)   VIEW(ELEMENT_F32, pointer, count, __VA_ARGS__)
#define BYTES(pointer, count, ...)    VIEW(ELEMENT_U8, pointer, count, __VA_ARGS__)
#define SIGNED(pointer, count, ...)   VIEW(ELEMENT_I8, pointer, count, __VA_ARGS__)
#define INTEGERS(pointer, count, ...) VIEW(ELEMENT_I32, pointer, count, __VA_ARGS__)

Test(ref_quantize, halves_go_to_the_even_number_and_the_ends_saturate) {
    static const float x[8] = {0, 1, 3, 5, -1, -3, 1000, -1000}, scale = 2;
    static const uint8_t zero = 128, expected[8] = {128, 128, 130, 130, 128, 126, 255, 0};
    uint8_t y[8];
    struct operation operation = {.kind = OPERATION_QUANTIZE};
    struct view inputs[3] = {FLOATS(x, 1, 8), FLOATS(&scale, 0, 0), BYTES(&zero, 0, 0)}, out = BYTES(y, 1, 8);
    ref_quantize(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(ref_quantize, signed_bytes_have_their_own_range_and_nan_is_its_low_end) {
    static const float x[4] = {300, -300, 1.4f, NAN}, scale = 1;
    int8_t y[4];
    struct operation operation = {.kind = OPERATION_QUANTIZE};
    struct view inputs[3] = {FLOATS(x, 1, 4), FLOATS(&scale, 0, 0)}, out = SIGNED(y, 1, 4);
    ref_quantize(&operation, inputs, &out, NULL);
    cr_assert(y[0] == 127 && y[1] == -128 && y[2] == 1 && y[3] == -128);
}

Test(ref_quantize, a_list_of_scales_follows_its_axis) {
    static const float x[8] = {1, 2, 3, 4, 10, 20, 30, 40}, scale[2] = {1, 10};
    static const uint8_t zero[2] = {0, 100}, expected[8] = {1, 2, 100, 100, 10, 20, 103, 104};
    uint8_t y[8];
    struct operation operation = {.kind = OPERATION_QUANTIZE, .axis = 1};
    struct view inputs[3] = {FLOATS(x, 3, 2, 2, 2), FLOATS(scale, 1, 2), BYTES(zero, 1, 2)};
    struct view out = BYTES(y, 3, 2, 2, 2);
    ref_quantize(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(ref_quantize, dequantizing_takes_the_zero_point_off_and_scales) {
    static const uint8_t x[4] = {0, 3, 128, 255}, zero[2] = {128, 1};
    static const float scale = 2, scales[2] = {2, 0.5f};
    float y[4];
    struct operation operation = {.kind = OPERATION_DEQUANTIZE, .axis = 0};
    struct view inputs[3] = {BYTES(x, 2, 2, 2), FLOATS(&scale, 0, 0), BYTES(zero, 0, 0)}, out = FLOATS(y, 2, 2, 2);
    ref_dequantize(&operation, inputs, &out, NULL);
    cr_assert(y[0] == -256 && y[1] == -250 && y[2] == 0 && y[3] == 254);
    inputs[1] = (struct view)FLOATS(scales, 1, 2);
    inputs[2] = (struct view)BYTES(zero, 1, 2);
    ref_dequantize(&operation, inputs, &out, NULL);
    cr_assert(y[0] == -256 && y[1] == -250 && y[2] == 63.5f && y[3] == 127);
}

Test(ref_quantize, wide_integers_are_dequantized_without_a_zero_point) {
    static const int32_t x[2] = {INT32_MIN, 5};
    static const float scale = 0.5f;
    float y[2];
    struct operation operation = {.kind = OPERATION_DEQUANTIZE};
    struct view inputs[3] = {INTEGERS(x, 1, 2), FLOATS(&scale, 0, 0)}, out = FLOATS(y, 1, 2);
    ref_dequantize(&operation, inputs, &out, NULL);
    cr_assert(y[0] == -1073741824.0f && y[1] == 2.5f);
}

/* The example of the operator's definition. */
Test(ref_quantize, the_range_of_the_numbers_gives_scale_and_zero_point) {
    static const float x[6] = {0, 2, -3, -2.5f, 1.34f, 0.5f};
    static const uint8_t expected[6] = {153, 255, 0, 26, 221, 179};
    uint8_t y[6], zero;
    float scale;
    struct operation operation = {.kind = OPERATION_DYNAMIC_QUANTIZE};
    struct view in = FLOATS(x, 1, 6), outputs[3] = {BYTES(y, 1, 6), FLOATS(&scale, 0, 0), BYTES(&zero, 0, 0)};
    ref_dynamic_quantize(&operation, &in, outputs, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
    cr_assert_float_eq(scale, 5.0f / 255, 1e-9);
    cr_assert_eq(zero, 153);
}

Test(ref_quantize, zeros_alone_have_the_scale_one) {
    static const float x[2] = {0, 0};
    uint8_t y[2], zero;
    float scale;
    struct operation operation = {.kind = OPERATION_DYNAMIC_QUANTIZE};
    struct view in = FLOATS(x, 1, 2), outputs[3] = {BYTES(y, 1, 2), FLOATS(&scale, 0, 0), BYTES(&zero, 0, 0)};
    ref_dynamic_quantize(&operation, &in, outputs, NULL);
    cr_assert(y[0] == 0 && y[1] == 0 && scale == 1 && zero == 0);
}

Test(ref_quantize, products_of_integers_take_zero_points_by_row_and_column) {
    static const uint8_t a[4] = {1, 2, 3, 4}, a_zero[2] = {1, 0};
    static const int8_t b[4] = {1, -1, 0, 2}, b_zero[2] = {0, 1};
    int32_t y[4];
    struct operation operation = {.kind = OPERATION_MATMUL_INTEGER};
    struct view inputs[4] = {BYTES(a, 2, 2, 2), SIGNED(b, 2, 2, 2)}, out = INTEGERS(y, 2, 2, 2);
    ref_matmul_integer(&operation, inputs, &out, NULL);
    cr_assert(y[0] == 1 && y[1] == 3 && y[2] == 3 && y[3] == 5);
    inputs[2] = (struct view)BYTES(a_zero, 2, 2, 1);
    inputs[3] = (struct view)SIGNED(b_zero, 2, 1, 2);
    ref_matmul_integer(&operation, inputs, &out, NULL); /* {0,1; 3,4} * {1,-2; 0,1} */
    cr_assert(y[0] == 0 && y[1] == 1 && y[2] == 3 && y[3] == -2);
}

Test(ref_quantize, a_quantized_product_is_scaled_by_row_and_column_and_rounded) {
    static const uint8_t a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, none = 0, y_zero = 10;
    static const float one = 1, rows[2] = {1, 2}, cols[2] = {1, 10}, y_scale = 4;
    uint8_t y[4];
    struct operation operation = {.kind = OPERATION_QLINEAR_MATMUL};
    struct view inputs[8] = {BYTES(a, 2, 2, 2),  FLOATS(&one, 0, 0), BYTES(&none, 0, 0),     BYTES(b, 2, 2, 2),
                             FLOATS(&one, 0, 0), BYTES(&none, 0, 0), FLOATS(&y_scale, 0, 0), BYTES(&y_zero, 0, 0)};
    struct view out = BYTES(y, 2, 2, 2);
    ref_qlinear_matmul(&operation, inputs, &out, NULL); /* {1,2; 3,4} / 4 */
    cr_assert(y[0] == 10 && y[1] == 10 && y[2] == 11 && y[3] == 11);
    inputs[1] = (struct view)FLOATS(rows, 2, 2, 1);
    inputs[4] = (struct view)FLOATS(cols, 2, 1, 2);
    ref_qlinear_matmul(&operation, inputs, &out, NULL); /* {1,20; 6,80} / 4 */
    cr_assert(y[0] == 10 && y[1] == 15 && y[2] == 12 && y[3] == 30);
}

Test(ref_quantize, a_convolution_of_integers_pads_with_the_zero_point) {
    static const uint8_t x[3] = {11, 12, 13}, zero = 10;
    static const int8_t w[4] = {1, 1, 2, -1}, w_zero[2] = {0, 1};
    static const int32_t expected[8] = {1, 3, 5, 3, -2, -3, -4, 3};
    int32_t y[8];
    struct operation operation = {
        .kind = OPERATION_CONV_INTEGER,
        .window = {
            .spatial = 1, .kernel = {2}, .strides = {1}, .dilations = {1}, .pads = {1}, .pads_end = {1}, .groups = 1}};
    struct view inputs[4] = {BYTES(x, 3, 1, 1, 3), SIGNED(w, 3, 2, 1, 2), BYTES(&zero, 0, 0), SIGNED(w_zero, 1, 2)};
    struct view out = INTEGERS(y, 3, 1, 2, 4);
    ref_conv_integer(&operation, inputs, &out, NULL); /* x - 10 = 1 2 3; filters 1 1 and 1 -2 */
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(ref_quantize, a_quantized_convolution_has_a_bias_and_scales_by_filter) {
    static const uint8_t x[3] = {1, 2, 3}, zero = 0, y_zero = 100;
    static const int8_t w[4] = {1, 1, 1, -1}, w_zero = 0;
    static const float one = 1, w_scale[2] = {1, 10}, y_scale = 2;
    static const int32_t bias[2] = {7, 0};
    static const uint8_t expected[4] = {105, 106, 95, 95};
    uint8_t y[4];
    struct operation operation = {
        .kind = OPERATION_QLINEAR_CONV,
        .window = {.spatial = 1, .kernel = {2}, .strides = {1}, .dilations = {1}, .groups = 1}};
    struct view inputs[9] = {BYTES(x, 3, 1, 1, 3),   FLOATS(&one, 0, 0),    BYTES(&zero, 0, 0),
                             SIGNED(w, 3, 2, 1, 2),  FLOATS(w_scale, 1, 2), SIGNED(&w_zero, 0, 0),
                             FLOATS(&y_scale, 0, 0), BYTES(&y_zero, 0, 0),  INTEGERS(bias, 1, 2)};
    struct view out = BYTES(y, 3, 1, 2, 2);
    ref_qlinear_conv(&operation, inputs, &out, NULL); /* {10,12} / 2 and {-1,-1} * 10 / 2 */
    cr_assert_arr_eq(y, expected, sizeof y);
}
