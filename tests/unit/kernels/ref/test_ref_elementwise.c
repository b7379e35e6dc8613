#include <criterion/criterion.h>
#include <math.h>

#include "kernels/ref/ref_elementwise.h"

static float activate(enum activation_kind kind, float low, float high, float x) {
    struct activation activation = {kind, low, high};
    ref_elementwise_activate(&activation, &x, &x, 1);
    return x;
}

Test(ref_elementwise, the_activations_give_known_values) {
    cr_assert(activate(ACTIVATION_NONE, 0, 0, -2) == -2);
    cr_assert(activate(ACTIVATION_RELU, 0, 0, -2) == 0 && activate(ACTIVATION_RELU, 0, 0, 2) == 2);
    cr_assert(activate(ACTIVATION_LEAKY_RELU, 0.5f, 0, -2) == -1);
    cr_assert(activate(ACTIVATION_CLIP, -1, 1, -2) == -1 && activate(ACTIVATION_CLIP, -1, 1, 2) == 1);
    cr_assert(activate(ACTIVATION_SIGMOID, 0, 0, 0) == 0.5f);
    cr_assert_float_eq(activate(ACTIVATION_TANH, 0, 0, 1), 0.7615942f, 1e-7);
    cr_assert(isnan(activate(ACTIVATION_RELU, 0, 0, NAN)));
}

Test(ref_elementwise, the_second_operand_is_repeated) {
    static const float a[] = {1, 2, 3, 4}, b[] = {10, 100};
    static const float expected[4][4] = {
        {11, 102, 13, 104}, {-9, -98, -7, -96}, {10, 200, 30, 400}, {0.1f, 0.02f, 0.3f, 0.04f}};
    float y[4];
    for (int op = COMBINATION_ADD; op <= COMBINATION_DIVIDE; op++) {
        ref_elementwise_combine((enum combination)op, a, b, 2, y, 4);
        for (int i = 0; i < 4; i++)
            cr_assert_float_eq(y[i], expected[op][i], 1e-7);
    }
}
