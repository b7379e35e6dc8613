#include "engine/device/cuda/cuda_model.h"

#include <stdio.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/device/cuda/cuda_graph.h"
#include "engine/device/cuda/cuda_steps.h"
#include "engine/device/cuda/cuda_wait.h"
#include "engine/graph/plan.h"

/* A short wait is cheaper awake: a blocking one costs two changes of thread. */
enum { POLL_NS = 20 * CLOCK_NS_PER_US };

enum weir_status cuda_model_enter(struct cuda_backend *backend, struct weir_error *err) {
    if (cuda_errors_is_lost(&backend->errors))
        return weir_fail(err, WEIR_DEVICE_LOST, "the device is lost, the process must be restarted: %s",
                         backend->errors.cause);
    return cuda_errors_check(&backend->errors, cudaSetDevice(backend->device), "choosing the device", err);
}

uint32_t cuda_model_bucket(const struct backend_model *model, uint32_t rows) {
    uint64_t bucket = 1;
    if (model->exact)
        return rows;
    if (model->backend->options.invariance == BACKEND_STRICT)
        return model->max_rows;
    while (bucket < rows)
        bucket *= 4;
    return bucket < model->max_rows ? (uint32_t)bucket : model->max_rows;
}

static bool is_made(const struct cuda_program *program) {
    return program->dims.rows > 0;
}

static struct cuda_program *find(struct backend_model *model, const struct tensor_dims *dims) {
    for (int i = 0; i < CUDA_MODEL_PROGRAMS; i++) {
        struct cuda_program *program = &model->programs[i];
        if (is_made(program) && program->dims.rows == dims->rows && tensor_dims_share(&program->dims, dims))
            return program;
    }
    return NULL;
}

static bool is_current(const struct backend_model *model, const struct cuda_program *program) {
    bool current = false;
    for (int slot = 0; slot < CUDA_SLOTS; slot++)
        current = current || model->slots[slot].current == program;
    return current;
}

/* A place that is free, or that of the program which was not used for longest and which no slot needs. */
static int make_room(struct backend_model *model) {
    int oldest = -1;
    for (int i = 0; i < CUDA_MODEL_PROGRAMS; i++) {
        const struct cuda_program *program = &model->programs[i];
        if (!is_made(program))
            return i;
        if (!is_current(model, program) && (oldest < 0 || program->used < model->programs[oldest].used))
            oldest = i;
    }
    cuda_graph_forget(&model->programs[oldest], false);
    cuda_program_release(&model->programs[oldest]);
    return oldest;
}

enum weir_status cuda_model_settle(struct backend_model *model, int place, struct weir_error *err) {
    struct cuda_program *program = &model->programs[place];
    const struct cuda_memory_plan *memory = &model->memory;
    if (program->slot_bytes > memory->activations || cuda_program_host_bytes(program) > memory->staging ||
        program->own.bytes > model->own_bytes)
        return weir_fail(err, WEIR_TOO_LARGE,
                         "%u rows of these sizes need %zu bytes on the device, %zu of staging and %zu of constants; "
                         "%zu, %zu and %zu were reserved",
                         program->dims.rows, program->slot_bytes, cuda_program_host_bytes(program), program->own.bytes,
                         memory->activations, memory->staging, model->own_bytes);
    unsigned char *own = model->arena + memory->weights + (size_t)place * model->own_bytes;
    enum weir_status status = cuda_constants_upload(&program->own, own, &model->bounce, err);
    return status == WEIR_OK ? cuda_steps_prepare(&model->lt, program, &model->slots[0].memory, err) : status;
}

static enum weir_status make(struct backend_model *model, const struct tensor_dims *dims, struct cuda_program **out,
                             struct weir_error *err) {
    const struct cuda_program_maker maker = {
        .plan = model->plan, .shared = &model->constants, .lt = &model->lt, .frozen = true};
    int place = make_room(model);
    struct cuda_program *program = &model->programs[place];
    enum weir_status status = cuda_program_make(&maker, dims, program, err);
    if (status == WEIR_OK)
        status = cuda_model_settle(model, place, err);
    if (status == WEIR_OK)
        *out = program;
    else
        cuda_program_release(program);
    return status;
}

/* Output shapes are those of the batch that was asked for, not of one that was filled up. */
static void note_shapes(const struct backend_model *model, struct cuda_slot *slot) {
    const struct signature *signature = plan_signature(model->plan);
    const struct cuda_program *program = slot->current;
    for (int i = 0; i < signature->output_count; i++) {
        int axis = signature->outputs[i].batch_axis;
        slot->output_shapes[i] = program->source.buffers[program->output_buffers[i]].shape;
        if (axis >= 0 && slot->rows != program->dims.rows)
            slot->output_shapes[i].dims[axis] = slot->rows;
    }
}

