#include "engine/device/backend_cpu_model.h"

#include <stdlib.h>
#include <string.h>

#include "engine/device/backend_cpu_builder.h"
#include "engine/device/probe.h"
#include "engine/graph/plan.h"

/* Programs are kept up to either number; beyond both, the one that was not used for longest goes. */
enum { KEPT_PROGRAMS = 64, KEPT_STEPS = 8192 };

/* An arena of so many bytes is given back when so many batches in a row needed less than a quarter of it. */
enum { LARGE_BYTES = 64 << 20, SMALL_RUNS = 256 };

bool backend_cpu_model_init(struct backend_model *model) {
    const struct signature *signature = plan_signature(model->plan);
    struct backend_cpu_staging *stagings[] = {&model->inputs, &model->outputs};
    model->inputs.count = signature->input_count;
    model->outputs.count = signature->output_count;
    for (int i = 0; i < 2; i++) {
        stagings[i]->data = calloc((size_t)stagings[i]->count + 1, sizeof(void *));
        stagings[i]->bytes = calloc((size_t)stagings[i]->count + 1, sizeof(size_t));
        if (!stagings[i]->data || !stagings[i]->bytes)
            return false;
    }
    model->output_shapes = calloc((size_t)signature->output_count + 1, sizeof *model->output_shapes);
    return model->output_shapes;
}

static void release_data(struct backend_cpu_staging *staging) {
    for (int i = 0; staging->data && i < staging->count; i++) {
        free(staging->data[i]);
        staging->data[i] = NULL;
        staging->bytes[i] = 0;
    }
}

static void release_staging(struct backend_cpu_staging *staging) {
    release_data(staging);
    free(staging->data);
    free(staging->bytes);
}

static void forget_entry(struct backend_model *model, size_t index) {
    struct backend_cpu_entry *entry = &model->entries[index];
    model->step_count -= entry->program->step_count;
    backend_cpu_constants_forget(&model->constants, entry->program);
    backend_cpu_program_destroy(entry->program);
    *entry = model->entries[--model->entry_count];
}

void backend_cpu_model_release(struct backend_model *model) {
    while (model->entry_count > 0)
        forget_entry(model, model->entry_count - 1);
    free(model->entries);
    free(model->arena);
    free(model->output_shapes);
    release_staging(&model->inputs);
    release_staging(&model->outputs);
    backend_cpu_constants_release(&model->constants);
}

/* Rows that the program for `rows` rows has. */
static uint32_t rows_to_run(const struct backend_model *model, uint32_t rows) {
    if (model->fixed_rows > 0)
        return model->fixed_rows;
    if (model->options.invariance != BACKEND_BUCKET)
        return rows;
    uint64_t bucket = 1;
    while (bucket < rows)
        bucket *= 4;
    return bucket < model->max_rows ? (uint32_t)bucket : model->max_rows;
}

static struct backend_cpu_entry *find(struct backend_model *model, const struct tensor_dims *dims) {
    for (size_t i = 0; i < model->entry_count; i++)
        if (model->entries[i].dims.rows == dims->rows && tensor_dims_share(&model->entries[i].dims, dims))
            return &model->entries[i];
    return NULL;
}

static void make_room(struct backend_model *model) {
    while (model->entry_count > KEPT_PROGRAMS && model->step_count > KEPT_STEPS) {
        size_t oldest = 0;
        for (size_t i = 1; i < model->entry_count; i++)
            if (model->entries[i].used < model->entries[oldest].used)
                oldest = i;
        forget_entry(model, oldest);
    }
}

/* What int8 stands for: a model that was quantized. */
static bool is_quantized(const struct program *program) {
    for (size_t i = 0; i < program->step_count; i++)
        switch (program->steps[i].operation.kind) {
        case OPERATION_DEQUANTIZE:
        case OPERATION_QLINEAR_MATMUL:
        case OPERATION_QLINEAR_CONV:
        case OPERATION_MATMUL_INTEGER:
        case OPERATION_CONV_INTEGER:
            return true;
        default:
            break;
        }
    return false;
}

