#include "engine/graph/fuse.h"

#include <stdlib.h>
#include <string.h>

/* For each buffer: how many steps read it, and the last one that does. */
struct use {
    int readers;
    size_t last;
};

static struct use *count_uses(const struct program *program) {
    struct use *uses = calloc((size_t)program->buffer_count + 1, sizeof *uses);
    for (size_t i = 0; uses && i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        uses[step->x].readers++;
        uses[step->x].last = i;
        if (step->x2 >= 0) {
            uses[step->x2].readers++;
            uses[step->x2].last = i;
        }
    }
    return uses;
}

/* An addition or multiplication with one constant per column, or one for all, taken into weights and bias. */
static bool absorb_constant(struct program *program, struct program_step *dense,
                            const struct program_combine *combine) {
    struct program_dense *to = &dense->dense;
    bool multiplies = combine->op == COMBINATION_MULTIPLY || combine->op == COMBINATION_DIVIDE;
    if (!multiplies && !to->bias && !(to->bias = region_take(&program->region, to->out, sizeof *to->bias)))
        return false;
    for (size_t col = 0; col < to->out; col++) {
        float c = combine->values[combine->period == 1 ? 0 : col];
        float *bias = to->bias ? &to->bias[col] : NULL;
        switch (combine->op) {
        case COMBINATION_ADD:
            *bias += c;
            break;
        case COMBINATION_SUBTRACT:
            *bias = combine->on_left ? c - *bias : *bias - c;
            break;
        case COMBINATION_MULTIPLY:
            if (bias)
                *bias *= c;
            break;
        case COMBINATION_DIVIDE:
            if (bias)
                *bias /= c;
            break;
        }
    }
    bool negates = combine->op == COMBINATION_SUBTRACT && combine->on_left;
    for (size_t row = 0; (multiplies || negates) && row < to->in; row++)
        for (size_t col = 0; col < to->out; col++) {
            float c = multiplies ? combine->values[combine->period == 1 ? 0 : col] : -1.0f;
            float *weight = &to->weights[row * to->out + col];
            *weight = combine->op == COMBINATION_DIVIDE ? *weight / c : *weight * c;
        }
    return true;
}

static bool can_absorb(const struct program_step *dense, const struct program_step *next) {
    if (dense->activation.kind != ACTIVATION_NONE)
        return false;
    if (next->kind == PROGRAM_ACTIVATE)
        return true;
    return next->kind == PROGRAM_COMBINE_CONSTANT &&
           (next->combine.period == 1 || next->combine.period == dense->dense.out) &&
           !(next->combine.op == COMBINATION_DIVIDE && next->combine.on_left);
}

bool fuse_dense(struct program *program) {
    struct use *uses = count_uses(program);
    size_t kept = 0;
    size_t *writer = calloc((size_t)program->buffer_count + 1, sizeof *writer); /* step number + 1 among those kept */
    bool fused = uses && writer;
    for (size_t i = 0; fused && i < program->step_count; i++) {
        struct program_step step = program->steps[i];
        struct program_step *before = writer[step.x] ? &program->steps[writer[step.x] - 1] : NULL;
        if (before && before->kind == PROGRAM_DENSE && program->buffers[step.x].place == PROGRAM_ARENA &&
            uses[step.x].readers == 1 && can_absorb(before, &step)) {
            if (step.kind == PROGRAM_ACTIVATE)
                before->activation = step.activation;
            else
                fused = absorb_constant(program, before, &step.combine);
            program->buffers[step.x].place = PROGRAM_UNUSED;
            before->y = step.y;
            writer[step.y] = writer[step.x];
            continue;
        }
        program->steps[kept] = step;
        writer[step.y] = ++kept;
    }
    if (fused)
        program->step_count = kept;
    free(uses);
    free(writer);
    return fused;
}

static void rename_buffer(struct program *program, size_t steps, int from, int to) {
    for (size_t i = 0; i < steps; i++) {
        struct program_step *step = &program->steps[i];
        step->x = step->x == from ? to : step->x;
        step->x2 = step->x2 == from ? to : step->x2;
        step->y = step->y == from ? to : step->y;
    }
}

void fuse_in_place(struct program *program) {
    struct use *uses = count_uses(program);
    for (size_t i = 0; uses && i < program->step_count; i++) {
        struct program_step *step = &program->steps[i];
        int x = step->x;
        bool computes_in_place = step->kind != PROGRAM_DENSE && step->kind != PROGRAM_COPY;
        if (!computes_in_place || program->buffers[x].place != PROGRAM_ARENA || uses[x].last != i)
            continue;
        program->buffers[x].place = PROGRAM_UNUSED;
        rename_buffer(program, i + 1, x, step->y);
    }
    free(uses);
}
