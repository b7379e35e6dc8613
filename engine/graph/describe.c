#include "engine/graph/describe.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/graph/plan_parts.h"

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

static void put_specs(struct page *page, const char *kind, const struct tensor_spec *specs, int count) {
    char shape[160];
    for (int i = 0; i < count; i++)
        put(page, "%-10s %s %s %s\n", kind, specs[i].name, tensor_dtype_text(specs[i].dtype),
            tensor_shape_text(&specs[i].shape, shape, sizeof shape));
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

static void put_place(struct page *page, const struct program *program, int number) {
    const struct program_buffer *buffer = &program->buffers[number];
    if (buffer->place == PROGRAM_INPUT)
        put(page, "input");
    else if (buffer->place == PROGRAM_OUTPUT)
        put(page, "output %d", buffer->index);
    else
        put(page, "arena+%zu", buffer->row_offset_bytes);
}

static void put_step(struct page *page, const struct program *program, size_t number) {
    static const char *const operations[] = {"add", "subtract", "multiply", "divide"};
    const struct program_step *step = &program->steps[number];
    put(page, "  %zu %s", number, program_step_text(step->kind));
    if (step->kind == PROGRAM_DENSE) {
        put(page, " %zu -> %zu", step->dense.in, step->dense.out);
        if (step->dense.inner_rows > 1)
            put(page, " x %zu", step->dense.inner_rows);
        put(page, "%s", step->dense.bias ? " + bias" : "");
    }
    if (step->activation.kind != ACTIVATION_NONE)
        put(page, " + %s", program_activation_text(step->activation.kind));
    if (step->kind == PROGRAM_COMBINE || step->kind == PROGRAM_COMBINE_CONSTANT)
        put(page, ": %s%s", operations[step->combine.op], step->combine.on_left ? " (constant on the left)" : "");
    if (step->kind == PROGRAM_SOFTMAX)
        put(page, " over %zu%s", step->softmax.length, step->softmax.log ? ", logarithm" : "");
    put(page, ", ");
    put_place(page, program, step->x);
    if (step->x2 >= 0) {
        put(page, " and ");
        put_place(page, program, step->x2);
    }
    put(page, " -> ");
    put_place(page, program, step->y);
    put(page, "\n");
}

size_t plan_describe(const struct plan *plan, char *text, size_t size) {
    struct page page = {text, size, 0};
    const struct plan_facts *facts = &plan->facts;
    const struct program *program = &plan->program;
    double flops = 0;
    if (size > 0)
        text[0] = 0;
    put_specs(&page, "input", plan->signature.inputs, plan->signature.input_count);
    put_specs(&page, "output", plan->signature.outputs, plan->signature.output_count);
    if (plan->fixed_batch > 0)
        put(&page, "%-10s exported for %u\n", "batch", plan->fixed_batch);
    put(&page, "%-10s ai.onnx %lld, IR version %lld%s%s\n", "opset", (long long)facts->opset,
        (long long)facts->ir_version, facts->producer[0] ? ", made by " : "", facts->producer);
    put(&page, "%-10s ", "operators");
    for (int i = 0; i < facts->operator_count; i++)
        put(&page, "%s%s x %d", i > 0 ? ", " : "", facts->operators[i].name, facts->operators[i].count);
    put(&page, "%s\n%-10s ", facts->operator_count == 0 ? "none" : "", "parameters");
    put(&page, "%zu\n%-10s ", facts->parameters, "flops/row");
    for (size_t i = 0; i < program->step_count; i++)
        flops += program_row_flops(&program->steps[i], program);
    put_count(&page, flops);
    put(&page, "\n%-10s %zu bytes a row\n%-10s %zu\n", "arena", program->arena_row_bytes, "steps", program->step_count);
    for (size_t i = 0; i < program->step_count; i++)
        put_step(&page, program, i);
    return page.used;
}
