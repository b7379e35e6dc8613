#include "engine/device/cuda/cuda_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/cuda/cuda_graph.h"
#include "engine/device/cuda/cuda_self_test.h"
#include "engine/graph/plan.h"

/* Pinned memory through which weights go up, and the own constants of a program that is made later. */
enum { BOUNCE_BYTES = 16 << 20, BOUNCE_LEAST_BYTES = 64 << 10, FLEXIBLE_OWN_BYTES = 256 << 10 };

static bool has_rows_inside(const struct tensor_spec *specs, int count) {
    for (int i = 0; i < count; i++)
        if (specs[i].batch_axis > 0)
            return true;
    return false;
}

static enum weir_status check_options(struct backend_model *model, struct weir_error *err) {
    const struct signature *signature = plan_signature(model->plan);
    model->exact = has_rows_inside(signature->inputs, signature->input_count) ||
                   has_rows_inside(signature->outputs, signature->output_count);
    model->flexible = model->exact || signature->free_count > 0;
    if (model->exact && model->backend->options.invariance != BACKEND_VARIANT)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "invariance bucket and strict need the batch to be the first dimension of every tensor");
    return WEIR_OK;
}

/* Makes the programs of all buckets, the largest first: it says soonest what cannot be. */
static enum weir_status make_programs(struct backend_model *model, struct weir_error *err) {
    const struct cuda_program_maker maker = {.plan = model->plan, .shared = &model->constants, .lt = &model->lt};
    struct tensor_dims dims = *plan_example(model->plan);
    enum weir_status status = WEIR_OK;
    for (uint64_t rows = model->max_rows; rows > 0 && status == WEIR_OK;) {
        dims.rows = (uint32_t)rows;
        status = cuda_program_make(&maker, &dims, &model->programs[model->program_count++], err);
        if (rows == 1 || model->backend->options.invariance == BACKEND_STRICT)
            break;
        uint64_t bucket = 1;
        while (!model->exact && bucket * 4 < rows)
            bucket *= 4;
        rows = bucket;
    }
    return status;
}

static void widen(size_t *most, size_t bytes) {
    if (bytes > *most)
        *most = bytes;
}

static enum weir_status plan_memory(struct backend_model *model, struct weir_error *err) {
    struct cuda_memory_plan *memory = &model->memory;
    size_t places = model->flexible ? CUDA_MODEL_PROGRAMS : (size_t)model->program_count;
    for (int i = 0; i < model->program_count; i++) {
        const struct cuda_program *program = &model->programs[i];
        widen(&memory->activations, program->slot_bytes);
        widen(&memory->staging, cuda_program_host_bytes(program));
        widen(&model->own_bytes, program->own.bytes);
    }
    if (model->flexible)
        model->own_bytes = 2 * model->own_bytes + FLEXIBLE_OWN_BYTES;
    memory->weights = model->constants.bytes;
    memory->programs = places * model->own_bytes;
    memory->workspace = model->backend->workspace_bytes;
    memory->graphs = places * CUDA_SLOTS;
    cudaError_t code = cudaMemGetInfo(&memory->free, &memory->total);
    if (code != cudaSuccess)
        return cuda_errors_fail(&model->backend->errors, code, "reading the free memory", err);
    memory->in_use = memory->total - memory->free;
    if (model->flexible)
        cuda_memory_plan_reserve(memory);
    return cuda_memory_plan_check(memory, err);
}

static void place_slots(struct backend_model *model) {
    const struct cuda_memory_plan *memory = &model->memory;
    unsigned char *at = model->arena + memory->weights + memory->programs;
    for (int i = 0; i < CUDA_SLOTS; i++) {
        struct cuda_slot_memory *slot = &model->slots[i].memory;
        slot->device = at;
        slot->workspace = at + memory->activations;
        slot->workspace_bytes = memory->workspace;
        slot->host = model->host + (size_t)i * memory->staging;
        at += memory->activations + memory->workspace;
    }
}

