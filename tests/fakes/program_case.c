#include "tests/fakes/program_case.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/backend_cpu_builder.h"
#include "kernels/ref/ref.h"

static struct tensor_shape read_dims(const char *dims) {
    struct tensor_shape shape = {0};
    char *end;
    for (const char *at = dims; *at; at = *end ? end + 1 : end)
        shape.dims[shape.rank++] = strtoll(at, &end, 10);
    return shape;
}

static void fill(void *data, enum tensor_dtype dtype, size_t elements, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < elements; i++) {
        state = state * 1664525u + 1013904223u;
        if (dtype == TENSOR_F32)
            ((float *)data)[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
        else if (dtype == TENSOR_I64)
            ((int64_t *)data)[i] = state >> 31;
        else if (dtype == TENSOR_I32)
            ((int32_t *)data)[i] = (int32_t)(state >> 31);
        else
            ((unsigned char *)data)[i] = (unsigned char)(state >> 31);
    }
}

static void *take(size_t bytes) {
    void *taken = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!taken)
        abort();
    return taken;
}

int program_case_buffer(struct program_case *test, enum program_place place, enum tensor_dtype dtype,
                        const char *dims) {
    struct tensor_shape shape = read_dims(dims);
    int number = program_add_buffer(&test->program, dtype, &shape);
    struct program_buffer *buffer = &test->program.buffers[number];
    buffer->place = place;
    if (place == PROGRAM_INPUT)
        buffer->index = test->input_count++;
    if (place == PROGRAM_OUTPUT)
        buffer->index = test->output_count++;
    if (place == PROGRAM_CONSTANT) {
        struct graph_constant *constant = &test->constants[test->constant_count++];
        void *bytes = take(buffer->bytes);
        fill(bytes, dtype, buffer->elements, (uint32_t)number);
        *constant =
            (struct graph_constant){.dtype = dtype, .shape = shape, .elements = buffer->elements, .bytes = bytes};
        buffer->constant = constant;
    }
    return number;
}

int program_case_floats(struct program_case *test, enum program_place place, const char *dims) {
    return program_case_buffer(test, place, TENSOR_F32, dims);
}

int program_case_alias(struct program_case *test, int of, const char *dims) {
    int number = program_case_buffer(test, PROGRAM_ALIAS, test->program.buffers[of].dtype, dims);
    test->program.buffers[number].index = of;
    return number;
}

float *program_case_values(struct program_case *test, int buffer) {
    return (float *)(uintptr_t)test->program.buffers[buffer].constant->bytes;
}

void program_case_step(struct program_case *test, const struct operation *operation, const int *inputs, int output) {
    int count = 0;
    while (inputs[count] != -2)
        count++;
    struct program_step *step = program_add_step(&test->program, operation->kind, inputs, count, &output, 1);
    step->operation = *operation;
}

/* What the oracle computes. Fills memory of all roots. */
static void run_reference(const struct program *program, void **memory) {
    for (size_t i = 0; i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        struct view inputs[PROGRAM_CASE_MAX] = {0}, outputs[16] = {0};
        program_step_views(program, step, inputs, outputs);
        for (int j = 0; j < step->input_count; j++)
            if (step->inputs[j] >= 0)
                inputs[j].data = memory[program_root(program, step->inputs[j])];
        for (int j = 0; j < step->output_count; j++)
            outputs[j].data = memory[program_root(program, step->outputs[j])];
        void *scratch = take(ref_scratch_bytes(&step->operation, inputs, outputs));
        ref_find(step->operation.kind)(&step->operation, inputs, outputs, scratch);
        free(scratch);
    }
}

/* A copy of the program, which the builder takes. */
static void copy_program(const struct program *from, struct program *to) {
    for (int i = 0; i < from->buffer_count; i++) {
        int number = program_add_buffer(to, from->buffers[i].dtype, &from->buffers[i].shape);
        to->buffers[number] = from->buffers[i];
    }
    for (size_t i = 0; i < from->step_count; i++) {
        const struct program_step *step = &from->steps[i];
        program_add_step(to, step->operation.kind, step->inputs, step->input_count, step->outputs, step->output_count)
            ->operation = step->operation;
    }
}

