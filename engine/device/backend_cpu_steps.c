#include "engine/device/backend_cpu_steps.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_elementwise.h"
#include "kernels/cpu/cpu_softmax.h"

static float *address(const struct backend_cpu_body *body, int buffer, size_t rows) {
    const struct program_buffer *where = &body->program.buffers[buffer];
    switch (where->place) {
    case PROGRAM_INPUT:
        return body->inputs[where->index];
    case PROGRAM_OUTPUT:
        return body->outputs[where->index];
    default:
        return body->arena + where->row_offset_bytes / sizeof(float) * rows;
    }
}

enum weir_status backend_cpu_steps_create(struct backend_cpu_body *body, size_t rows, struct backend_cpu_steps **out,
                                          struct weir_error *err) {
    const struct program *program = &body->program;
    struct backend_cpu_steps *made = calloc(1, sizeof *made);
    if (made)
        made->steps = calloc(program->step_count + 1, sizeof *made->steps);
    if (!made || !made->steps) {
        free(made);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the steps of %zu rows", rows);
    }
    for (; made->count < program->step_count; made->count++) {
        const struct program_step *step = &program->steps[made->count];
        struct backend_cpu_step *to = &made->steps[made->count];
        to->step = step;
        to->x = address(body, step->x, rows);
        to->x2 = step->x2 >= 0 ? address(body, step->x2, rows) : NULL;
        to->y = address(body, step->y, rows);
        to->rows = rows;
        to->count = program->buffers[step->y].row_elements * rows;
        const struct backend_cpu_dense_place place = {to->x, to->y, rows};
        if (step->kind == PROGRAM_DENSE &&
            backend_cpu_dense_prepare(&body->device, &body->dense[made->count], &place, &to->dense, err) != WEIR_OK) {
            made->count++; /* what this one made is released too */
            backend_cpu_steps_destroy(made);
            return err->status;
        }
    }
    *out = made;
    return WEIR_OK;
}

void backend_cpu_steps_destroy(struct backend_cpu_steps *steps) {
    if (!steps)
        return;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->steps[i].step->kind == PROGRAM_DENSE)
            backend_cpu_dense_run_release(&steps->steps[i].dense);
    free(steps->steps);
    free(steps);
}

static void copy(const struct backend_cpu_step *step) {
    const struct program_copy *shape = &step->step->copy;
    for (size_t i = 0; i < step->rows * shape->outer; i++)
        memcpy(step->y + i * shape->stride + shape->offset, step->x + i * shape->chunk, shape->chunk * sizeof(float));
}

static void normalize(const struct backend_cpu_step *step) {
    const struct program_softmax *softmax = &step->step->softmax;
    const struct softmax_shape shape = {softmax->outer * step->rows, softmax->length, softmax->inner, softmax->log};
    cpu_softmax_run(&shape, step->x, step->y);
}

static void combine_constant(const struct backend_cpu_step *step) {
    const struct program_combine *combine = &step->step->combine;
    const struct constant_operand constant = {combine->op, combine->on_left, combine->values, combine->period};
    cpu_elementwise_combine_constant(&constant, step->x, step->y, step->count);
}

enum weir_status backend_cpu_steps_run(const struct backend_cpu_body *body, const struct backend_cpu_steps *steps,
                                       struct weir_error *err) {
    for (size_t i = 0; i < steps->count; i++) {
        const struct backend_cpu_step *step = &steps->steps[i];
        switch (step->step->kind) {
        case PROGRAM_DENSE:
            if (backend_cpu_dense_execute(&body->device, &body->dense[i], &step->dense, err) != WEIR_OK)
                return err->status;
            break;
        case PROGRAM_ACTIVATE:
            cpu_elementwise_activate(&step->step->activation, step->x, step->y, step->count);
            break;
        case PROGRAM_COMBINE:
            cpu_elementwise_combine(step->step->combine.op, step->x, step->x2, step->y, step->count);
            break;
        case PROGRAM_COMBINE_CONSTANT:
            combine_constant(step);
            break;
        case PROGRAM_SOFTMAX:
            normalize(step);
            break;
        case PROGRAM_COPY:
            copy(step);
            break;
        default:
            return weir_fail(err, WEIR_INTERNAL, "step %zu has no kernel", i);
        }
    }
    return WEIR_OK;
}