static enum weir_status take_slot(struct backend_model *model, struct cuda_slot *slot, struct weir_error *err) {
    struct cuda_errors *errors = &model->backend->errors;
    size_t outputs = (size_t)plan_signature(model->plan)->output_count;
    slot->output_shapes = calloc(outputs + 1, sizeof *slot->output_shapes);
    if (!slot->output_shapes)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a slot");
    cudaError_t code = cudaStreamCreateWithFlags(&slot->memory.stream, cudaStreamNonBlocking);
    if (code != cudaSuccess)
        slot->memory.stream = NULL;
    if (code == cudaSuccess) {
        code = cudaEventCreateWithFlags(&slot->event, cudaEventDisableTiming | cudaEventBlockingSync);
        if (code != cudaSuccess)
            slot->event = NULL;
    }
    return cuda_errors_check(errors, code, "making a stream and its event", err);
}

static enum weir_status take_pinned(struct backend_model *model, unsigned char **out, size_t bytes,
                                    struct weir_error *err) {
    char what[64];
    void *memory = NULL;
    snprintf(what, sizeof what, "taking %.1f MiB of pinned memory", (double)bytes / (1 << 20));
    cudaError_t code = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);
    *out = code == cudaSuccess ? memory : NULL;
    if (code == cudaSuccess)
        memset(memory, 0, bytes); /* the first runs read it */
    return cuda_errors_check(&model->backend->errors, code, what, err);
}

static size_t bounce_bytes(const struct backend_model *model) {
    size_t bytes = BOUNCE_LEAST_BYTES;
    for (size_t i = 0; i < model->constants.count; i++)
        widen(&bytes, model->constants.items[i].bytes);
    return bytes < BOUNCE_BYTES ? cuda_memory_plan_align(bytes) : BOUNCE_BYTES;
}

static enum weir_status take_memory(struct backend_model *model, struct weir_error *err) {
    struct cuda_memory_plan *memory = &model->memory;
    size_t bytes, staging;
    void *arena = NULL;
    enum weir_status status = WEIR_OK;
    if (!cuda_memory_plan_arena(memory, &bytes) ||
        __builtin_mul_overflow(memory->staging, (size_t)CUDA_SLOTS, &staging))
        return weir_fail(err, WEIR_NO_MEMORY, "the model does not fit any memory");
    for (int i = 0; i < CUDA_SLOTS && status == WEIR_OK; i++)
        status = take_slot(model, &model->slots[i], err);
    if (status == WEIR_OK) {
        cudaError_t code = cudaMalloc(&arena, bytes);
        model->arena = code == cudaSuccess ? arena : NULL;
        status = cuda_errors_check(&model->backend->errors, code, "taking the device's memory", err);
    }
    if (status == WEIR_OK)
        status = take_pinned(model, &model->host, staging, err);
    if (status == WEIR_OK) {
        model->bounce.bytes = bounce_bytes(model);
        model->bounce.stream = model->slots[0].memory.stream;
        model->bounce.errors = &model->backend->errors;
        status = take_pinned(model, &model->bounce.memory, model->bounce.bytes, err);
    }
    if (status == WEIR_OK)
        place_slots(model);
    if (status == WEIR_NO_MEMORY) {
        char text[320];
        weir_fail_in(err, "%s", cuda_memory_plan_text(memory, text, sizeof text));
    }
    return status;
}

static enum weir_status settle_all(struct backend_model *model, struct weir_error *err) {
    enum weir_status status = cuda_constants_upload(&model->constants, model->arena, &model->bounce, err);
    for (int i = 0; i < model->program_count && status == WEIR_OK; i++) {
        status = cuda_model_settle(model, i, err);
        for (int slot = 0; slot < CUDA_SLOTS && status == WEIR_OK; slot++)
            status = cuda_graph_record(&model->lt, &model->programs[i], slot, &model->slots[slot].memory, err);
    }
    return status;
}

