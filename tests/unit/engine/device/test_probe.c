#include "engine/device/probe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/tensor_element.h"

enum { COUNT = 64 };

static unsigned char row[COUNT * 8 + 1], other[COUNT * 8 + 1];

static bool is_zero(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

Test(probe, every_type_of_floating_point_number_and_of_bytes_differs_by_seed) {
    static const enum tensor_dtype kinds[] = {TENSOR_F32, TENSOR_F64, TENSOR_F16, TENSOR_BF16, TENSOR_U8, TENSOR_BOOL};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t size = COUNT * tensor_dtype_bytes(kinds[i]);
        memset(row, 0xAA, sizeof row);
        probe_fill(row, kinds[i], COUNT, 1);
        probe_fill(other, kinds[i], COUNT, 2);
        cr_assert_eq(row[size], 0xAA, "nothing behind the row is written");
        cr_assert_not(is_zero(row, size), "%s", tensor_dtype_text(kinds[i]));
        cr_assert_neq(memcmp(row, other, size), 0, "%s", tensor_dtype_text(kinds[i]));
        probe_fill(other, kinds[i], COUNT, 1);
        cr_assert_eq(memcmp(row, other, size), 0, "the same seed, the same row");
    }
}

Test(probe, numbers_are_within_one_and_places_in_tables_are_0) {
    float values[COUNT];
    probe_fill((unsigned char *)values, TENSOR_F32, COUNT, 3);
    for (int i = 0; i < COUNT; i++)
        cr_assert(fabsf(values[i]) <= 1);
    memset(row, 0xAA, sizeof row);
    probe_fill(row, TENSOR_I64, COUNT, 3);
    cr_assert(is_zero(row, COUNT * 8));
}
