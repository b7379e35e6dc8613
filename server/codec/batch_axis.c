#include "server/codec/batch_axis.h"

#include <string.h>

bool batch_axis_is_inside(const struct tensor_spec *spec) {
    return spec->batch_axis > 0;
}

struct tensor_shape batch_axis_whole(const struct tensor_spec *spec, const struct tensor_shape *row, uint32_t rows) {
    struct tensor_shape whole = {.rank = 0};
    for (int i = 0; i < row->rank; i++) {
        if (i == spec->batch_axis)
            whole.dims[whole.rank++] = rows;
        whole.dims[whole.rank++] = row->dims[i];
    }
    if (row->rank == spec->batch_axis)
        whole.dims[whole.rank++] = rows;
    return whole;
}

/* From [a][b] blocks to [b][a] blocks. */
static void swap(const char *from, char *to, size_t a, size_t b, size_t block_bytes) {
    for (size_t i = 0; i < a; i++)
        for (size_t j = 0; j < b; j++)
            memcpy(to + (j * a + i) * block_bytes, from + (i * b + j) * block_bytes, block_bytes);
}

/* The elements before the batch dimension, and the bytes behind it. */
static void sizes(const struct tensor_spec *spec, const struct tensor_shape *row, size_t *before, size_t *behind) {
    *before = 1;
    *behind = tensor_dtype_bytes(spec->dtype);
    for (int i = 0; i < row->rank; i++)
        *(i < spec->batch_axis ? before : behind) *= (size_t)row->dims[i];
}

bool batch_axis_reorders(const struct tensor_spec *spec, const struct tensor_shape *row, uint32_t rows) {
    size_t before, behind;
    sizes(spec, row, &before, &behind);
    return batch_axis_is_inside(spec) && rows > 1 && before > 1;
}

void batch_axis_to_rows(const struct tensor_spec *spec, const struct tensor_shape *row, uint32_t rows,
                        const void *whole, void *out) {
    size_t before, behind;
    sizes(spec, row, &before, &behind);
    swap(whole, out, before, rows, behind);
}

void batch_axis_from_rows(const struct tensor_spec *spec, const struct tensor_shape *row, uint32_t rows,
                          const void *from, void *out) {
    size_t before, behind;
    sizes(spec, row, &before, &behind);
    swap(from, out, rows, before, behind);
}
