#include "tests/fakes/model_run.h"

#include <stdlib.h>
#include <string.h>

#include "engine/device/backend.h"
#include "engine/graph/graph.h"
#include "engine/graph/plan_parts.h"
#include "kernels/ref/ref.h"

enum weir_status model_plan(struct onnx_model *model, int opset, struct plan **out, struct weir_error *err) {
    onnx_finish(model, opset);
    return plan_read(model->file.data, model->file.size, -1, out, err);
}

static size_t bytes_of(const struct tensor_shape *shape, enum tensor_dtype dtype) {
    size_t elements = 0;
    return tensor_shape_elements(shape, 0, &elements) ? elements * tensor_dtype_bytes(dtype) : 0;
}

enum weir_status model_run_plan(struct plan *plan, const float *x, uint32_t rows, int output, float *y,
                                struct weir_error *err) {
    const struct signature *signature = plan_signature(plan);
    struct tensor_dims dims = *plan_example(plan);
    struct backend *backend = NULL;
    struct backend_model *loaded = NULL;
    dims.rows = rows;
    enum weir_status status = backend_cpu_open(NULL, &backend, err);
    if (status == WEIR_OK)
        status = backend->ops->load(backend, plan, rows, &loaded, err);
    if (status == WEIR_OK)
        status = backend->ops->begin(loaded, 0, &dims, err);
    if (status == WEIR_OK) {
        struct tensor_shape whole = tensor_spec_whole(&signature->inputs[0], &dims);
        memcpy(backend->ops->input(loaded, 0, 0), x, bytes_of(&whole, signature->inputs[0].dtype));
        status = backend->ops->submit(loaded, 0, err);
    }
    if (status == WEIR_OK)
        status = backend->ops->wait(loaded, 0, err);
    if (status == WEIR_OK)
        memcpy(y, backend->ops->output(loaded, 0, output),
               bytes_of(backend->ops->output_shape(loaded, 0, output), signature->outputs[output].dtype));
    if (loaded)
        backend->ops->unload(loaded);
    if (backend)
        backend->ops->close(backend);
    return status;
}

enum weir_status model_run(struct onnx_model *model, int opset, const float *x, uint32_t rows, float *y,
                           struct weir_error *err) {
    struct plan *plan;
    enum weir_status status = model_plan(model, opset, &plan, err);
    if (status != WEIR_OK)
        return status;
    status = model_run_plan(plan, x, rows, 0, y, err);
    plan_destroy(plan);
    return status;
}

/* Where each buffer's elements are. */
static void **bind(const struct program *program, const void *const *inputs, void *const *outputs) {
    void **memory = calloc((size_t)program->buffer_count + 1, sizeof *memory);
    for (int i = 0; memory && i < program->buffer_count; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        if (buffer->place == PROGRAM_INPUT)
            memory[i] = (void *)(uintptr_t)inputs[buffer->index];
        else if (buffer->place == PROGRAM_OUTPUT)
            memory[i] = outputs[buffer->index];
        else if (buffer->place == PROGRAM_CONSTANT)
            memory[i] = (void *)(uintptr_t)buffer->constant->bytes;
        else if (buffer->place == PROGRAM_ARENA)
            memory[i] = aligned_alloc(64, (buffer->bytes / 64 + 1) * 64);
    }
    return memory;
}

static void run_step(const struct program *program, const struct program_step *step, void **memory) {
    size_t input_count = (size_t)step->input_count + PROGRAM_SPARE_VIEWS;
    size_t count = input_count + (size_t)step->output_count + PROGRAM_SPARE_VIEWS;
    struct view *views = calloc(count, sizeof *views), *outputs = views + input_count;
    program_step_views(program, step, views, outputs);
    for (int i = 0; i < step->input_count; i++)
        views[i].data = step->inputs[i] < 0 ? NULL : memory[program_root(program, step->inputs[i])];
    for (int i = 0; i < step->output_count; i++)
        outputs[i].data = step->outputs[i] < 0 ? NULL : memory[program_root(program, step->outputs[i])];
    size_t scratch_bytes = ref_scratch_bytes(&step->operation, views, outputs);
    void *scratch = aligned_alloc(64, (scratch_bytes / 64 + 1) * 64);
    ref_find(step->operation.kind)(&step->operation, views, outputs, scratch);
    free(scratch);
    free(views);
}

enum weir_status model_run_oracle(struct plan *plan, const struct tensor_dims *dims, const void *const *inputs,
                                  void *const *outputs, struct weir_error *err) {
    struct program program;
    enum weir_status status = plan_make_program(plan, dims, &program, err);
    if (status != WEIR_OK)
        return status;
    void **memory = bind(&program, inputs, outputs);
    for (size_t i = 0; i < program.step_count; i++)
        run_step(&program, &program.steps[i], memory);
    for (int i = 0; i < program.buffer_count; i++)
        if (program.buffers[i].place == PROGRAM_ARENA)
            free(memory[i]);
    free(memory);
    program_release(&program);
    return WEIR_OK;
}
