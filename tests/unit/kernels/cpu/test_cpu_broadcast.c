#include <criterion/criterion.h>
#include <string.h>

#include "kernels/cpu/cpu_broadcast.h"

enum { MOST = 60000 };

struct seen {
    const struct broadcast *broadcast;
    unsigned char *times; /* by element of the result */
    size_t *from[2];      /* the elements of the inputs that it is made of */
};

static void note(const void *context, const struct cpu_broadcast_tile *tile) {
    const struct seen *seen = context;
    cr_assert(tile->rows > 0 && tile->cols > 0);
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t i = 0; i < tile->cols; i++) {
            size_t to = tile->to + row * tile->to_stride + i;
            seen->times[to]++;
            for (int k = 0; k < 2; k++)
                seen->from[k][to] = tile->starts[k] + row * tile->strides[k] + (tile->repeated[k] ? 0 : i);
        }
}

static unsigned char times[MOST];
static size_t from[2][MOST];

static void run(const struct view *a, const struct view *b, const struct view *y) {
    struct view inputs[2] = {*a, *b};
    struct broadcast broadcast = broadcast_over(inputs, 2, y);
    struct seen seen = {&broadcast, times, {from[0], from[1]}};
    size_t count = view_count(y);
    memset(times, 0, sizeof times);
    cpu_broadcast_run(&broadcast, note, &seen);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(times[i], 1, "element %zu", i);
}

Test(cpu_broadcast, every_element_comes_once_with_its_operands) {
    struct view a = {.rank = 3, .dims = {30, 1, 20}}, b = {.rank = 2, .dims = {40, 1}};
    struct view y = {.rank = 3, .dims = {30, 40, 20}};
    run(&a, &b, &y);
    for (size_t i = 0; i < 24000; i++) {
        cr_assert_eq(from[0][i], i / 800 * 20 + i % 20);
        cr_assert_eq(from[1][i], i / 20 % 40);
    }
}

Test(cpu_broadcast, long_rows_are_cut) {
    struct view a = {.rank = 2, .dims = {3, 17001}}, b = {.rank = 2, .dims = {3, 1}};
    run(&a, &b, &a);
    for (size_t i = 0; i < 3 * 17001; i++) {
        cr_assert_eq(from[0][i], i);
        cr_assert_eq(from[1][i], i / 17001);
    }
}

Test(cpu_broadcast, short_rows_go_together) {
    struct view a = {.rank = 2, .dims = {20000, 3}}, b = {.rank = 1, .dims = {3}};
    run(&a, &b, &a);
    for (size_t i = 0; i < 60000; i++)
        cr_assert_eq(from[1][i], i % 3);
}

Test(cpu_broadcast, small_tiles_go_together) {
    struct view a = {.rank = 4, .dims = {70, 2, 3, 5}}, b = {.rank = 3, .dims = {2, 1, 5}};
    run(&a, &b, &a);
    for (size_t i = 0; i < 2100; i++) {
        cr_assert_eq(from[0][i], i);
        cr_assert_eq(from[1][i], i / 15 % 2 * 5 + i % 5);
    }
}

Test(cpu_broadcast, nothing_is_done_for_no_elements) {
    struct view a = {.rank = 2, .dims = {3, 0}}, b = {.rank = 0};
    run(&a, &b, &a);
    a.dims[0] = 0;
    a.dims[1] = 3;
    run(&a, &b, &a);
}
