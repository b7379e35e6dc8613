#include <criterion/criterion.h>
#include <math.h>

#include "kernels/ref/ref_resize.h"

/* One line of x, resized. */
static void line(struct resize resize, const float *x, size_t x_size, float scale, float *y, size_t y_size) {
    struct operation operation = {.kind = OPERATION_RESIZE, .resize = resize};
    struct view in = {.data = (float *)(uintptr_t)x, .element = ELEMENT_F32, .rank = 1, .dims = {x_size}};
    struct view out = {.data = y, .element = ELEMENT_F32, .rank = 1, .dims = {y_size}};
    operation.resize.scales[0] = scale;
    ref_resize(&operation, &in, &out, NULL);
}

static void assert_near(const float *have, const float *want, size_t count) {
    for (size_t i = 0; i < count; i++)
        cr_assert(fabsf(have[i] - want[i]) < 1e-5F, "element %zu is %g, not %g", i, (double)have[i], (double)want[i]);
}

static const float four[4] = {1, 2, 3, 4};

static void assert_nearest(enum resize_coordinates coordinates, enum resize_rounding rounding, const float *want) {
    float y[8];
    line((struct resize){.coordinates = coordinates, .rounding = rounding}, four, 4, 2, y, 8);
    assert_near(y, want, 8);
}

Test(ref_resize, every_rounding_chooses_its_neighbour) {
    assert_nearest(RESIZE_ASYMMETRIC, RESIZE_FLOOR, (float[]){1, 1, 2, 2, 3, 3, 4, 4});
    assert_nearest(RESIZE_ASYMMETRIC, RESIZE_CEIL, (float[]){1, 2, 2, 3, 3, 4, 4, 4});
    assert_nearest(RESIZE_ASYMMETRIC, RESIZE_PREFER_FLOOR, (float[]){1, 1, 2, 2, 3, 3, 4, 4});
    assert_nearest(RESIZE_ASYMMETRIC, RESIZE_PREFER_CEIL, (float[]){1, 2, 2, 3, 3, 4, 4, 4});
    assert_nearest(RESIZE_HALF_PIXEL, RESIZE_PREFER_FLOOR, (float[]){1, 1, 2, 2, 3, 3, 4, 4});
    assert_nearest(RESIZE_TF_HALF_PIXEL_FOR_NN, RESIZE_FLOOR, (float[]){1, 1, 2, 2, 3, 3, 4, 4});
    assert_nearest(RESIZE_ALIGN_CORNERS, RESIZE_FLOOR, (float[]){1, 1, 1, 2, 2, 3, 3, 4});
}

Test(ref_resize, coordinates_follow_their_mode) {
    struct resize resize = {.scales = {2}};
    cr_assert_float_eq(ref_resize_coordinate(&resize, 0, 4, 8, 0), -0.25F, 1e-6);
    resize.coordinates = RESIZE_PYTORCH_HALF_PIXEL;
    cr_assert_float_eq(ref_resize_coordinate(&resize, 0, 4, 8, 3), 1.25F, 1e-6);
    cr_assert_eq(ref_resize_coordinate(&resize, 0, 4, 1, 0), 0);
    resize.coordinates = RESIZE_ALIGN_CORNERS;
    cr_assert_float_eq(ref_resize_coordinate(&resize, 0, 4, 7, 3), 1.5F, 1e-6);
    cr_assert_eq(ref_resize_coordinate(&resize, 0, 4, 1, 0), 0);
    resize = (struct resize){.coordinates = RESIZE_TF_CROP, .scales = {1}, .roi_start = {0.25F}, .roi_end = {0.75F}};
    cr_assert_float_eq(ref_resize_coordinate(&resize, 0, 5, 3, 0), 1, 1e-6);
    cr_assert_float_eq(ref_resize_coordinate(&resize, 0, 5, 3, 2), 3, 1e-6);
    cr_assert_float_eq(ref_resize_coordinate(&resize, 0, 5, 1, 0), 2, 1e-6);
    resize = (struct resize){.coordinates = RESIZE_HALF_PIXEL_SYMMETRIC, .scales = {0.6F}};
    cr_assert_float_eq(ref_resize_coordinate(&resize, 0, 4, 2, 0), 0.5F * (4 - 2 / 0.6F) + 0.5F / 0.6F - 0.5F, 1e-5);
}

