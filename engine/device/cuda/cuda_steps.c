#include "engine/device/cuda/cuda_steps.h"

#include <stdio.h>
#include <string.h>

#include "engine/device/cuda/cuda_conv.h"
#include "engine/device/cuda/cuda_matmul.h"
#include "engine/graph/node.h"
#include "engine/graph/plan_parts.h"

/* Stands for memory that has no address yet: kernels are chosen by shapes, and by which inputs there are. */
static void *const SOME_ADDRESS = (void *)(uintptr_t)CUDA_ALIGNMENT;

/* Fills the program's views; memory NULL: with an address that only says that there is one. */
static void fill_views(const struct cuda_program *program, const struct program_step *step,
                       const struct cuda_slot_memory *memory) {
    struct view *inputs = program->views, *outputs = program->views + program->view_count;
    memset(inputs, 0, (size_t)(step->input_count + PROGRAM_SPARE_VIEWS) * sizeof *inputs);
    memset(outputs, 0, (size_t)(step->output_count + PROGRAM_SPARE_VIEWS) * sizeof *outputs);
    program_step_views(&program->source, step, inputs, outputs);
    for (int i = 0; i < step->input_count; i++)
        if (step->inputs[i] >= 0)
            inputs[i].data =
                memory ? cuda_program_address(program, memory, step->inputs[i], CUDA_FORM_PLAIN) : SOME_ADDRESS;
    for (int i = 0; i < step->output_count; i++)
        if (step->outputs[i] >= 0)
            outputs[i].data =
                memory ? cuda_program_address(program, memory, step->outputs[i], CUDA_FORM_PLAIN) : SOME_ADDRESS;
}

/* A step without any result has nothing to run. */
static bool is_empty(const struct program *source, const struct program_step *step) {
    bool empty = true;
    for (int i = 0; i < step->output_count; i++)
        empty = empty && (step->outputs[i] < 0 || source->buffers[step->outputs[i]].elements == 0);
    return empty;
}

static const char *then_text(const struct operation *operation) {
    bool fuses = operation->kind == OPERATION_MATMUL || operation->kind == OPERATION_CONV;
    return operation->kind == OPERATION_UNARY            ? operation_unary_text(operation->unary.kind)
           : operation->kind == OPERATION_BINARY         ? operation_binary_text(operation->binary)
           : fuses && operation->then.kind != UNARY_NONE ? operation_unary_text(operation->then.kind)
                                                         : "";
}

/* Names the node of the file that the step comes from. */
static enum weir_status fail_step(const struct cuda_program_maker *maker, const struct cuda_program *program,
                                  const struct program_step *step, const char *why, struct weir_error *err) {
    const struct graph *graph = maker->plan->graph;
    const struct view *outputs = program->views + program->view_count;
    const char *then = then_text(&step->operation);
    char text[160];
    int used = snprintf(text, sizeof text, "the GPU has no kernel for it: %s%s%s%s%s%s to",
                        operation_text(step->operation.kind), then[0] ? " (" : "", then, then[0] ? ")" : "",
                        why[0] ? ", " : "", why);
    if (used >= 0 && (size_t)used < sizeof text) {
        char *shape = text + used;
        size_t left = sizeof text - (size_t)used;
        int at = snprintf(shape, left, " %s [", tensor_dtype_text((enum tensor_dtype)outputs[0].element));
        for (int i = 0; i < outputs[0].rank && at >= 0 && (size_t)at < left; i++)
            at += snprintf(shape + at, left - (size_t)at, "%s%zu", i ? "," : "", outputs[0].dims[i]);
        if (at >= 0 && (size_t)at < left)
            snprintf(shape + at, left - (size_t)at, "]");
    }
    for (int i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].index == step->node)
            return node_fail(graph, &graph->nodes[i], err, WEIR_UNSUPPORTED, "%s", text);
    return weir_fail(err, WEIR_UNSUPPORTED, "node %d: %s", step->node, text);
}

static enum weir_status plan_kernel(const struct cuda_program_maker *maker, struct cuda_program *program,
                                    struct cuda_step *made, size_t *scratch_bytes, struct weir_error *err) {
    const struct program_step *step = made->source;
    const struct view *outputs = program->views + program->view_count;
    bool wanted = true;
    made->launcher = cuda_find(&step->operation, program->views, outputs);
    if (!made->launcher)
        return fail_step(maker, program, step, "", err);
    *scratch_bytes = cuda_scratch_bytes(&step->operation, program->views, outputs);
    for (int i = 0; i < step->input_count; i++)
        wanted = wanted && cuda_program_want(maker, program, step->inputs[i], CUDA_FORM_PLAIN);
    return wanted ? WEIR_OK : weir_fail(err, WEIR_NO_MEMORY, "no memory for a list of constants");
}