/* What a program takes while it runs, beside the weights. */
static size_t bytes_to_run(const struct backend_cpu_program *program) {
    size_t bytes = program->arena_bytes;
    for (int i = 0; i < program->source.buffer_count; i++) {
        const struct program_buffer *buffer = &program->source.buffers[i];
        if (buffer->place == PROGRAM_INPUT || buffer->place == PROGRAM_OUTPUT)
            bytes = buffer->bytes > SIZE_MAX - bytes ? SIZE_MAX : bytes + buffer->bytes;
    }
    return bytes;
}

static enum weir_status check_memory(const struct backend_model *model, const struct tensor_dims *dims,
                                     const struct backend_cpu_program *program, struct weir_error *err) {
    size_t bytes = bytes_to_run(program), most = model->options.batch_bytes;
    if (most == 0 || bytes <= most)
        return WEIR_OK;
    return weir_fail(err, WEIR_TOO_LARGE,
                     "a batch of %u rows of these sizes would take %zu MiB of memory beside the weights; the limit is "
                     "%zu MiB",
                     dims->rows, bytes >> 20, most >> 20);
}

static enum weir_status make(struct backend_model *model, const struct tensor_dims *dims,
                             struct backend_cpu_entry **out, struct weir_error *err) {
    const struct backend_cpu_build build = {&model->device, &model->constants, model->options.precision == BACKEND_BF16,
                                            model->options.invariance == BACKEND_STRICT};
    struct program source = {0};
    struct backend_cpu_program *program;
    make_room(model);
    if (model->entry_count == model->entry_capacity) {
        size_t wanted = model->entry_capacity ? model->entry_capacity * 2 : 16;
        struct backend_cpu_entry *grown = reallocarray(model->entries, wanted, sizeof *grown);
        if (!grown)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for programs");
        model->entries = grown;
        model->entry_capacity = wanted;
    }
    enum weir_status status = plan_make_program(model->plan, dims, &source, err);
    if (status != WEIR_OK)
        return status;
    if (model->options.precision == BACKEND_INT8 && !is_quantized(&source)) {
        program_release(&source);
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "precision int8 is for quantized models, and this one has no quantized operator");
    }
    status = backend_cpu_builder_make(&build, &source, &program, err);
    program_release(&source);
    if (status != WEIR_OK)
        return status;
    if (check_memory(model, dims, program, err) != WEIR_OK) {
        backend_cpu_constants_forget(&model->constants, program);
        backend_cpu_program_destroy(program);
        return err->status;
    }
    model->entries[model->entry_count] = (struct backend_cpu_entry){.dims = *dims, .program = program};
    model->step_count += program->step_count;
    *out = &model->entries[model->entry_count++];
    return WEIR_OK;
}

/* 64-byte aligned, at least one line; pages that are never touched take no memory. */
static void *take(size_t bytes) {
    return bytes < SIZE_MAX - 64 ? aligned_alloc(64, (bytes / 64 + 1) * 64) : NULL;
}

static enum weir_status grow(struct backend_model *model, void **data, size_t *bytes, size_t wanted,
                             struct weir_error *err) {
    if (*data && wanted <= *bytes)
        return WEIR_OK;
    free(*data);
    *bytes = 0;
    model->generation++;
    *data = take(wanted);
    if (!*data)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a batch (%zu bytes)", wanted);
    *bytes = wanted;
    return WEIR_OK;
}

static enum weir_status grow_all(struct backend_model *model, const struct backend_cpu_program *program,
                                 struct weir_error *err) {
    void *arena = model->arena;
    enum weir_status status = grow(model, &arena, &model->arena_bytes, program->arena_bytes, err);
    model->arena = arena;
    for (int i = 0; i < program->source.buffer_count && status == WEIR_OK; i++) {
        const struct program_buffer *buffer = &program->source.buffers[i];
        struct backend_cpu_staging *staging = buffer->place == PROGRAM_INPUT    ? &model->inputs
                                              : buffer->place == PROGRAM_OUTPUT ? &model->outputs
                                                                                : NULL;
        if (staging)
            status = grow(model, &staging->data[buffer->index], &staging->bytes[buffer->index], buffer->bytes, err);
    }
    return status;
}

