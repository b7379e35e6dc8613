#include "kernels/ref/ref_window.h"

#include <criterion/criterion.h>
#include <math.h>

#define VIEW(kind, pointer, count, ...)                                                                                \
    {                                                                                                                  \
        .data = (void *)(pointer), .element = (kind), .rank = (count), .dims = { __VA_ARGS__ }                         \
    }
#define FLOATS(pointer, count, ...) VIEW(ELEMENT_F32, pointer, count, __VA_ARGS__)

static const float nine[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static struct operation conv(struct window window) {
    return (struct operation){.kind = OPERATION_CONV, .window = window};
}

static const struct window line2 = {.spatial = 1, .kernel = {2}, .strides = {1}, .dilations = {1}, .groups = 1};
static const struct window square2 = {
    .spatial = 2, .kernel = {2, 2}, .strides = {1, 1}, .dilations = {1, 1}, .groups = 1};

Test(ref_window, a_convolution_worked_out_by_hand_comes_out) {
    static const float w[4] = {1, 0, 0, -1}, bias[1] = {10};
    static const float expected[4] = {6, 6, 6, 6};
    float y[4];
    struct view inputs[4] = {FLOATS(nine, 4, 1, 1, 3, 3), FLOATS(w, 4, 1, 1, 2, 2), FLOATS(bias, 1, 1)};
    struct view out = FLOATS(y, 4, 1, 1, 2, 2);
    struct operation operation = conv(square2);
    ref_conv(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(ref_window, strides_dilations_and_padding_place_the_kernel) {
    static const float w[2] = {1, 10};
    static const float expected[3] = {20, 42, 4}; /* pairs (pad,2) (2,4) (4,pad) */
    float y[3];
    struct window window = line2;
    window.strides[0] = window.dilations[0] = 2;
    window.pads[0] = window.pads_end[0] = 1;
    struct view inputs[4] = {FLOATS(nine, 3, 1, 1, 5), FLOATS(w, 3, 1, 1, 2)}, out = FLOATS(y, 3, 1, 1, 3);
    struct operation operation = conv(window);
    ref_conv(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(ref_window, groups_read_their_own_channels_and_then_is_the_last) {
    static const float w[8] = {1, 1, 1, -1, 2, 0, 0, -1}, bias[4] = {0, 0, 1, 0};
    static const float more[8] = {0, 0, 0, -1, 0, 0, 0, 100};
    static const float expected[8] = {3, 5, 0, 0, 9, 11, 0, 94}; /* y[3] = -1 - 1, y[6] = -5, y[7] = -6 + 100 */
    float y[8];
    struct window window = line2;
    window.groups = 2;
    struct view inputs[4] = {FLOATS(nine, 3, 1, 2, 3), FLOATS(w, 3, 4, 1, 2), FLOATS(bias, 1, 4),
                             FLOATS(more, 3, 1, 4, 2)};
    struct view out = FLOATS(y, 3, 1, 4, 2);
    struct operation operation = conv(window);
    operation.then.kind = UNARY_RELU;
    ref_conv(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
}

Test(ref_window, channels_are_summed_for_each_item_of_the_batch_in_three_dimensions) {
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, w[4] = {1, 10, 100, 1000};
    struct window window = {
        .spatial = 3, .kernel = {1, 1, 2}, .strides = {1, 1, 1}, .dilations = {1, 1, 1}, .groups = 1};
    float y[2];
    struct view inputs[4] = {FLOATS(x, 5, 2, 2, 1, 1, 2), FLOATS(w, 5, 1, 2, 1, 1, 2)},
                out = FLOATS(y, 5, 2, 1, 1, 1, 1);
    struct operation operation = conv(window);
    ref_conv(&operation, inputs, &out, NULL);
    cr_assert(y[0] == 4321 && y[1] == 8765);
}

Test(ref_window, a_transposed_convolution_spreads_each_element) {
    static const float w[3] = {1, 10, 100}, bias[1] = {0.5f};
    static const float expected[5] = {1.5f, 10.5f, 102.5f, 20.5f, 200.5f};
    float y[5], cut[4];
    struct operation operation = {
        .window = {.spatial = 1, .kernel = {3}, .strides = {2}, .dilations = {1}, .groups = 1}};
    struct view inputs[3] = {FLOATS(nine, 3, 1, 1, 2), FLOATS(w, 3, 1, 1, 3), FLOATS(bias, 1, 1)};
    struct view out = FLOATS(y, 3, 1, 1, 5), part = FLOATS(cut, 3, 1, 1, 4);
    ref_conv_transpose(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
    operation.window.pads[0] = 1; /* the first one goes */
    ref_conv_transpose(&operation, inputs, &part, NULL);
    cr_assert_arr_eq(cut, expected + 1, sizeof cut);
}

Test(ref_window, a_transposed_convolution_has_groups_dilations_and_padding_behind) {
    static const float x[4] = {1, 2, 3, 4} /* 2 groups of 1 channel */, w[8] = {1, 10, 2, 20, 3, 30, 4, 40};
    static const float expected[20] = {1, 2, 10, 20, 0, 2, 4, 20, 40, 0, 9, 12, 90, 120, 0, 12, 16, 120, 160, 0};
    float y[20];
    struct operation operation = {
        .window = {.spatial = 1, .kernel = {2}, .strides = {1}, .dilations = {2}, .groups = 2}};
    struct view inputs[3] = {FLOATS(x, 3, 1, 2, 2), FLOATS(w, 3, 2, 2, 2)}, out = FLOATS(y, 3, 1, 4, 5);
    ref_conv_transpose(&operation, inputs, &out, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
}

static struct operation pool(enum pool_kind kind, struct window window) {
    return (struct operation){.kind = OPERATION_POOL, .pool = {.kind = kind, .p = 2, .window = window}};
}

Test(ref_window, the_greatest_and_its_place_are_found_in_either_order) {
    static const float expected[4] = {5, 6, 8, 9};
    static const int64_t rows[4] = {4, 5, 7, 8}, columns[4] = {4, 7, 5, 8};
    float y[4];
    int64_t places[4];
    struct operation operation = pool(POOL_MAX, square2);
    struct view in = FLOATS(nine, 4, 1, 1, 3, 3);
    struct view outputs[2] = {FLOATS(y, 4, 1, 1, 2, 2), VIEW(ELEMENT_I64, places, 4, 1, 1, 2, 2)};
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert_arr_eq(y, expected, sizeof y);
    cr_assert_arr_eq(places, rows, sizeof places);
    operation.pool.column_major = true;
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert_arr_eq(places, columns, sizeof places);
}

Test(ref_window, places_count_over_the_whole_input_and_the_first_of_equals_wins) {
    static const float x[4] = {3, 3, 1, 1};
    float y[2];
    int64_t places[2];
    struct operation operation = pool(POOL_MAX, line2);
    struct view in = FLOATS(x, 3, 1, 2, 2);
    struct view outputs[2] = {FLOATS(y, 3, 1, 2, 1), VIEW(ELEMENT_I64, places, 3, 1, 2, 1)};
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert(y[0] == 3 && y[1] == 1 && places[0] == 0 && places[1] == 2);
}

Test(ref_window, padding_is_never_the_greatest_and_nan_is) {
    static const float x[3] = {-1, -2, NAN};
    float y[4];
    struct window window = line2;
    window.pads[0] = window.pads_end[0] = 1;
    struct operation operation = pool(POOL_MAX, window);
    struct view in = FLOATS(x, 3, 1, 1, 3), outputs[2] = {FLOATS(y, 3, 1, 1, 4)};
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert(y[0] == -1 && y[1] == -1 && isnan(y[2]) && isnan(y[3]));
}

Test(ref_window, the_greatest_of_bytes_has_their_sign) {
    static const unsigned char x[3] = {0x80, 0xFF, 1};
    unsigned char y[2];
    struct operation operation = pool(POOL_MAX, line2);
    struct view in = VIEW(ELEMENT_U8, x, 3, 1, 1, 3), outputs[2] = {VIEW(ELEMENT_U8, y, 3, 1, 1, 2)};
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert(y[0] == 0xFF && y[1] == 0xFF);
    in.element = outputs[0].element = ELEMENT_I8; /* -128, -1, 1 */
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert(y[0] == 0xFF && y[1] == 1);
}

Test(ref_window, an_average_counts_the_padding_or_does_not) {
    static const float x[3] = {2, 4, 6};
    float y[3];
    struct window window = line2;
    window.kernel[0] = 3;
    window.pads[0] = window.pads_end[0] = 1;
    struct operation operation = pool(POOL_AVERAGE, window);
    struct view in = FLOATS(x, 3, 1, 1, 3), outputs[2] = {FLOATS(y, 3, 1, 1, 3)};
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert(y[0] == 3 && y[1] == 4 && y[2] == 5);
    operation.pool.count_padding = true;
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert(y[0] == 2 && y[1] == 4 && y[2] == 10.0f / 3);
}

Test(ref_window, an_average_never_counts_what_lies_behind_the_padding) {
    static const float x[4] = {1, 2, 3, 4};
    float y[2];
    struct window window = line2;
    window.kernel[0] = 3;
    window.strides[0] = 3;
    struct operation operation = pool(POOL_AVERAGE, window);
    struct view in = FLOATS(x, 3, 1, 1, 4), outputs[2] = {FLOATS(y, 3, 1, 1, 2)};
    operation.pool.count_padding = true;
    ref_pool(&operation, &in, outputs, NULL); /* as ceil_mode makes it: the second window holds one element */
    cr_assert(y[0] == 2 && y[1] == 4);
}

Test(ref_window, the_norm_of_a_window_is_its_root_of_powers) {
    static const float x[3] = {3, -4, 0};
    float y[2];
    struct operation operation = pool(POOL_LP, line2);
    struct view in = FLOATS(x, 3, 1, 1, 3), outputs[2] = {FLOATS(y, 3, 1, 1, 2)};
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert(y[0] == 5 && y[1] == 4);
    operation.pool.p = 1;
    ref_pool(&operation, &in, outputs, NULL);
    cr_assert(y[0] == 7 && y[1] == 4);
}
