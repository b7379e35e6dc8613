#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "server/codec/batch_axis.h"

static struct tensor_spec spec_of(enum tensor_dtype dtype, int rank, const int64_t *dims) {
    struct tensor_spec spec = {.dtype = dtype, .shape = {.rank = rank}};
    memcpy(spec.shape.dims, dims, (size_t)rank * sizeof *dims);
    cr_assert(tensor_spec_measure(&spec));
    return spec;
}

Test(batch_axis, a_batch_in_the_middle_goes_to_the_front_and_back) {
    const struct tensor_spec spec = spec_of(TENSOR_U8, 3, (const int64_t[]){2, TENSOR_BATCH, 2});
    const struct tensor_shape row = {.rank = 2, .dims = {2, 2}};
    /* element = 100 * outer + 10 * row + inner */
    const unsigned char whole[] = {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121};
    const unsigned char rows[] = {0, 1, 100, 101, 10, 11, 110, 111, 20, 21, 120, 121};
    unsigned char out[sizeof rows];
    cr_assert(batch_axis_is_inside(&spec));
    batch_axis_to_rows(&spec, &row, 3, whole, out);
    cr_assert(memcmp(out, rows, sizeof rows) == 0);
    batch_axis_from_rows(&spec, &row, 3, rows, out);
    cr_assert(memcmp(out, whole, sizeof whole) == 0);
}

Test(batch_axis, a_batch_at_the_end_takes_whole_elements) {
    const struct tensor_spec spec = spec_of(TENSOR_I32, 2, (const int64_t[]){2, TENSOR_BATCH});
    const struct tensor_shape row = {.rank = 1, .dims = {2}};
    const int32_t whole[] = {1, 2, 3, -1, -2, -3}, rows[] = {1, -1, 2, -2, 3, -3};
    int32_t out[6];
    batch_axis_to_rows(&spec, &row, 3, whole, out);
    cr_assert(memcmp(out, rows, sizeof rows) == 0);
    batch_axis_from_rows(&spec, &row, 3, rows, out);
    cr_assert(memcmp(out, whole, sizeof whole) == 0);
}

Test(batch_axis, one_row_and_a_batch_in_front_keep_their_order) {
    const struct tensor_spec first = spec_of(TENSOR_U8, 2, (const int64_t[]){TENSOR_BATCH, 2});
    const struct tensor_spec last = spec_of(TENSOR_U8, 2, (const int64_t[]){2, TENSOR_BATCH});
    const struct tensor_spec none = spec_of(TENSOR_U8, 2, (const int64_t[]){3, 2});
    const struct tensor_spec behind_one = spec_of(TENSOR_U8, 3, (const int64_t[]){1, TENSOR_BATCH, 2});
    const struct tensor_shape two = {.rank = 1, .dims = {2}}, three_two = {.rank = 2, .dims = {3, 2}},
                              one_two = {.rank = 2, .dims = {1, 2}};
    cr_assert_not(batch_axis_reorders(&first, &two, 3));
    cr_assert_not(batch_axis_reorders(&last, &two, 1));
    cr_assert(batch_axis_reorders(&last, &two, 3));
    cr_assert_not(batch_axis_reorders(&none, &three_two, 9));
    cr_assert_not(batch_axis_reorders(&behind_one, &one_two, 3));
}

Test(batch_axis, whole_shapes_have_the_rows_in_their_place) {
    static const struct {
        int rank;
        int64_t dims[3], whole[3];
        bool inside;
    } cases[] = {
        {3, {TENSOR_BATCH, 4, 5}, {7, 4, 5}, false},
        {3, {4, TENSOR_BATCH, 5}, {4, 7, 5}, true},
        {3, {4, 5, TENSOR_BATCH}, {4, 5, 7}, true},
        {2, {4, 5}, {4, 5}, false},
        {1, {TENSOR_BATCH}, {7}, false},
        {0, {0}, {0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tensor_spec spec = spec_of(TENSOR_F32, cases[i].rank, cases[i].dims);
        struct tensor_shape row;
        size_t elements;
        cr_assert(tensor_spec_row(&spec, &(struct tensor_dims){.rows = 7}, &row, &elements));
        struct tensor_shape whole = batch_axis_whole(&spec, &row, 7);
        cr_assert(eq(int, whole.rank, cases[i].rank));
        for (int d = 0; d < whole.rank; d++)
            cr_assert(whole.dims[d] == cases[i].whole[d], "case %zu, dimension %d", i, d);
        cr_assert(batch_axis_is_inside(&spec) == cases[i].inside);
    }
}