/* Output shapes are those of the batch that was asked for, not of one that was filled up. */
static void note_shapes(struct backend_model *model) {
    const struct program *program = &model->current->program->source;
    const struct signature *signature = plan_signature(model->plan);
    for (int i = 0; i < program->buffer_count; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        if (buffer->place != PROGRAM_OUTPUT)
            continue;
        struct tensor_shape *shape = &model->output_shapes[buffer->index];
        int axis = signature->outputs[buffer->index].batch_axis;
        *shape = buffer->shape;
        if (axis >= 0 && model->rows != model->current->dims.rows)
            shape->dims[axis] = model->rows;
    }
}

/* Memory that one large batch needed is given back once many smaller ones have come after it. */
static void give_back(struct backend_model *model, const struct backend_cpu_program *program) {
    if (model->arena_bytes < LARGE_BYTES || program->arena_bytes > model->arena_bytes / 4) {
        model->small_runs = 0;
        return;
    }
    if (++model->small_runs < SMALL_RUNS)
        return;
    model->small_runs = 0;
    free(model->arena);
    model->arena = NULL;
    model->arena_bytes = 0;
    release_data(&model->inputs);
    release_data(&model->outputs);
    model->generation++;
}

enum weir_status backend_cpu_model_begin(struct backend_model *model, const struct tensor_dims *dims,
                                         struct weir_error *err) {
    const struct signature *signature = plan_signature(model->plan);
    model->current = NULL;
    if (dims->rows == 0 || dims->rows > model->max_rows || dims->free_count != signature->free_count)
        return weir_fail(err, WEIR_INTERNAL, "%u rows of at most %u, and %d free sizes of %d", dims->rows,
                         model->max_rows, dims->free_count, signature->free_count);
    struct tensor_dims wanted = *dims;
    wanted.rows = rows_to_run(model, dims->rows);
    struct backend_cpu_entry *entry = find(model, &wanted);
    backend_cpu_dnnl_use_threads(model->options.threads);
    if (!entry && make(model, &wanted, &entry, err) != WEIR_OK)
        return err->status;
    give_back(model, entry->program);
    if (entry->generation != model->generation || entry->used == 0) {
        if (grow_all(model, entry->program, err) != WEIR_OK)
            return err->status;
        const struct backend_cpu_memory memory = {model->arena, model->inputs.data, model->outputs.data};
        if (backend_cpu_program_bind(entry->program, &memory, err) != WEIR_OK)
            return err->status;
        entry->generation = model->generation;
    }
    entry->used = ++model->runs;
    model->current = entry;
    model->rows = dims->rows;
    note_shapes(model);
    return WEIR_OK;
}

/* The rows that fill a batch up are zeros. */
static void clear_spare_rows(struct backend_model *model) {
    const struct signature *signature = plan_signature(model->plan);
    const struct program *program = &model->current->program->source;
    uint32_t all = model->current->dims.rows;
    for (int i = 0; i < program->buffer_count && all != model->rows; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        if (buffer->place != PROGRAM_INPUT || signature->inputs[buffer->index].batch_axis != 0)
            continue;
        size_t row_bytes = buffer->bytes / all;
        memset((char *)model->inputs.data[buffer->index] + model->rows * row_bytes, 0, (all - model->rows) * row_bytes);
    }
}

enum weir_status backend_cpu_model_run(struct backend_model *model, struct weir_error *err) {
    if (!model->current)
        return weir_fail(err, WEIR_INTERNAL, "no batch has begun");
    clear_spare_rows(model);
    backend_cpu_dnnl_use_threads(model->options.threads);
    return backend_cpu_program_run(&model->device, model->current->program, err);
}

/* ---- strict: the same bits for every batch size, and in every place of a batch ---- */

/* Fills the batch with one row, again and again. */
static void fill_rows(struct backend_model *model) {
    const struct signature *signature = plan_signature(model->plan);
    const struct program *program = &model->current->program->source;
    for (int i = 0; i < program->buffer_count; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        if (buffer->place != PROGRAM_INPUT)
            continue;
        size_t all = signature->inputs[buffer->index].batch_axis == 0 ? model->current->dims.rows : 1;
        size_t row_bytes = buffer->bytes / all;
        unsigned char *bytes = model->inputs.data[buffer->index];
        probe_fill(bytes, buffer->dtype, buffer->elements / all, 5u + (uint32_t)buffer->index * 77u);
        for (size_t row = 1; row < all; row++)
            memcpy(bytes + row * row_bytes, bytes, row_bytes);
    }
}

