#include <criterion/criterion.h>
#include <math.h>

#include "kernels/ref/ref_norm.h"

static struct view floats(float *data, int rank, size_t a, size_t b, size_t c) {
    return (struct view){data, ELEMENT_F32, rank, {a, b, c}};
}

Test(ref_norm, softmax_and_its_logarithm_of_one_dimension) {
    float x[4] = {0, 1, 1000, 1001}, y[4];
    struct operation operation = {.kind = OPERATION_SOFTMAX, .softmax = {.axis = 1}};
    struct view in = floats(x, 2, 2, 2, 0), out = floats(y, 2, 2, 2, 0);
    ref_softmax(&operation, &in, &out, NULL);
    cr_assert_float_eq(y[0], 0.26894142f, 1e-7);
    cr_assert_float_eq(y[3], 0.73105858f, 1e-7);
    operation.softmax.log = true;
    ref_softmax(&operation, &in, &out, NULL);
    cr_assert_float_eq(y[0], -1.3132616f, 1e-6);
    cr_assert_float_eq(y[3], -0.3132617f, 1e-6);
    operation.softmax = (struct softmax){.axis = 0};
    ref_softmax(&operation, &in, &out, NULL);
    cr_assert(y[0] == 0 && y[2] == 1);
}

Test(ref_norm, a_flat_softmax_takes_the_last_dimensions_together) {
    float x[8] = {0, 0, 0, 0, 1, 1, 1, 1}, y[8];
    struct operation operation = {.kind = OPERATION_SOFTMAX, .softmax = {.axis = 1, .flat = true}};
    struct view in = floats(x, 3, 2, 2, 2), out = floats(y, 3, 2, 2, 2);
    ref_softmax(&operation, &in, &out, NULL);
    cr_assert(y[0] == 0.25f && y[7] == 0.25f);
}

Test(ref_norm, a_hard_softmax_marks_the_first_greatest_element) {
    float x[4] = {1, 3, 3, 2}, y[4];
    struct operation operation = {.kind = OPERATION_SOFTMAX, .softmax = {.hard = true}};
    struct view in = floats(x, 1, 4, 0, 0), out = floats(y, 1, 4, 0, 0);
    ref_softmax(&operation, &in, &out, NULL);
    cr_assert(y[0] == 0 && y[1] == 1 && y[2] == 0 && y[3] == 0);
}

Test(ref_norm, layer_norm_gives_mean_and_deviation_where_wanted) {
    float x[4] = {1, 3, 10, 10}, scale[2] = {2, 3}, bias[2] = {1, -1}, y[4], mean[2], inverse[2];
    struct operation operation = {.kind = OPERATION_LAYER_NORM, .norm = {.axis = 1, .epsilon = 0}};
    struct view in[3] = {floats(x, 2, 1, 2, 0), floats(scale, 1, 2, 0, 0), floats(bias, 1, 2, 0, 0)};
    struct view out[3] = {floats(y, 2, 1, 2, 0), floats(mean, 2, 1, 1, 0), floats(inverse, 2, 1, 1, 0)};
    ref_layer_norm(&operation, in, out, NULL);
    cr_assert(y[0] == -1 && y[1] == 2 && mean[0] == 2 && inverse[0] == 1);
    in[0] = floats(x, 2, 2, 2, 0);
    in[2].data = out[1].data = out[2].data = NULL;
    operation.norm.epsilon = 3;
    ref_layer_norm(&operation, in, out, NULL);
    cr_assert(y[0] == -1 && y[1] == 1.5f && y[2] == 0 && y[3] == 0);
}

Test(ref_norm, batch_norm_has_its_own_numbers_by_channel) {
    float x[4] = {1, 2, 3, 4}, scale[2] = {2, 1}, bias[2] = {0, 10}, mean[2] = {1, 3}, variance[2] = {4, 1}, y[4];
    struct operation operation = {.kind = OPERATION_BATCH_NORM, .norm = {.epsilon = 0}};
    struct view in[5] = {floats(x, 3, 1, 2, 2), floats(scale, 1, 2, 0, 0), floats(bias, 1, 2, 0, 0),
                         floats(mean, 1, 2, 0, 0), floats(variance, 1, 2, 0, 0)};
    struct view out = floats(y, 3, 1, 2, 2);
    ref_batch_norm(&operation, in, &out, NULL);
    cr_assert(y[0] == 0 && y[1] == 1 && y[2] == 10 && y[3] == 11);
}

Test(ref_norm, instance_norm_is_by_channel_or_by_groups_of_them) {
    float x[4] = {1, 3, 5, 9}, scale[2] = {1, 2}, bias[2] = {0, 1}, y[4];
    struct operation operation = {.kind = OPERATION_INSTANCE_NORM, .norm = {.epsilon = 0}};
    struct view in[3] = {floats(x, 3, 1, 2, 2), floats(scale, 1, 2, 0, 0), floats(bias, 1, 2, 0, 0)};
    struct view out = floats(y, 3, 1, 2, 2);
    ref_instance_norm(&operation, in, &out, NULL);
    cr_assert(y[0] == -1 && y[1] == 1 && y[2] == -1 && y[3] == 3);
    operation.norm.groups = 1; /* mean 4.5, variance 8.75 */
    ref_instance_norm(&operation, in, &out, NULL);
    cr_assert_float_eq(y[0], -1.1832159f, 1e-6);
    cr_assert_float_eq(y[3], 2 * 1.5212777f + 1, 1e-5);
}

Test(ref_norm, lrn_looks_at_a_window_of_channels) {
    float x[4] = {1, 2, 3, 4}, y[4];
    struct operation operation = {.kind = OPERATION_LRN, .norm = {.size = 2, .alpha = 2, .beta = 1, .bias = 1}};
    struct view in = floats(x, 3, 1, 4, 1), out = floats(y, 3, 1, 4, 1);
    ref_lrn(&operation, &in, &out, NULL); /* of two channels, the second lies behind */
    cr_assert_float_eq(y[0], 1 / 6.0f, 1e-7);
    cr_assert_float_eq(y[1], 2 / 14.0f, 1e-7);
    cr_assert_float_eq(y[3], 4 / 17.0f, 1e-7);
    operation.norm.size = 100;
    ref_lrn(&operation, &in, &out, NULL);
    cr_assert_float_eq(y[0], 1 / (1 + 2 / 100.0f * 30), 1e-6);
}

Test(ref_norm, lp_norm_divides_by_the_norm_along_a_dimension) {
    float x[4] = {3, 0, -4, 0}, y[4];
    struct operation operation = {.kind = OPERATION_LP_NORM, .norm = {.axis = 0, .size = 2}};
    struct view in = floats(x, 2, 2, 2, 0), out = floats(y, 2, 2, 2, 0);
    ref_lp_norm(&operation, &in, &out, NULL);
    cr_assert(y[0] == 0.6f && y[2] == -0.8f && y[1] == 0 && y[3] == 0);
    operation.norm.size = 1;
    ref_lp_norm(&operation, &in, &out, NULL);
    cr_assert_float_eq(y[0], 3 / 7.0f, 1e-7);
}
