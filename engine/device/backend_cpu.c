#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "engine/clock.h"
#include "engine/device/backend.h"
#include "engine/device/backend_cpu_steps.h"
#include "engine/graph/plan_parts.h"

/* How long a load may spend on row counts that have not been asked for. */
enum { SPARE_PREPARE_NS = 8 * CLOCK_NS_PER_MS };

struct backend_cpu {
    struct backend backend;
    int threads;
};

struct backend_model {
    struct backend_cpu *cpu;
    struct backend_cpu_body body;
    uint32_t max_rows;
    struct backend_cpu_steps **by_rows; /* index: row count; NULL: not made yet */
    enum weir_status result;            /* of the last submit */
    struct weir_error error;
};

/* 64-byte aligned, at least one line; pages that are never touched take no memory. */
static float *take(size_t row_bytes, size_t rows) {
    size_t bytes;
    if (__builtin_mul_overflow(row_bytes, rows, &bytes) || bytes > SIZE_MAX - 64)
        return NULL;
    return aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static bool take_staging(const struct tensor_spec *specs, int count, size_t rows, float ***out, int *out_count) {
    *out = calloc((size_t)count + 1, sizeof **out);
    for (int i = 0; *out && i < count; i++) {
        (*out)[i] = take(specs[i].row_bytes, rows);
        if (!(*out)[i])
            return false;
        *out_count = i + 1;
    }
    return *out;
}

static bool copy_step(struct program *to, const struct program_step *from) {
    struct program_step *step = program_add_step(to, from->kind, from->x, from->y);
    if (!step)
        return false;
    *step = *from;
    if (step->kind == PROGRAM_DENSE)
        step->dense.weights = step->dense.bias = NULL;
    if (step->kind != PROGRAM_COMBINE_CONSTANT)
        return true;
    float *values = region_take(&to->region, from->combine.period, sizeof *values);
    if (values)
        memcpy(values, from->combine.values, from->combine.period * sizeof *values);
    step->combine.values = values;
    return values;
}

static bool copy_program(struct program *to, const struct program *from) {
    for (int i = 0; i < from->buffer_count; i++) {
        int added = program_add_buffer(to, 0);
        if (added < 0)
            return false;
        to->buffers[added] = from->buffers[i];
    }
    for (size_t i = 0; i < from->step_count; i++)
        if (!copy_step(to, &from->steps[i]))
            return false;
    to->arena_row_bytes = from->arena_row_bytes;
    return true;
}

static enum weir_status take_memory(struct backend_model *model, const struct plan *plan, struct weir_error *err) {
    struct backend_cpu_body *body = &model->body;
    const struct signature *signature = &plan->signature;
    size_t rows = model->max_rows;
    model->by_rows = calloc(rows + 1, sizeof *model->by_rows);
    body->dense = calloc(plan->program.step_count + 1, sizeof *body->dense);
    body->arena = take(plan->program.arena_row_bytes, rows);
    if (!model->by_rows || !body->dense || !body->arena ||
        !take_staging(signature->inputs, signature->input_count, rows, &body->inputs, &body->input_count) ||
        !take_staging(signature->outputs, signature->output_count, rows, &body->outputs, &body->output_count) ||
        !copy_program(&body->program, &plan->program))
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for batches of %zu rows (%zu bytes a row between the layers)",
                         rows, plan->program.arena_row_bytes);
    return WEIR_OK;
}

static enum weir_status prepare(struct backend_model *model, uint32_t rows, struct weir_error *err) {
    struct weir_error local;
    err = err ? err : &local;
    if (rows == 0 || rows > model->max_rows)
        return weir_fail(err, WEIR_INTERNAL, "%u rows of at most %u", rows, model->max_rows);
    if (model->by_rows[rows])
        return WEIR_OK;
    backend_cpu_device_use_threads(model->cpu->threads);
    return backend_cpu_steps_create(&model->body, rows, &model->by_rows[rows], err);
}

/* First what every model meets (a single row, half and full batches), then as many others as the time allows. */
static enum weir_status prepare_most(struct backend_model *model, struct weir_error *err) {
    int64_t until_ns = clock_now_ns() + SPARE_PREPARE_NS;
    uint32_t max = model->max_rows;
    if (prepare(model, 1, err) != WEIR_OK || prepare(model, (max + 1) / 2, err) != WEIR_OK ||
        prepare(model, max, err) != WEIR_OK)
        return err->status;
    for (uint32_t rows = 2; rows < max && clock_now_ns() < until_ns; rows++)
        if (prepare(model, rows, err) != WEIR_OK)
            return err->status;
    return WEIR_OK;
}

static void release_staging(float **staging, int count) {
    for (int i = 0; i < count; i++)
        free(staging[i]);
    free(staging);
}