/* Are all rows of the outputs the same, and those of kept? first: kept is filled with them instead. */
static bool has_same_rows(const struct backend_model *model, unsigned char *kept, bool first) {
    const struct signature *signature = plan_signature(model->plan);
    const struct program *program = &model->current->program->source;
    bool same = true;
    for (int i = 0; i < program->buffer_count; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        if (buffer->place != PROGRAM_OUTPUT)
            continue;
        bool by_row = signature->outputs[buffer->index].batch_axis == 0;
        size_t row_bytes = buffer->bytes / (by_row ? model->current->dims.rows : 1);
        const unsigned char *bytes = model->outputs.data[buffer->index];
        if (first)
            memcpy(kept, bytes, row_bytes);
        for (uint32_t row = 0; row < (by_row ? model->rows : 1); row++)
            same = same && memcmp(kept, bytes + row * row_bytes, row_bytes) == 0;
        kept += row_bytes;
    }
    return same;
}

/* Bytes of one row of all outputs. */
static size_t row_bytes(const struct backend_model *model) {
    const struct signature *signature = plan_signature(model->plan);
    const struct program *program = &model->current->program->source;
    size_t bytes = 0;
    for (int i = 0; i < program->buffer_count; i++)
        if (program->buffers[i].place == PROGRAM_OUTPUT)
            bytes += program->buffers[i].bytes /
                     (signature->outputs[program->buffers[i].index].batch_axis == 0 ? model->current->dims.rows : 1);
    return bytes;
}

/* Does a row have the same bits in every place of batches of several sizes? */
static enum weir_status try_rows(struct backend_model *model, bool *same, struct weir_error *err) {
    const uint32_t tried[] = {model->max_rows, 1, 2, 3, 4, 5, 6, 7, (model->max_rows + 1) / 2, model->max_rows - 1};
    unsigned char *kept = NULL;
    enum weir_status status = WEIR_OK;
    *same = true;
    for (size_t i = 0; i < sizeof tried / sizeof *tried && *same && status == WEIR_OK; i++) {
        struct tensor_dims dims = *plan_example(model->plan);
        dims.rows = tried[i];
        if (dims.rows == 0 || dims.rows > model->max_rows)
            continue;
        status = backend_cpu_model_begin(model, &dims, err);
        if (status == WEIR_OK && !kept && !(kept = malloc(row_bytes(model) + 1)))
            status = weir_fail(err, WEIR_NO_MEMORY, "no memory to compare batches");
        if (status != WEIR_OK)
            break;
        fill_rows(model);
        status = backend_cpu_model_run(model, err);
        *same = status == WEIR_OK && has_same_rows(model, kept, i == 0);
    }
    free(kept);
    return status;
}

enum weir_status backend_cpu_model_prove_strict(struct backend_model *model, struct weir_error *err) {
    /* Kernels take so many rows at a time; the last few, if there are fewer, are another one's. 0: as they come. */
    static const uint32_t multiples[] = {0, 1, 4, 6, 8, 12, 16, 24, 48, 64};
    bool same = false;
    for (size_t i = 0; i < sizeof multiples / sizeof *multiples && !same; i++) {
        uint32_t of = multiples[i], rows = of == 0 ? 0 : (model->max_rows + of - 1) / of * of;
        if ((i > 0 && rows == model->fixed_rows) || rows / 2 > model->max_rows)
            continue; /* more than twice the rows is not worth it */
        model->fixed_rows = rows;
        enum weir_status status = try_rows(model, &same, err);
        if (status != WEIR_OK)
            return status;
    }
    model->current = NULL;
    for (size_t i = model->entry_count; i-- > 0 && model->fixed_rows > 0;)
        if (model->entries[i].dims.rows != model->fixed_rows)
            forget_entry(model, i);
    return same ? WEIR_OK
                : weir_fail(err, WEIR_UNSUPPORTED,
                            "invariance strict: on this processor a row's bits depend on its place in the batch, which "
                            "only batch_size 1 avoids");
}