static double difference(const float *got, const float *wanted, size_t count) {
    double largest = 0, worst = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(wanted[i]))
            largest = fmax(largest, fabs((double)wanted[i]));
    for (size_t i = 0; i < count; i++) {
        if (isnan(got[i]) && isnan(wanted[i]))
            continue;
        if (isnan(got[i]) || isnan(wanted[i]))
            return INFINITY;
        if (got[i] != wanted[i])
            worst = fmax(worst, fabs((double)got[i] - (double)wanted[i]));
    }
    return worst == 0 ? 0 : worst / fmax(largest, 1e-30);
}

/* Builds and runs it twice, over dirty memory. */
static bool run_built(struct program_case *test, void **inputs, void **outputs) {
    struct backend_cpu_device device = {0};
    struct backend_cpu_constants constants = {.device = &device};
    struct backend_cpu_program *built = NULL;
    struct program copy = {0};
    struct weir_error err = {.text = ""};
    char text[64];
    const struct backend_cpu_build build = {&device, &constants, test->bf16, test->strict};
    copy_program(&test->program, &copy);
    backend_cpu_dnnl_use_threads(1);
    bool good = backend_cpu_dnnl_open(&device, text, sizeof text, &err) == WEIR_OK &&
                backend_cpu_builder_make(&build, &copy, &built, &err) == WEIR_OK;
    unsigned char *arena = take(good ? built->arena_bytes : 0);
    if (good) {
        const struct backend_cpu_memory memory = {arena, inputs, outputs};
        test->built_steps = built->step_count;
        memset(arena, 0xff, built->arena_bytes); /* NaN everywhere */
        good = backend_cpu_program_bind(built, &memory, &err) == WEIR_OK &&
               backend_cpu_program_run(&device, built, &err) == WEIR_OK &&
               backend_cpu_program_run(&device, built, &err) == WEIR_OK;
    }
    if (!good)
        fprintf(stderr, "program_case: %s\n", err.text);
    free(arena);
    backend_cpu_program_destroy(built);
    backend_cpu_constants_release(&constants);
    backend_cpu_dnnl_close(&device);
    return good;
}

double program_case_error(struct program_case *test) {
    const struct program *program = &test->program;
    void *memory[PROGRAM_CASE_MAX] = {NULL}, *inputs[PROGRAM_CASE_MAX] = {NULL}, *outputs[PROGRAM_CASE_MAX] = {NULL};
    double worst = 0;
    for (int i = 0; i < program->buffer_count; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        if (buffer->place == PROGRAM_CONSTANT)
            memory[i] = (void *)(uintptr_t)buffer->constant->bytes;
        else if (buffer->place != PROGRAM_ALIAS)
            memory[i] = take(buffer->bytes);
        if (buffer->place == PROGRAM_INPUT)
            fill(inputs[buffer->index] = memory[i], buffer->dtype, buffer->elements, (uint32_t)i + 1000);
        if (buffer->place == PROGRAM_OUTPUT)
            outputs[buffer->index] = take(buffer->bytes);
    }
    if (run_built(test, inputs, outputs)) {
        run_reference(program, memory);
        for (int i = 0; i < program->buffer_count; i++) {
            const struct program_buffer *buffer = &program->buffers[i];
            if (buffer->place != PROGRAM_OUTPUT)
                continue;
            if (buffer->dtype == TENSOR_F32)
                worst = fmax(worst, difference(outputs[buffer->index], memory[i], buffer->elements));
            else if (memcmp(outputs[buffer->index], memory[i], buffer->bytes) != 0)
                worst = INFINITY;
        }
    } else {
        worst = -1;
    }
    for (int i = 0; i < program->buffer_count; i++)
        if (program->buffers[i].place != PROGRAM_CONSTANT)
            free(memory[i]);
    for (int i = 0; i < test->output_count; i++) {
        free(test->results[i]);
        test->results[i] = outputs[i];
    }
    return worst;
}

void program_case_release(struct program_case *test) {
    for (int i = 0; i < test->constant_count; i++)
        free((void *)(uintptr_t)test->constants[i].bytes);
    for (int i = 0; i < test->output_count; i++)
        free(test->results[i]);
    program_release(&test->program);
    memset(test, 0, sizeof *test);
}
