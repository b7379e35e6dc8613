#include <criterion/criterion.h>
#include <math.h>

#include "kernels/ref/ref_gather.h"

#define VIEW(array, type, ...)                                                                                         \
    (struct view) {                                                                                                    \
        .data = (array), .element = (type), .rank = (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)), .dims = { \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

static void run(operation_function function, struct gather gather, const struct view *inputs, struct view y) {
    struct operation operation = {.gather = gather};
    function(&operation, inputs, &y, NULL);
}

static void assert_floats(const float *have, const float *want, size_t count) {
    for (size_t i = 0; i < count; i++)
        cr_assert(have[i] == want[i], "element %zu is %g, not %g", i, (double)have[i], (double)want[i]);
}

static float six[6] = {1, 2, 3, 4, 5, 6};

Test(ref_gather, rows_are_gathered_and_strange_indices_give_zeros) {
    int64_t indices[4] = {2, -3, 3, -4};
    float y[8];
    struct view inputs[2] = {VIEW(six, ELEMENT_F32, 3, 2), VIEW(indices, ELEMENT_I64, 2, 2)};
    run(ref_gather, (struct gather){.axis = 0}, inputs, VIEW(y, ELEMENT_F32, 2, 2, 2));
    assert_floats(y, (float[]){5, 6, 1, 2, 0, 0, 0, 0}, 8);
}

Test(ref_gather, a_scalar_index_takes_a_column) {
    int32_t index = -1;
    float y[2];
    struct view inputs[2] = {VIEW(six, ELEMENT_F32, 2, 3), {.data = &index, .element = ELEMENT_I32}};
    run(ref_gather, (struct gather){.axis = 1}, inputs, VIEW(y, ELEMENT_F32, 2));
    assert_floats(y, (float[]){3, 6}, 2);
}

Test(ref_gather, elements_are_gathered_along_the_axis) {
    int64_t indices[4] = {0, -1, 1, 9};
    float y[4];
    struct view inputs[2] = {VIEW(six, ELEMENT_F32, 2, 3), VIEW(indices, ELEMENT_I64, 2, 2)};
    run(ref_gather_elements, (struct gather){.axis = 1}, inputs, VIEW(y, ELEMENT_F32, 2, 2));
    assert_floats(y, (float[]){1, 3, 5, 0}, 4);
    run(ref_gather_elements, (struct gather){.axis = 0}, inputs, VIEW(y, ELEMENT_F32, 2, 2));
    assert_floats(y, (float[]){1, 5, 4, 0}, 4);
}

Test(ref_gather, tuples_choose_elements_or_slices) {
    int64_t tuples[4] = {0, 0, 1, -2}, rows[1] = {1}, batch[2] = {2, -3};
    float y[3];
    struct view inputs[2] = {VIEW(six, ELEMENT_F32, 2, 3), VIEW(tuples, ELEMENT_I64, 2, 2)};
    run(ref_gather_nd, (struct gather){0}, inputs, VIEW(y, ELEMENT_F32, 2));
    assert_floats(y, (float[]){1, 5}, 2);
    inputs[1] = VIEW(rows, ELEMENT_I64, 1, 1);
    run(ref_gather_nd, (struct gather){0}, inputs, VIEW(y, ELEMENT_F32, 1, 3));
    assert_floats(y, (float[]){4, 5, 6}, 3);
    inputs[1] = VIEW(batch, ELEMENT_I64, 2, 1);
    run(ref_gather_nd, (struct gather){.batch_dims = 1}, inputs, VIEW(y, ELEMENT_F32, 2));
    assert_floats(y, (float[]){3, 4}, 2);
}

Test(ref_gather, a_tuple_out_of_range_gives_zeros) {
    int64_t tuples[2] = {-3, 2};
    float y[6];
    struct view inputs[2] = {VIEW(six, ELEMENT_F32, 2, 3), VIEW(tuples, ELEMENT_I64, 2, 1)};
    run(ref_gather_nd, (struct gather){0}, inputs, VIEW(y, ELEMENT_F32, 2, 3));
    assert_floats(y, (float[]){0, 0, 0, 0, 0, 0}, 6);
}

static void assert_scattered(int reduction, const float *want) {
    int64_t indices[3] = {1, -2, 3};
    float updates[3] = {10, 20, 30}, y[3];
    struct view inputs[3] = {VIEW(six, ELEMENT_F32, 3), VIEW(indices, ELEMENT_I64, 3), VIEW(updates, ELEMENT_F32, 3)};
    struct gather gather = {.axis = 0};
    gather.reduction = reduction;
    run(ref_scatter_elements, gather, inputs, VIEW(y, ELEMENT_F32, 3));
    assert_floats(y, want, 3);
}

Test(ref_gather, updates_are_scattered_in_order_and_strangers_left_out) {
    assert_scattered(SCATTER_SET, (float[]){1, 20, 3});
    assert_scattered(SCATTER_ADD, (float[]){1, 32, 3});
    assert_scattered(SCATTER_MULTIPLY, (float[]){1, 400, 3});
    assert_scattered(SCATTER_MAX, (float[]){1, 20, 3});
    assert_scattered(SCATTER_MIN, (float[]){1, 2, 3});
}

Test(ref_gather, scattering_along_an_axis_keeps_the_other_places) {
    int32_t indices[4] = {2, 0, 1, 0};
    float updates[4] = {10, 20, 30, 40}, y[6];
    struct view inputs[3] = {VIEW(six, ELEMENT_F32, 2, 3), VIEW(indices, ELEMENT_I32, 2, 2),
                             VIEW(updates, ELEMENT_F32, 2, 2)};
    run(ref_scatter_elements, (struct gather){.axis = 1}, inputs, VIEW(y, ELEMENT_F32, 2, 3));
    assert_floats(y, (float[]){20, 2, 10, 40, 30, 6}, 6);
}

Test(ref_gather, integers_wrap_around_and_nan_wins_every_comparison) {
    uint8_t bytes[1] = {250}, byte_updates[1] = {10}, y[1];
    int64_t index[1] = {0};
    float number[1] = {1}, nan[1] = {NAN}, floats[1];
    struct view inputs[3] = {VIEW(bytes, ELEMENT_U8, 1), VIEW(index, ELEMENT_I64, 1),
                             VIEW(byte_updates, ELEMENT_U8, 1)};
    struct gather gather = {.reduction = SCATTER_ADD};
    run(ref_scatter_elements, gather, inputs, VIEW(y, ELEMENT_U8, 1));
    cr_assert_eq(y[0], 4);
    gather.reduction = SCATTER_MAX;
    inputs[0] = VIEW(number, ELEMENT_F32, 1);
    inputs[2] = VIEW(nan, ELEMENT_F32, 1);
    run(ref_scatter_elements, gather, inputs, VIEW(floats, ELEMENT_F32, 1));
    cr_assert(isnan(floats[0]));
}

Test(ref_gather, tuples_scatter_slices) {
    int64_t tuples[3] = {2, -3, 5};
    float updates[6] = {10, 20, 30, 40, 50, 60}, y[6];
    struct view inputs[3] = {VIEW(six, ELEMENT_F32, 3, 2), VIEW(tuples, ELEMENT_I64, 3, 1),
                             VIEW(updates, ELEMENT_F32, 3, 2)};
    run(ref_scatter_nd, (struct gather){0}, inputs, VIEW(y, ELEMENT_F32, 3, 2));
    assert_floats(y, (float[]){30, 40, 3, 4, 10, 20}, 6);
}