static void unload(struct backend_model *model) {
    if (!model)
        return;
    struct backend_cpu_body *body = &model->body;
    for (uint32_t rows = 0; model->by_rows && rows <= model->max_rows; rows++)
        backend_cpu_steps_destroy(model->by_rows[rows]);
    for (size_t i = 0; body->dense && i < body->program.step_count; i++)
        backend_cpu_dense_release(&body->dense[i]);
    free(model->by_rows);
    free(body->dense);
    free(body->arena);
    release_staging(body->inputs, body->input_count);
    release_staging(body->outputs, body->output_count);
    program_release(&body->program);
    backend_cpu_device_close(&body->device);
    free(model);
}

static enum weir_status load(struct backend *backend, const struct plan *plan, uint32_t max_rows,
                             struct backend_model **out, struct weir_error *err) {
    struct weir_error local;
    char text[sizeof backend->description];
    struct backend_model *model = max_rows > 0 && max_rows < UINT32_MAX ? calloc(1, sizeof *model) : NULL;
    err = err ? err : &local;
    if (!model)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a model of %u rows", max_rows);
    model->cpu = (struct backend_cpu *)backend;
    model->max_rows = max_rows;
    backend_cpu_device_use_threads(model->cpu->threads);
    if (backend_cpu_device_open(&model->body.device, text, sizeof text, err) != WEIR_OK ||
        take_memory(model, plan, err) != WEIR_OK)
        goto out;
    for (size_t i = 0; i < plan->program.step_count; i++)
        if (plan->program.steps[i].kind == PROGRAM_DENSE &&
            backend_cpu_dense_pack(&model->body.device, &plan->program.steps[i], max_rows, &model->body.dense[i],
                                   err) != WEIR_OK)
            goto out;
    if (prepare_most(model, err) != WEIR_OK)
        goto out;
    *out = model;
    return WEIR_OK;
out:
    unload(model);
    return err->status;
}

static void *input(struct backend_model *model, int slot, int index) {
    (void)slot;
    return model->body.inputs[index];
}

static const void *output(struct backend_model *model, int slot, int index) {
    (void)slot;
    return model->body.outputs[index];
}

static enum weir_status submit(struct backend_model *model, int slot, uint32_t rows, struct weir_error *err) {
    (void)slot;
    enum weir_status status = prepare(model, rows, err);
    if (status != WEIR_OK)
        return status;
    backend_cpu_device_use_threads(model->cpu->threads);
    model->result = backend_cpu_steps_run(&model->body, model->by_rows[rows], &model->error);
    return WEIR_OK;
}

static enum weir_status wait_for(struct backend_model *model, int slot, struct weir_error *err) {
    (void)slot;
    if (model->result != WEIR_OK)
        return weir_fail(err, model->result, "%s", model->error.text);
    return WEIR_OK;
}

static void close_backend(struct backend *backend) {
    free(backend);
}

/* The processor's own name for itself. Source: CPUID leaves 0x80000002 to 0x80000004. */
static void read_processor_name(char name[49]) {
    name[0] = 0;
#if defined(__x86_64__)
    unsigned words[12];
    if ((unsigned)__get_cpuid_max(0x80000000, NULL) < 0x80000004)
        return;
    for (unsigned i = 0; i < 3; i++)
        __cpuid(0x80000002 + i, words[i * 4], words[i * 4 + 1], words[i * 4 + 2], words[i * 4 + 3]);
    memcpy(name, words, sizeof words);
    name[48] = 0;
    size_t used = strlen(name), blanks = strspn(name, " ");
    memmove(name, name + blanks, used - blanks + 1);
    for (used -= blanks; used > 0 && name[used - 1] == ' ';)
        name[--used] = 0;
#endif
}

enum weir_status backend_cpu_open(const struct backend_options *options, struct backend **out, struct weir_error *err) {
    static const struct backend_ops ops = {.name = "cpu",
                                           .load = load,
                                           .unload = unload,
                                           .prepare = prepare,
                                           .input = input,
                                           .output = output,
                                           .submit = submit,
                                           .wait = wait_for,
                                           .close = close_backend};
    struct backend_cpu_device device;
    char library[64], processor[49];
    if (backend_cpu_device_open(&device, library, sizeof library, err) != WEIR_OK)
        return WEIR_DEVICE;
    backend_cpu_device_close(&device);
    struct backend_cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return weir_fail(err, WEIR_DEVICE, "no memory for the CPU backend");
    cpu->backend.ops = &ops;
    cpu->backend.slot_count = 1;
    cpu->threads = options && options->threads > 1 ? options->threads : 1;
    read_processor_name(processor);
    snprintf(cpu->backend.description, sizeof cpu->backend.description, "%s%s%.60s, %d thread%s", processor,
             processor[0] ? ", " : "", library, cpu->threads % 10000, cpu->threads == 1 ? "" : "s");
    *out = &cpu->backend;
    return WEIR_OK;
}
