#include "engine/device/cuda/cuda_self_test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/device/probe.h"
#include "engine/graph/plan.h"

enum { PROBE_SEED = 5 };

/* Runs a full batch in slot 0 whose row `at` is the probe; the others have their own numbers in each round. */
static enum weir_status run(struct backend_model *model, const struct tensor_dims *dims, uint32_t at, uint32_t round,
                            struct weir_error *err) {
    const struct signature *signature = plan_signature(model->plan);
    enum weir_status status = cuda_model_begin(model, 0, dims, err);
    if (status != WEIR_OK)
        return status;
    const struct cuda_program *program = model->slots[0].current;
    for (int i = 0; i < signature->input_count; i++) {
        const struct program_buffer *buffer = &program->source.buffers[program->input_buffers[i]];
        bool by_row = signature->inputs[i].batch_axis == 0;
        uint32_t all = by_row ? program->dims.rows : 1, rows = by_row ? dims->rows : 1;
        size_t row_bytes = buffer->bytes / all, elements = buffer->elements / all;
        unsigned char *bytes = cuda_model_input(model, 0, i);
        for (uint32_t row = 0; row < rows; row++)
            probe_fill(bytes + row * row_bytes, buffer->dtype, elements,
                       !by_row || row == at ? PROBE_SEED : PROBE_SEED + 1 + row + round * dims->rows);
    }
    status = cuda_model_submit(model, 0, err);
    return status == WEIR_OK ? cuda_model_wait_loading(model, 0, err) : status;
}

/* Bytes of the probe's outputs, one behind the other. kept NULL: only counts them. */
static size_t keep(struct backend_model *model, uint32_t rows, uint32_t at, unsigned char *kept) {
    const struct signature *signature = plan_signature(model->plan);
    const struct cuda_program *program = model->slots[0].current;
    size_t used = 0;
    for (int i = 0; i < signature->output_count; i++) {
        const struct program_buffer *buffer = &program->source.buffers[program->output_buffers[i]];
        bool by_row = signature->outputs[i].batch_axis == 0;
        size_t row_bytes = buffer->bytes / (by_row ? rows : 1);
        const unsigned char *bytes = cuda_model_output(model, 0, i);
        if (kept && row_bytes > 0)
            memcpy(kept + used, bytes + (by_row ? at * row_bytes : 0), row_bytes);
        used += row_bytes;
    }
    return used;
}

/* The probe in the first, a middle and the last place of a full batch, and alone with zeros behind it. */
static enum weir_status try_bucket(struct backend_model *model, uint32_t rows, bool *same, struct weir_error *err) {
    const uint32_t places[] = {0, rows / 2, rows - 1};
    struct tensor_dims dims = *plan_example(model->plan);
    unsigned char *first = NULL, *now = NULL;
    enum weir_status status = WEIR_OK;
    dims.rows = rows;
    for (uint32_t i = 0; i < 4 && status == WEIR_OK && *same; i++) {
        uint32_t at = i < 3 ? places[i] : 0;
        dims.rows = i < 3 || cuda_model_bucket(model, 1) != rows ? rows : 1;
        status = run(model, &dims, at, i, err);
        if (status != WEIR_OK)
            break;
        size_t bytes = keep(model, rows, at, NULL);
        first = first ? first : calloc(1, bytes + 1);
        now = now ? now : calloc(1, bytes + 1);
        if (!first || !now) {
            status = weir_fail(err, WEIR_NO_MEMORY, "no memory to compare batches");
            break;
        }
        keep(model, rows, at, i == 0 ? first : now);
        *same = i == 0 || memcmp(first, now, bytes) == 0;
    }
    free(first);
    free(now);
    return status;
}

enum weir_status cuda_self_test_run(struct backend_model *model, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    bool same = true;
    for (int i = 0; i < model->program_count && status == WEIR_OK; i++) {
        uint32_t rows = model->programs[i].dims.rows;
        bool of_bucket = true;
        if (rows > 1)
            status = try_bucket(model, rows, &of_bucket, err);
        same = same && of_bucket;
    }
    if (status != WEIR_OK)
        return status;
    model->tested = true;
    model->invariant = same;
    if (!same && model->backend->options.invariance == BACKEND_STRICT)
        return weir_fail(err, WEIR_DEVICE,
                         "invariance strict: on this device a row's bits depend on its place in the batch");
    return WEIR_OK;
}
