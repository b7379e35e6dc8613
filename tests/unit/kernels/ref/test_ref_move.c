#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/ref/ref_move.h"

#define VIEW(array, type, ...)                                                                                         \
    (struct view) {                                                                                                    \
        .data = (array), .element = (type), .rank = (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), .dims = { \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

static void run(operation_function function, struct operation operation, const struct view *inputs, struct view y) {
    function(&operation, inputs, &y, NULL);
}

static void assert_floats(const float *have, const float *want, size_t count) {
    for (size_t i = 0; i < count; i++)
        cr_assert(have[i] == want[i], "element %zu is %g, not %g", i, (double)have[i], (double)want[i]);
}

static float six[6] = {1, 2, 3, 4, 5, 6};

Test(ref_move, transposing_swaps_rows_and_columns) {
    float y[6];
    run(ref_transpose, (struct operation){.transpose = {{1, 0}}}, &VIEW(six, ELEMENT_F32, 2, 3),
        VIEW(y, ELEMENT_F32, 3, 2));
    assert_floats(y, (float[]){1, 4, 2, 5, 3, 6}, 6);
}

Test(ref_move, transposing_moves_elements_of_any_width) {
    uint8_t bytes[4] = {1, 2, 3, 4}, turned[4];
    int64_t wide[4] = {1, 2, 3, INT64_MIN}, wide_turned[4];
    struct operation operation = {.transpose = {{1, 0}}};
    run(ref_transpose, operation, &VIEW(bytes, ELEMENT_U8, 2, 2), VIEW(turned, ELEMENT_U8, 2, 2));
    cr_assert_arr_eq(turned, ((uint8_t[]){1, 3, 2, 4}), 4);
    run(ref_transpose, operation, &VIEW(wide, ELEMENT_I64, 2, 2), VIEW(wide_turned, ELEMENT_I64, 2, 2));
    cr_assert_arr_eq(wide_turned, ((int64_t[]){1, 3, 2, INT64_MIN}), sizeof wide);
}

Test(ref_move, transposing_a_scalar_copies_it) {
    float y = 0;
    struct view x = {.data = six, .element = ELEMENT_F32}, out = {.data = &y, .element = ELEMENT_F32};
    run(ref_transpose, (struct operation){0}, &x, out);
    cr_assert(y == 1);
}

Test(ref_move, a_slice_may_walk_backwards) {
    float y[4];
    run(ref_slice, (struct operation){.slice = {{1, 2}, {-1, -2}}}, &VIEW(six, ELEMENT_F32, 2, 3),
        VIEW(y, ELEMENT_F32, 2, 2));
    assert_floats(y, (float[]){6, 4, 3, 1}, 4);
}

Test(ref_move, an_empty_slice_touches_nothing) {
    float y[1] = {7};
    run(ref_slice, (struct operation){.slice = {{0}, {1}}}, &VIEW(six, ELEMENT_F32, 6), VIEW(y, ELEMENT_F32, 0));
    cr_assert(y[0] == 7);
}

Test(ref_move, concatenation_takes_inputs_until_the_axis_is_full) {
    float other[2] = {7, 8}, y[8];
    struct view inputs[3] = {VIEW(six, ELEMENT_F32, 2, 3), VIEW(NULL, ELEMENT_F32, 2, 0),
                             VIEW(other, ELEMENT_F32, 2, 1)};
    run(ref_concat, (struct operation){.axis = 1}, inputs, VIEW(y, ELEMENT_F32, 2, 4));
    assert_floats(y, (float[]){1, 2, 3, 7, 4, 5, 6, 8}, 8);
}

Test(ref_move, expanding_repeats_dimensions_of_one) {
    float y[12];
    run(ref_expand, (struct operation){0}, &VIEW(six, ELEMENT_F32, 3, 1), VIEW(y, ELEMENT_F32, 2, 3, 2));
    assert_floats(y, (float[]){1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}, 12);
}

Test(ref_move, tiling_repeats_the_whole) {
    float y[16];
    run(ref_tile, (struct operation){0}, &VIEW(six, ELEMENT_F32, 2, 2), VIEW(y, ELEMENT_F32, 4, 4));
    assert_floats(y, (float[]){1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}, 16);
}

static void assert_pad(enum pad_mode mode, int64_t before, const float *want) {
    float y[10];
    struct view inputs[2] = {VIEW(six, ELEMENT_F32, 3), {0}};
    run(ref_pad, (struct operation){.pad = {mode, {before}}}, inputs, VIEW(y, ELEMENT_F32, 10));
    assert_floats(y, want, 10);
}

Test(ref_move, every_mode_pads_in_its_way) {
    assert_pad(PAD_CONSTANT, 4, (float[]){0, 0, 0, 0, 1, 2, 3, 0, 0, 0});
    assert_pad(PAD_EDGE, 4, (float[]){1, 1, 1, 1, 1, 2, 3, 3, 3, 3});
    assert_pad(PAD_REFLECT, 4, (float[]){1, 2, 3, 2, 1, 2, 3, 2, 1, 2});
    assert_pad(PAD_WRAP, 4, (float[]){3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
    assert_pad(PAD_CONSTANT, -1, (float[]){2, 3, 0, 0, 0, 0, 0, 0, 0, 0});
}

Test(ref_move, a_single_element_reflects_itself) {
    float y[3];
    struct view inputs[2] = {VIEW(six, ELEMENT_F32, 1), {0}};
    run(ref_pad, (struct operation){.pad = {PAD_REFLECT, {1}}}, inputs, VIEW(y, ELEMENT_F32, 3));
    assert_floats(y, (float[]){1, 1, 1}, 3);
}

Test(ref_move, padding_takes_a_value) {
    int64_t x[2] = {1, 2}, value[1] = {-9}, y[6];
    struct view inputs[2] = {VIEW(x, ELEMENT_I64, 1, 2), {.data = value, .element = ELEMENT_I64}};
    run(ref_pad, (struct operation){.pad = {PAD_CONSTANT, {0, 1}}}, inputs, VIEW(y, ELEMENT_I64, 2, 3));
    cr_assert_arr_eq(y, ((int64_t[]){-9, 1, 2, -9, -9, -9}), sizeof y);
}

Test(ref_move, one_hot_counts_negative_indices_from_the_end_and_leaves_out_strangers) {
    int64_t indices[4] = {0, -1, 3, -4};
    float values[2] = {0, 5}, y[12];
    struct view inputs[2] = {VIEW(indices, ELEMENT_I64, 4), VIEW(values, ELEMENT_F32, 2)};
    run(ref_one_hot, (struct operation){.axis = 1}, inputs, VIEW(y, ELEMENT_F32, 4, 3));
    assert_floats(y, (float[]){5, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0}, 12);
    run(ref_one_hot, (struct operation){.axis = 0}, inputs, VIEW(y, ELEMENT_F32, 3, 4));
    assert_floats(y, (float[]){5, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0}, 12);
}

Test(ref_move, one_hot_takes_float_indices_and_no_index_from_nan) {
    float indices[3] = {1.75F, NAN, 1e30F};
    uint8_t values[2] = {1, 2}, y[6];
    struct view inputs[2] = {VIEW(indices, ELEMENT_F32, 3), VIEW(values, ELEMENT_U8, 2)};
    run(ref_one_hot, (struct operation){.axis = 1}, inputs, VIEW(y, ELEMENT_U8, 3, 2));
    cr_assert_arr_eq(y, ((uint8_t[]){1, 2, 1, 1, 1, 1}), 6);
}

Test(ref_move, triangles_keep_what_is_on_their_side_of_the_diagonal) {
    float y[6];
    run(ref_trilu, (struct operation){.trilu = {0, true}}, &VIEW(six, ELEMENT_F32, 2, 3), VIEW(y, ELEMENT_F32, 2, 3));
    assert_floats(y, (float[]){1, 2, 3, 0, 5, 6}, 6);
    run(ref_trilu, (struct operation){.trilu = {-1, false}}, &VIEW(six, ELEMENT_F32, 2, 3), VIEW(y, ELEMENT_F32, 2, 3));
    assert_floats(y, (float[]){0, 0, 0, 4, 0, 0}, 6);
    run(ref_trilu, (struct operation){.trilu = {1, true}}, &VIEW(six, ELEMENT_F32, 3, 1, 2),
        VIEW(y, ELEMENT_F32, 3, 1, 2));
    assert_floats(y, (float[]){0, 2, 0, 4, 0, 6}, 6);
}
