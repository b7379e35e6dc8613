#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "engine/graph/region.h"

Test(region, pieces_are_zeroed_aligned_and_apart) {
    struct region region = {0};
    unsigned char *pieces[200];
    for (size_t i = 0; i < 200; i++) {
        size_t bytes = 1 + i * 37 % 500;
        pieces[i] = region_take(&region, bytes, 1);
        cr_assert((uintptr_t)pieces[i] % 16 == 0);
        for (size_t j = 0; j < bytes; j++)
            cr_assert(pieces[i][j] == 0);
        memset(pieces[i], 1 + (int)(i % 200), bytes);
    }
    for (size_t i = 0; i < 200; i++)
        cr_assert(pieces[i][0] == 1 + i && pieces[i][i * 37 % 500] == 1 + i);
    region_release(&region);
}

Test(region, a_large_piece_is_aligned_to_a_line_and_does_not_waste_the_block_before_it) {
    struct region region = {0};
    char *small = region_take(&region, 1, 16);
    float *large = region_take(&region, 100000, sizeof *large);
    char *next = region_take(&region, 1, 16);
    cr_assert((uintptr_t)large % 64 == 0);
    cr_assert(large[0] == 0 && large[99999] == 0);
    cr_assert_eq(next - small, 16);
    region_release(&region);
}

Test(region, a_size_that_overflows_gives_nothing) {
    struct region region = {0};
    cr_assert_null(region_take(&region, SIZE_MAX / 2, 3));
    cr_assert_null(region_take(&region, SIZE_MAX, 1));
    cr_assert_null(region_take(&region, SIZE_MAX - 64, 1));
    cr_assert_not_null(region_take(&region, 0, 8));
    region_release(&region);
}

Test(region, a_copied_text_ends_in_a_nul) {
    struct region region = {0};
    cr_assert_str_eq(region_copy_text(&region, "weights", 4), "weig");
    cr_assert_str_eq(region_copy_text(&region, NULL, 0), "");
    region_release(&region);
    cr_assert_null(region.blocks);
}