/* A convolution is a kernel's where there is one (depthwise), else cuBLASLt's. */
static enum weir_status plan_step(const struct cuda_program_maker *maker, struct cuda_program *program,
                                  struct cuda_step *made, size_t *scratch_bytes, struct weir_error *err) {
    const struct program_step *step = made->source;
    const struct view *outputs = program->views + program->view_count;
    enum operation_kind kind = step->operation.kind;
    enum weir_status status;
    if (kind == OPERATION_MATMUL) {
        made->matmul = region_take(&program->source.region, 1, sizeof *made->matmul);
        if (!made->matmul)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for a product");
        status = cuda_matmul_plan(maker, program, step, made->matmul, scratch_bytes, err);
    } else if (kind == OPERATION_CONV && !cuda_find(&step->operation, program->views, outputs)) {
        made->conv = region_take(&program->source.region, 1, sizeof *made->conv);
        if (!made->conv)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for a convolution");
        status = cuda_conv_plan(maker, program, step, made->conv, scratch_bytes, err);
    } else {
        return plan_kernel(maker, program, made, scratch_bytes, err);
    }
    if (status == WEIR_UNSUPPORTED) {
        char why[120];
        snprintf(why, sizeof why, "%.100s", err->text);
        return fail_step(maker, program, step, why, err);
    }
    return status;
}

enum weir_status cuda_steps_plan(const struct cuda_program_maker *maker, struct cuda_program *program,
                                 struct weir_error *err) {
    const struct program *source = &program->source;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < source->step_count && status == WEIR_OK; i++) {
        struct cuda_step *made = &program->steps[program->step_count];
        size_t scratch_bytes = 0;
        if (is_empty(source, &source->steps[i]))
            continue;
        *made = (struct cuda_step){.source = &source->steps[i]};
        program->step_count++;
        fill_views(program, made->source, NULL);
        status = plan_step(maker, program, made, &scratch_bytes, err);
        if (status == WEIR_UNSUPPORTED && maker->lack) {
            maker->lack(maker->lack_context, err->text);
            status = WEIR_OK;
        }
        if (scratch_bytes > program->scratch_bytes)
            program->scratch_bytes = scratch_bytes;
    }
    return status;
}

enum weir_status cuda_steps_prepare(const struct cuda_lt *lt, const struct cuda_program *program,
                                    const struct cuda_slot_memory *memory, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < program->step_count && status == WEIR_OK; i++) {
        const struct cuda_step *step = &program->steps[i];
        if (step->matmul)
            status = cuda_matmul_prepare(lt, program, memory, step->matmul, err);
        else if (step->conv)
            status = cuda_conv_prepare(lt, step->conv, err);
    }
    return status;
}

static enum weir_status run_step(const struct cuda_lt *lt, const struct cuda_program *program,
                                 const struct cuda_slot_memory *memory, const struct cuda_step *step,
                                 struct weir_error *err) {
    if (step->matmul)
        return cuda_matmul_run(lt, program, memory, step->matmul, err);
    if (step->conv)
        return cuda_conv_run(lt, program, memory, step->conv, err);
    fill_views(program, step->source, memory);
    cudaError_t code = step->launcher(&step->source->operation, program->views, program->views + program->view_count,
                                      memory->device + program->scratch_at, memory->stream);
    return cuda_errors_check(lt->errors, code, operation_text(step->source->operation.kind), err);
}

enum weir_status cuda_steps_run(const struct cuda_lt *lt, const struct cuda_program *program,
                                const struct cuda_slot_memory *memory, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    if (program->input_bytes > 0)
        status = cuda_errors_check(
            lt->errors,
            cudaMemcpyAsync(memory->device, memory->host, program->input_bytes, cudaMemcpyHostToDevice, memory->stream),
            "the inputs' copy", err);
    for (size_t i = 0; i < program->step_count && status == WEIR_OK; i++)
        status = run_step(lt, program, memory, &program->steps[i], err);
    if (status == WEIR_OK && program->output_bytes > 0)
        status =
            cuda_errors_check(lt->errors,
                              cudaMemcpyAsync(memory->host + program->outputs_at, memory->device + program->outputs_at,
                                              program->output_bytes, cudaMemcpyDeviceToHost, memory->stream),
                              "the outputs' copy", err);
    return status;
}

void cuda_steps_release(struct cuda_program *program) {
    for (size_t i = 0; i < program->step_count; i++) {
        struct cuda_step *step = &program->steps[i];
        if (step->matmul)
            cuda_lt_release(&step->matmul->plan);
        for (int piece = 0; step->conv && piece < CUDA_CONV_PIECES; piece++)
            cuda_lt_release(&step->conv->plans[piece]);
    }
}
