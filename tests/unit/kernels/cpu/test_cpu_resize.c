#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_resize.h"
#include "kernels/ref/ref_resize.h"

static uint32_t state = 7;

static size_t pick(size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
}

static void compare(const struct operation *operation, struct view x, struct view y) {
    size_t count = view_count(&x), made = view_count(&y), bytes = view_element_bytes(x.element);
    struct view slow = y;
    x.data = malloc(count * bytes);
    y.data = malloc(made * bytes);
    slow.data = malloc(made * bytes);
    for (size_t i = 0; i < count * bytes / sizeof(float); i++)
        ((float *)x.data)[i] = (float)pick(1000) / 10;
    for (size_t i = count * bytes / sizeof(float) * sizeof(float); i < count * bytes; i++)
        ((uint8_t *)x.data)[i] = (uint8_t)pick(256);
    operation_function fast = cpu_resize_find(operation, &x, &y);
    cr_assert_not_null(fast);
    fast(operation, &x, &y, NULL);
    ref_resize(operation, &x, &slow, NULL);
    if (operation->resize.mode == RESIZE_NEAREST)
        cr_assert(memcmp(y.data, slow.data, made * bytes) == 0);
    for (size_t i = 0; operation->resize.mode == RESIZE_LINEAR && i < made; i++)
        cr_assert(fabsf(((float *)y.data)[i] - ((float *)slow.data)[i]) < 1e-3F, "element %zu is %g, not %g", i,
                  (double)((float *)y.data)[i], (double)((float *)slow.data)[i]);
    free(x.data);
    free(y.data);
    free(slow.data);
}

Test(cpu_resize, images_are_resized_like_the_oracle_in_every_mode) {
    static const enum element elements[] = {ELEMENT_F32, ELEMENT_U8, ELEMENT_I64};
    for (int round = 0; round < 300; round++) {
        struct operation operation = {.kind = OPERATION_RESIZE};
        struct resize *resize = &operation.resize;
        resize->mode = pick(2) ? RESIZE_NEAREST : RESIZE_LINEAR;
        resize->coordinates = (enum resize_coordinates)pick(5);
        resize->rounding = (enum resize_rounding)pick(4);
        struct view x = {.rank = 4, .dims = {1 + pick(2), 1 + pick(3), 1 + pick(9), 1 + pick(9)}}, y = x;
        x.element = y.element = resize->mode == RESIZE_NEAREST ? elements[pick(3)] : ELEMENT_F32;
        for (int d = 0; d < 4; d++) {
            y.dims[d] = d < 2 ? x.dims[d] : 1 + pick(d == 3 && round % 50 == 0 ? 600 : 20);
            resize->scales[d] = (float)y.dims[d] / (float)x.dims[d];
        }
        compare(&operation, x, y);
    }
}

Test(cpu_resize, large_images_are_right_with_threads) {
    struct operation operation = {.kind = OPERATION_RESIZE, .resize = {.mode = RESIZE_LINEAR, .scales = {1, 1, 2, 2}}};
    compare(&operation, (struct view){.rank = 4, .dims = {2, 8, 40, 40}},
            (struct view){.rank = 4, .dims = {2, 8, 80, 80}});
}

Test(cpu_resize, other_forms_are_the_oracles) {
    struct operation operation = {.resize = {.mode = RESIZE_CUBIC, .scales = {1, 2, 2}}};
    struct view x = {.rank = 3, .dims = {2, 2, 2}}, y = {.rank = 3, .dims = {2, 4, 4}};
    cr_assert_null(cpu_resize_find(&operation, &x, &y));
    operation.resize.mode = RESIZE_LINEAR;
    cr_assert_not_null(cpu_resize_find(&operation, &x, &y));
    operation.resize.coordinates = RESIZE_TF_CROP;
    cr_assert_null(cpu_resize_find(&operation, &x, &y));
    operation.resize.coordinates = RESIZE_HALF_PIXEL;
    y.dims[0] = 4;
    cr_assert_null(cpu_resize_find(&operation, &x, &y));
}