enum weir_status cuda_model_begin(struct backend_model *model, int slot, const struct tensor_dims *dims,
                                  struct weir_error *err) {
    struct weir_error local;
    struct cuda_slot *at = &model->slots[slot];
    struct tensor_dims wanted = *dims;
    err = err ? err : &local;
    at->current = NULL;
    if (dims->rows == 0 || dims->rows > model->max_rows || dims->free_count != plan_signature(model->plan)->free_count)
        return weir_fail(err, WEIR_INTERNAL, "%u rows of at most %u, and %d free sizes", dims->rows, model->max_rows,
                         dims->free_count);
    wanted.rows = cuda_model_bucket(model, dims->rows);
    enum weir_status status = cuda_model_enter(model->backend, err);
    struct cuda_program *program = find(model, &wanted);
    if (status == WEIR_OK && !program)
        status = make(model, &wanted, &program, err);
    if (status == WEIR_OK && !program->graphs[slot]) {
        memset(at->memory.host, 0, cuda_program_host_bytes(program));
        status = cuda_graph_record(&model->lt, program, slot, &at->memory, err);
    }
    if (status != WEIR_OK)
        return status;
    program->used = ++model->runs;
    at->current = program;
    at->rows = dims->rows;
    note_shapes(model, at);
    return WEIR_OK;
}

void *cuda_model_input(struct backend_model *model, int slot, int index) {
    const struct cuda_slot *at = &model->slots[slot];
    return at->memory.host + at->current->offsets[at->current->input_buffers[index]];
}

const void *cuda_model_output(struct backend_model *model, int slot, int index) {
    const struct cuda_slot *at = &model->slots[slot];
    return at->memory.host + at->current->offsets[at->current->output_buffers[index]];
}

const struct tensor_shape *cuda_model_output_shape(struct backend_model *model, int slot, int index) {
    return &model->slots[slot].output_shapes[index];
}

/* The rows that fill a batch up are zeros. */
static void clear_spare_rows(const struct backend_model *model, const struct cuda_slot *slot) {
    const struct signature *signature = plan_signature(model->plan);
    const struct cuda_program *program = slot->current;
    uint32_t all = program->dims.rows;
    for (int i = 0; i < signature->input_count && all != slot->rows; i++) {
        const struct program_buffer *buffer = &program->source.buffers[program->input_buffers[i]];
        if (signature->inputs[i].batch_axis != 0)
            continue;
        size_t row_bytes = buffer->bytes / all;
        memset(slot->memory.host + program->offsets[program->input_buffers[i]] + slot->rows * row_bytes, 0,
               (all - slot->rows) * row_bytes);
    }
}

/* After an error that left the device alive the slot may still be running: its memory is nobody's until it stops. A
 * stream that cannot even be waited for is lost, for the first error's reason. */
static enum weir_status calm(struct backend_model *model, const struct cuda_slot *slot, struct weir_error *err) {
    struct cuda_errors *errors = &model->backend->errors;
    cudaError_t code = cuda_errors_is_lost(errors) ? cudaSuccess : cudaStreamSynchronize(slot->memory.stream);
    cuda_errors_note(errors, true);
    if (code == cudaSuccess)
        return err->status;
    char text[sizeof errors->cause];
    snprintf(text, sizeof text, "%.100s; then its stream: %s", err->text, cudaGetErrorName(code));
    cuda_errors_lose(errors, text);
    return weir_fail(err, WEIR_DEVICE_LOST, "%s", text);
}

/* Notes how a run of the slot ended. */
static enum weir_status ended(struct backend_model *model, const struct cuda_slot *slot, enum weir_status status,
                              struct weir_error *err) {
    if (status != WEIR_OK)
        return calm(model, slot, err);
    cuda_errors_note(&model->backend->errors, false);
    return WEIR_OK;
}

enum weir_status cuda_model_submit(struct backend_model *model, int slot, struct weir_error *err) {
    struct weir_error local;
    struct cuda_slot *at = &model->slots[slot];
    struct cuda_errors *errors = &model->backend->errors;
    err = err ? err : &local;
    if (!at->current)
        return weir_fail(err, WEIR_INTERNAL, "no batch has begun");
    enum weir_status status = cuda_model_enter(model->backend, err);
    if (status != WEIR_OK)
        return status;
    clear_spare_rows(model, at);
    status = cuda_errors_check(errors, cudaGraphLaunch(at->current->graphs[slot], at->memory.stream),
                               "starting a batch", err);
    if (status == WEIR_OK)
        status = cuda_errors_check(errors, cudaEventRecord(at->event, at->memory.stream), "marking a batch's end", err);
    return status == WEIR_OK ? status : calm(model, at, err);
}

enum weir_status cuda_model_wait(struct backend_model *model, int slot, struct weir_error *err) {
    struct weir_error local;
    struct cuda_slot *at = &model->slots[slot];
    struct cuda_errors *errors = &model->backend->errors;
    err = err ? err : &local;
    enum weir_status status = cuda_model_enter(model->backend, err);
    if (status != WEIR_OK)
        return status;
    int64_t until_ns = clock_now_ns() + POLL_NS;
    cudaError_t code = cudaEventQuery(at->event);
    bool waits = code == cudaErrorNotReady;
    while (code == cudaErrorNotReady && clock_now_ns() < until_ns)
        code = cudaEventQuery(at->event);
    if (waits)
        (void)cudaGetLastError(); /* "not ready" is remembered like an error */
    if (code == cudaErrorNotReady)
        code = cudaEventSynchronize(at->event);
    return ended(model, at, cuda_errors_check(errors, code, "a batch", err), err);
}

enum weir_status cuda_model_wait_loading(struct backend_model *model, int slot, struct weir_error *err) {
    struct weir_error local;
    struct cuda_slot *at = &model->slots[slot];
    err = err ? err : &local;
    enum weir_status status = cuda_model_enter(model->backend, err);
    if (status != WEIR_OK)
        return status;
    return ended(model, at, cuda_wait(&model->backend->errors, at->memory.stream, "a first batch", err), err);
}
