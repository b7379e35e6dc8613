#include "engine/graph/describe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/graph/arena.h"
#include "engine/graph/plan_parts.h"

enum { MANY_ROWS = 32 };

struct page {
    char *text;
    size_t size, used;
};

static void put(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct page *page, const char *format, ...) {
    va_list args;
    va_start(args, format);
    size_t left = page->used < page->size ? page->size - page->used : 0;
    int n = vsnprintf(left > 0 ? page->text + page->used : NULL, left, format, args);
    va_end(args);
    page->used += n > 0 ? (size_t)n : 0;
}

/* A free dimension by its name, or by its number where the file gives none; of an output one that is computed is "?".
 */
static void put_free(struct page *page, const struct signature *signature, int number) {
    if (number >= signature->free_count)
        put(page, "?");
    else if (signature->free_names[number] && signature->free_names[number][0])
        put(page, "%s", signature->free_names[number]);
    else
        put(page, "free%d", number);
}

static void put_specs(struct page *page, const char *kind, const struct signature *signature,
                      const struct tensor_spec *specs, int count) {
    for (int i = 0; i < count; i++) {
        put(page, "%-10s %s %s [", kind, specs[i].name, tensor_dtype_text(specs[i].dtype));
        for (int j = 0; j < specs[i].shape.rank; j++) {
            int64_t dim = specs[i].shape.dims[j];
            put(page, "%s", j > 0 ? "," : "");
            if (dim == TENSOR_BATCH)
                put(page, "batch");
            else if (dim < 0)
                put_free(page, signature, (int)(TENSOR_FREE(0) - dim));
            else
                put(page, "%lld", (long long)dim);
        }
        put(page, "]\n");
    }
}

static void put_batch(struct page *page, const struct plan *plan) {
    put(page, "%-10s ", "batch");
    if (plan->fixed_batch > 0)
        put(page, "exported for %u; ", (unsigned)plan->fixed_batch);
    if (plan->max_rows == UINT32_MAX)
        put(page, "rows stay apart and run together\n");
    else
        put(page, "at most %u %s together%s%s\n", (unsigned)plan->max_rows, plan->max_rows == 1 ? "row" : "rows",
            plan->max_rows_reason[0] ? ": " : "", plan->max_rows_reason);
}

static void put_example(struct page *page, const struct plan *plan) {
    if (plan->example_dims.free_count == 0)
        return;
    put(page, "%-10s", "example");
    for (int i = 0; i < plan->example_dims.free_count; i++) {
        put(page, " ");
        put_free(page, &plan->signature, i);
        put(page, "=%lld", (long long)plan->example_dims.free[i]);
    }
    put(page, "\n");
}

static void put_count(struct page *page, double count) {
    static const struct {
        double from;
        const char *unit;
    } units[] = {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (count >= units[i].from) {
            put(page, "%.2f%s", count / units[i].from, units[i].unit);
            return;
        }
    put(page, "%.0f", count);
}

static bool measure_arena(const struct program *program, size_t *bytes) {
    size_t *offsets = calloc((size_t)program->buffer_count + 1, sizeof *offsets);
    bool placed = offsets && arena_place(program, NULL, offsets, bytes);
    free(offsets);
    return placed;
}

static void put_arena(struct page *page, struct plan *plan) {
    struct tensor_dims many = plan->example_dims;
    struct program program;
    size_t bytes;
    if (!measure_arena(&plan->example, &bytes))
        return;
    put(page, "%-10s %zu bytes for 1 row", "arena", bytes);
    many.rows = MANY_ROWS;
    if (plan->max_rows >= MANY_ROWS && plan_make_program(plan, &many, &program, NULL) == WEIR_OK) {
        if (measure_arena(&program, &bytes))
            put(page, ", %zu for %d", bytes, MANY_ROWS);
        program_release(&program);
    }
    put(page, "\n");
}

static void put_buffer(struct page *page, const struct program *program, int number) {
    char shape[160];
    if (number < 0) {
        put(page, "-");
        return;
    }
    const struct program_buffer *buffer = &program->buffers[number];
    const struct program_buffer *root = &program->buffers[program_root(program, number)];
    const char *place = root->place == PROGRAM_INPUT      ? "input "
                        : root->place == PROGRAM_OUTPUT   ? "output "
                        : root->place == PROGRAM_CONSTANT ? "constant "
                                                          : "";
    put(page, "%s%s%s", place, buffer->dtype == TENSOR_F32 ? "" : tensor_dtype_text(buffer->dtype),
        tensor_shape_text(&buffer->shape, shape, sizeof shape));
}

static void put_step(struct page *page, const struct program *program, size_t number) {
    const struct program_step *step = &program->steps[number];
    const struct operation *operation = &step->operation;
    put(page, "  %zu ", number);
    if (operation->kind == OPERATION_UNARY)
        put(page, "%s", operation_unary_text(operation->unary.kind));
    else if (operation->kind == OPERATION_BINARY)
        put(page, "%s", operation_binary_text(operation->binary));
    else
        put(page, "%s", operation_text(operation->kind));
    bool sums = operation->kind == OPERATION_CONV && step->input_count > 3 && step->inputs[3] >= 0;
    if ((operation->kind == OPERATION_MATMUL || operation->kind == OPERATION_CONV) && step->input_count > 2 &&
        step->inputs[2] >= 0)
        put(page, " + bias");
    put(page, "%s", sums ? " + sum" : "");
    if (operation->then.kind != UNARY_NONE)
        put(page, " + %s", operation_unary_text(operation->then.kind));
    put(page, ":");
    for (int i = 0; i < step->input_count; i++) {
        put(page, "%s", i > 0 ? ", " : " ");
        put_buffer(page, program, step->inputs[i]);
    }
    put(page, " ->");
    for (int i = 0; i < step->output_count; i++) {
        put(page, "%s", i > 0 ? ", " : " ");
        put_buffer(page, program, step->outputs[i]);
    }
    put(page, "\n");
}

size_t plan_describe(struct plan *plan, char *text, size_t size) {
    struct page page = {text, size, 0};
    const struct plan_facts *facts = &plan->facts;
    const struct program *program = &plan->example;
    double flops = 0;
    if (size > 0)
        text[0] = 0;
    put_specs(&page, "input", &plan->signature, plan->signature.inputs, plan->signature.input_count);
    put_specs(&page, "output", &plan->signature, plan->signature.outputs, plan->signature.output_count);
    put_batch(&page, plan);
    put_example(&page, plan);
    put(&page, "%-10s ai.onnx %lld, IR version %lld%s%s\n", "opset", (long long)facts->opset,
        (long long)facts->ir_version, facts->producer[0] ? ", made by " : "", facts->producer);
    if (plan_notice(plan)[0])
        put(&page, "%-10s %s\n", "notice", plan_notice(plan));
    put(&page, "%-10s ", "operators");
    for (int i = 0; i < facts->operator_count; i++)
        put(&page, "%s%s x %d", i > 0 ? ", " : "", facts->operators[i].name, facts->operators[i].count);
    put(&page, "%s\n%-10s ", facts->operator_count == 0 ? "none" : "", "parameters");
    put(&page, "%zu\n%-10s ", facts->parameters, "flops/row");
    for (size_t i = 0; i < program->step_count; i++)
        flops += program_step_flops(program, &program->steps[i]);
    put_count(&page, flops);
    put(&page, "\n");
    put_arena(&page, plan);
    put(&page, "%-10s %zu\n", "steps", program->step_count);
    for (size_t i = 0; i < program->step_count; i++)
        put_step(&page, program, i);
    return page.used;
}
