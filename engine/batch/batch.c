#include "engine/batch/batch.h"

#include <stdlib.h>
#include <string.h>

enum weir_status batch_init(struct batch *batch, uint32_t capacity, struct weir_error *err) {
    memset(batch, 0, sizeof *batch);
    batch->parts = calloc(capacity, sizeof *batch->parts);
    if (!batch->parts)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for batches of %u rows", capacity);
    batch->capacity = capacity;
    return WEIR_OK;
}

void batch_release(struct batch *batch) {
    free(batch->parts);
    memset(batch, 0, sizeof *batch);
}

uint32_t batch_rows(const struct batch *batch, uint32_t first, uint32_t end) {
    uint32_t rows = 0;
    for (uint32_t p = first; p < end; p++)
        rows += batch->parts[p].rows;
    return rows;
}

/* A tensor with its rows in the middle: outer blocks of `rows` pieces of piece_bytes. */
struct layout {
    size_t outer, rows, piece_bytes;
};

static size_t product(const int64_t *dims, int count) {
    size_t product = 1;
    for (int i = 0; i < count; i++)
        product *= (size_t)dims[i];
    return product;
}

/* Copies `rows` rows between a job's tensor, row after row, and the device's, where they begin with row `at`. */
static void copy_in(const struct layout *layout, char *staging, size_t at, const char *job, uint32_t rows) {
    size_t piece = layout->piece_bytes;
    if (layout->outer == 1) {
        memcpy(staging + at * piece, job, rows * piece);
        return;
    }
    for (uint32_t row = 0; row < rows; row++)
        for (size_t o = 0; o < layout->outer; o++, job += piece)
            memcpy(staging + (o * layout->rows + at + row) * piece, job, piece);
}

static void copy_out(const struct layout *layout, char *job, const char *results, size_t at, uint32_t rows) {
    size_t piece = layout->piece_bytes;
    if (layout->outer == 1) {
        memcpy(job, results + at * piece, rows * piece);
        return;
    }
    for (uint32_t row = 0; row < rows; row++)
        for (size_t o = 0; o < layout->outer; o++, job += piece)
            memcpy(job, results + (o * layout->rows + at + row) * piece, piece);
}

void batch_gather(const struct batch *batch, uint32_t first, uint32_t end, int input, const struct tensor_spec *spec,
                  void *staging) {
    const struct job_tensor *tensor = &batch->parts[first].job->inputs[input];
    if (spec->batch_axis < 0) {
        if (tensor->row_bytes > 0)
            memcpy(staging, tensor->data, tensor->row_bytes);
        return;
    }
    if (tensor->row_bytes == 0)
        return;
    size_t outer = product(tensor->row.dims, spec->batch_axis);
    struct layout layout = {
        .outer = outer, .rows = batch_rows(batch, first, end), .piece_bytes = tensor->row_bytes / outer};
    size_t at = 0;
    for (uint32_t p = first; p < end; p++) {
        const struct batch_part *part = &batch->parts[p];
        tensor = &part->job->inputs[input];
        copy_in(&layout, staging, at, (const char *)tensor->data + part->first_row * tensor->row_bytes, part->rows);
        at += part->rows;
    }
}

/* The job's memory for an output of row_bytes a row, taken now if it brought none. Parts of one job may come home from
 * several devices at once: one of them brings the memory, and only that one writes row and row_bytes. */
static char *job_output(struct job *job, int output, const struct tensor_shape *row, size_t row_bytes, uint32_t rows) {
    struct job_tensor *tensor = &job->outputs[output];
    void *data = __atomic_load_n(&tensor->data, __ATOMIC_ACQUIRE);
    size_t bytes;
    if (data)
        return data;
    if (__builtin_mul_overflow(row_bytes, (size_t)rows, &bytes))
        return NULL;
    void *block = malloc(bytes > 0 ? bytes : 1);
    if (!block)
        return NULL;
    if (!__atomic_compare_exchange_n(&tensor->data, &data, block, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        free(block);
        return data;
    }
    tensor->row = *row;
    tensor->row_bytes = row_bytes;
    return block;
}

/* The shape of a row of the result, and where its rows lie. False: it is not what the spec says. */
static bool measure(const struct tensor_spec *spec, const struct tensor_shape *whole, uint32_t rows,
                    struct tensor_shape *row, struct layout *layout) {
    if (whole->rank != spec->shape.rank)
        return false;
    int axis = spec->batch_axis;
    int behind = axis < 0 ? 0 : axis; /* where the dimensions behind the rows begin, in a row */
    for (int i = 0; i < whole->rank; i++)
        if (i != axis)
            row->dims[row->rank++] = whole->dims[i];
    layout->outer = axis < 0 ? 1 : product(whole->dims, axis);
    layout->rows = axis < 0 ? 1 : (size_t)whole->dims[axis];
    layout->piece_bytes = product(row->dims + behind, row->rank - behind) * tensor_dtype_bytes(spec->dtype);
    size_t row_bytes = layout->outer * layout->piece_bytes;
    return (axis < 0 || layout->rows >= rows) && (!spec->is_fixed || row_bytes == spec->row_bytes);
}

void batch_scatter(struct batch *batch, uint32_t first, uint32_t end, int output, const struct tensor_spec *spec,
                   const struct batch_result *result) {
    struct tensor_shape row = {.rank = 0};
    struct layout layout = {0};
    bool shared = spec->batch_axis < 0;
    bool fits = measure(spec, result->shape, batch_rows(batch, first, end), &row, &layout);
    size_t at = 0, row_bytes = fits ? layout.outer * layout.piece_bytes : 0;
    for (uint32_t p = first; p < end; p++) {
        struct batch_part *part = &batch->parts[p];
        char *data = fits ? job_output(part->job, output, &row, row_bytes, shared ? 1 : part->job->dims.rows) : NULL;
        if (!fits) {
            char text[160];
            part->status = weir_fail(&batch->error, WEIR_INTERNAL, "output \"%s\" came as %s", spec->name,
                                     tensor_shape_text(result->shape, text, sizeof text));
        } else if (!data) {
            part->status = weir_fail(&batch->error, WEIR_NO_MEMORY, "no memory for output \"%s\"", spec->name);
        } else if (row_bytes > 0 && !shared) {
            copy_out(&layout, data + part->first_row * row_bytes, result->data, at, part->rows);
        } else if (row_bytes > 0 && part->first_row == 0) {
            memcpy(data, result->data, row_bytes);
        }
        at += part->rows;
    }
}