Test(ref_resize, linear_blends_and_stops_at_the_edges) {
    float y[8];
    line((struct resize){.mode = RESIZE_LINEAR}, four, 4, 2, y, 8);
    assert_near(y, (float[]){1, 1.25F, 1.75F, 2.25F, 2.75F, 3.25F, 3.75F, 4}, 8);
    line((struct resize){.mode = RESIZE_LINEAR, .coordinates = RESIZE_ALIGN_CORNERS}, four, 4, 1.75F, y, 7);
    assert_near(y, (float[]){1, 1.5F, 2, 2.5F, 3, 3.5F, 4}, 7);
}

Test(ref_resize, linear_works_in_three_dimensions) {
    float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[27];
    struct operation operation = {.resize = {.mode = RESIZE_LINEAR, .coordinates = RESIZE_ALIGN_CORNERS}};
    struct view in = {.data = x, .element = ELEMENT_F32, .rank = 3, .dims = {2, 2, 2}};
    struct view out = {.data = y, .element = ELEMENT_F32, .rank = 3, .dims = {3, 3, 3}};
    ref_resize(&operation, &in, &out, NULL);
    cr_assert_float_eq(y[13], 3.5F, 1e-6);
    cr_assert_float_eq(y[1], 0.5F, 1e-6);
    cr_assert_float_eq(y[26], 7, 1e-6);
}

/* The coefficients at a quarter, a = -0.75: -0.10546875, 0.87890625, 0.26171875, -0.03515625. */
Test(ref_resize, cubic_weighs_four_neighbours) {
    float y[8];
    line((struct resize){.mode = RESIZE_CUBIC, .cubic_a = -0.75F}, four, 4, 2, y, 8);
    cr_assert_float_eq(y[3], -0.10546875F * 1 + 0.87890625F * 2 + 0.26171875F * 3 - 0.03515625F * 4, 1e-5);
    cr_assert_float_eq(y[1], -0.10546875F * 1 + 0.87890625F * 1 + 0.26171875F * 2 - 0.03515625F * 3, 1e-5);
}

Test(ref_resize, cubic_may_leave_out_what_is_outside) {
    float y[8];
    line((struct resize){.mode = RESIZE_CUBIC, .cubic_a = -0.75F, .exclude_outside = true}, four, 4, 2, y, 8);
    float sum = 0.87890625F + 0.26171875F - 0.03515625F;
    cr_assert_float_eq(y[1], (0.87890625F * 1 + 0.26171875F * 2 - 0.03515625F * 3) / sum, 1e-5);
}

Test(ref_resize, cropping_extrapolates_outside) {
    float y[3];
    line((struct resize){.mode = RESIZE_LINEAR,
                         .coordinates = RESIZE_TF_CROP,
                         .roi_start = {0},
                         .roi_end = {2},
                         .extrapolation = 10},
         four, 4, 1, y, 3);
    assert_near(y, (float[]){1, 4, 10}, 3);
}

Test(ref_resize, coordinates_far_outside_stay_in_x) {
    float y[1];
    struct resize resize = {.mode = RESIZE_CUBIC, .coordinates = RESIZE_ASYMMETRIC, .cubic_a = -0.5F};
    line(resize, four, 4, 1e-6F, y, 1);
    cr_assert_float_eq(y[0], 1, 1e-6);
    cr_assert_eq(ref_resize_nearest(RESIZE_FLOOR, 1e30F, 4), 3);
    cr_assert_eq(ref_resize_nearest(RESIZE_CEIL, -1e30F, 4), 0);
    cr_assert_eq(ref_resize_nearest(RESIZE_PREFER_CEIL, NAN, 4), 0);
    resize.exclude_outside = true;
    resize.coordinates = RESIZE_TF_CROP;
    resize.roi_start[0] = resize.roi_end[0] = 5;
    resize.extrapolation = 3;
    line(resize, four, 4, 1, y, 1);
    cr_assert_eq(y[0], 3);
}

Test(ref_resize, nearest_moves_integers) {
    int64_t x[2] = {INT64_MIN, 5}, y[4];
    struct operation operation = {
        .resize = {.coordinates = RESIZE_ASYMMETRIC, .rounding = RESIZE_FLOOR, .scales = {2}}};
    struct view in = {.data = x, .element = ELEMENT_I64, .rank = 1, .dims = {2}};
    struct view out = {.data = y, .element = ELEMENT_I64, .rank = 1, .dims = {4}};
    ref_resize(&operation, &in, &out, NULL);
    cr_assert_arr_eq(y, ((int64_t[]){INT64_MIN, INT64_MIN, 5, 5}), sizeof y);
}