/* Weights went up through it; programs that come later have little to send. */
static enum weir_status drop_bounce(struct backend_model *model, struct weir_error *err) {
    if (model->flexible)
        return WEIR_OK;
    cudaError_t code = cudaFreeHost(model->bounce.memory);
    model->bounce.memory = NULL;
    return cuda_errors_check(&model->backend->errors, code, "giving pinned memory back", err);
}

enum weir_status cuda_load_lacks(struct plan *plan, void (*tell)(void *context, const char *text), void *context,
                                 struct weir_error *err) {
    struct cuda_errors errors = {0};
    const struct cuda_lt lt = {.precision = BACKEND_FP32, .errors = &errors};
    struct cuda_constants constants = {0};
    struct cuda_program program = {0};
    const struct cuda_program_maker maker = {
        .plan = plan, .shared = &constants, .lt = &lt, .lack = tell, .lack_context = context};
    enum weir_status status = cuda_program_make(&maker, plan_example(plan), &program, err);
    cuda_program_release(&program);
    cuda_constants_release(&constants);
    return status;
}

enum weir_status cuda_load(struct cuda_backend *backend, struct plan *plan, uint32_t max_rows,
                           struct backend_model **out, struct weir_error *err) {
    struct weir_error local;
    struct backend_model *model = max_rows > 0 && max_rows < UINT32_MAX ? calloc(1, sizeof *model) : NULL;
    err = err ? err : &local;
    if (!model)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a model of %u rows", max_rows);
    model->backend = backend;
    model->plan = plan;
    model->max_rows = max_rows;
    model->lt.precision = backend->options.precision;
    model->lt.errors = &backend->errors;
    enum weir_status status = cuda_model_enter(backend, err);
    if (status == WEIR_OK)
        status = check_options(model, err);
    if (status == WEIR_OK)
        status = make_programs(model, err);
    if (status == WEIR_OK)
        status = plan_memory(model, err);
    if (status == WEIR_OK)
        status = cuda_lt_open(&model->lt, model->memory.workspace, backend->options.invariance == BACKEND_VARIANT, err);
    if (status == WEIR_OK)
        status = take_memory(model, err);
    if (status == WEIR_OK)
        status = settle_all(model, err);
    if (status == WEIR_OK)
        status = drop_bounce(model, err);
    if (status == WEIR_OK && backend->options.invariance != BACKEND_VARIANT)
        status = cuda_self_test_run(model, err);
    if (status == WEIR_OK)
        *out = model;
    else
        cuda_load_release(model);
    return status;
}

/* What runs is waited for first; graphs go before the memory that they work on. After a failure frees may fail as well,
 * and their codes are nobody's any more. */
static void release_device(struct backend_model *model) {
    (void)cudaSetDevice(model->backend->device);
    for (int i = 0; i < CUDA_SLOTS; i++)
        if (model->slots[i].memory.stream)
            (void)cudaStreamSynchronize(model->slots[i].memory.stream);
    for (int i = 0; i < CUDA_MODEL_PROGRAMS; i++)
        cuda_graph_forget(&model->programs[i], false);
    for (int i = 0; i < CUDA_SLOTS; i++) {
        if (model->slots[i].event)
            (void)cudaEventDestroy(model->slots[i].event);
        if (model->slots[i].memory.stream)
            (void)cudaStreamDestroy(model->slots[i].memory.stream);
    }
    if (model->bounce.memory)
        (void)cudaFreeHost(model->bounce.memory);
    if (model->host)
        (void)cudaFreeHost(model->host);
    if (model->arena)
        (void)cudaFree(model->arena);
    (void)cudaGetLastError();
}

void cuda_load_release(struct backend_model *model) {
    if (!model)
        return;
    if (!cuda_errors_is_lost(&model->backend->errors))
        release_device(model);
    for (int i = 0; i < CUDA_MODEL_PROGRAMS; i++)
        cuda_program_release(&model->programs[i]);
    for (int i = 0; i < CUDA_SLOTS; i++)
        free(model->slots[i].output_shapes);
    cuda_constants_release(&model->constants);
    cuda_lt_close(&model->lt);
    free(model);
}
