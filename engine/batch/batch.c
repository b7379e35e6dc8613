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

uint32_t batch_gather(const struct batch *batch, uint32_t first, uint32_t end, const struct signature *signature,
                      void *const *inputs) {
    uint32_t row = 0;
    for (uint32_t p = first; p < end; p++) {
        const struct batch_part *part = &batch->parts[p];
        for (int i = 0; i < signature->input_count; i++) {
            size_t row_bytes = signature->inputs[i].row_bytes;
            memcpy((char *)inputs[i] + row * row_bytes,
                   (const char *)part->job->inputs[i].data + part->first_row * row_bytes, part->rows * row_bytes);
        }
        row += part->rows;
    }
    return row;
}

void batch_scatter(const struct batch *batch, uint32_t first, uint32_t end, const struct signature *signature,
                   const void *const *outputs) {
    uint32_t row = 0;
    for (uint32_t p = first; p < end; p++) {
        const struct batch_part *part = &batch->parts[p];
        for (int i = 0; i < signature->output_count; i++) {
            size_t row_bytes = signature->outputs[i].row_bytes;
            memcpy((char *)part->job->outputs[i].data + part->first_row * row_bytes,
                   (const char *)outputs[i] + row * row_bytes, part->rows * row_bytes);
        }
        row += part->rows;
    }
}
