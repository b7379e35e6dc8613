#include "engine/graph/fuse.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/constant.h"
#include "engine/graph/shapes.h"

enum { NOBODY = -1, CONV_INPUTS = 4 };

struct fusing {
    struct program *program;
    int *readers; /* by buffer: steps' inputs, and aliases of it */
    int *writers; /* by buffer: the step, or NOBODY */
    bool *gone;   /* by step */
    int most_buffers;
    bool failed; /* memory ran out */
};

static struct program_buffer *buffer_of(const struct fusing *fusing, int number) {
    return &fusing->program->buffers[number];
}

static bool count_uses(struct fusing *fusing) {
    struct program *program = fusing->program;
    size_t most = (size_t)program->buffer_count + program->step_count + 1;
    if (program->step_count >= INT_MAX / 2 || most >= INT_MAX)
        return false;
    fusing->most_buffers = (int)most;
    fusing->readers = calloc(most, sizeof *fusing->readers);
    fusing->writers = calloc(most, sizeof *fusing->writers);
    fusing->gone = calloc(program->step_count + 1, sizeof *fusing->gone);
    if (!fusing->readers || !fusing->writers || !fusing->gone)
        return false;
    for (size_t i = 0; i < most; i++)
        fusing->writers[i] = NOBODY;
    for (size_t i = 0; i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        for (int j = 0; j < step->input_count; j++)
            if (step->inputs[j] >= 0)
                fusing->readers[step->inputs[j]]++;
        for (int j = 0; j < step->output_count; j++)
            if (step->outputs[j] >= 0)
                fusing->writers[step->outputs[j]] = (int)i;
    }
    for (int i = 0; i < program->buffer_count; i++)
        if (program->buffers[i].place == PROGRAM_ALIAS)
            fusing->readers[program->buffers[i].index]++;
    return true;
}

/* The step that computes a value between two steps, which is its only output; NULL: it is another kind of value. */
static struct program_step *writer_of(const struct fusing *fusing, int buffer) {
    if (buffer < 0 || buffer_of(fusing, buffer)->place != PROGRAM_ARENA || fusing->writers[buffer] == NOBODY)
        return NULL;
    struct program_step *step = &fusing->program->steps[fusing->writers[buffer]];
    return step->output_count == 1 ? step : NULL;
}

/* The same, if it is a MATMUL or CONV without an activation and nothing else reads its result. */
static struct program_step *host_of(const struct fusing *fusing, int buffer) {
    struct program_step *step = writer_of(fusing, buffer);
    if (!step || fusing->readers[buffer] != 1 || step->operation.then.kind != UNARY_NONE)
        return NULL;
    return step->operation.kind == OPERATION_MATMUL || step->operation.kind == OPERATION_CONV ? step : NULL;
}

/* A step takes over the result of step `number`, which goes. */
static void absorb(struct fusing *fusing, struct program_step *host, size_t number) {
    const struct program_step *step = &fusing->program->steps[number];
    fusing->readers[host->outputs[0]] = 0;
    host->outputs[0] = step->outputs[0];
    fusing->writers[host->outputs[0]] = (int)(host - fusing->program->steps);
    fusing->gone[number] = true;
}

/* Gives input `input` of a step another buffer; what then nobody reads is not computed. */
static void rewire(struct fusing *fusing, struct program_step *step, int input, int buffer) {
    int before = step->inputs[input];
    step->inputs[input] = buffer;
    fusing->readers[buffer]++;
    const struct program_step *writer = writer_of(fusing, before);
    if (--fusing->readers[before] > 0 || !writer)
        return;
    fusing->gone[fusing->writers[before]] = true;
    for (int i = 0; i < writer->input_count; i++)
        if (writer->inputs[i] >= 0)
            fusing->readers[writer->inputs[i]]--;
}

static bool gives_floats(enum unary_kind kind) {
    return kind != UNARY_NONE && kind != UNARY_NOT && kind != UNARY_IS_NAN && kind != UNARY_IS_INF;
}

/* The one float of a constant. */
static bool one_float(const struct fusing *fusing, int number, float *value) {
    const struct program_buffer *root = buffer_of(fusing, program_root(fusing->program, number));
    if (root->place != PROGRAM_CONSTANT || root->elements != 1 || root->dtype != TENSOR_F32 || !root->constant->bytes)
        return false;
    *value = constant_element(root->constant, 0);
    return true;
}

/* Multiplies by one number, and adds nothing: *factor, and *input is what it multiplies. */
static bool is_scaling(const struct fusing *fusing, const struct program_step *step, int *input, float *factor) {
    if (step->operation.kind == OPERATION_UNARY && step->operation.unary.kind == UNARY_SCALE) {
        *input = step->inputs[0];
        *factor = step->operation.unary.a;
        return step->operation.unary.b == 0;
    }
    if (step->operation.kind != OPERATION_BINARY || step->input_count < 2)
        return false;
    enum binary_kind kind = step->operation.binary;
    float value;
    for (int i = 0; i < 2; i++) {
        if ((kind != BINARY_MULTIPLY && !(kind == BINARY_DIVIDE && i == 0)) ||
            !one_float(fusing, step->inputs[1 - i], &value))
            continue;
        *input = step->inputs[i];
        *factor = kind == BINARY_DIVIDE ? 1 / value : value;
        return shapes_equal(&buffer_of(fusing, *input)->shape, &buffer_of(fusing, step->outputs[0])->shape);
    }
    return false;
}

/* MATMUL, then a factor: into alpha. */
static bool fuse_factor(struct fusing *fusing, size_t number) {
    const struct program_step *step = &fusing->program->steps[number];
    int input;
    float factor;
    if (!is_scaling(fusing, step, &input, &factor))
        return false;
    struct program_step *host = host_of(fusing, input);
    if (!host || host->operation.kind != OPERATION_MATMUL)
        return false;
    host->operation.matmul.alpha *= factor;
    host->operation.matmul.beta *= factor;
    absorb(fusing, host, number);
    return true;
}

/* MATMUL or CONV, then a function: into `then`. SCALE, then SCALE: one of them. */
static bool fuse_function(struct fusing *fusing, size_t number) {
    struct program_step *step = &fusing->program->steps[number];
    const struct unary *unary = &step->operation.unary;
    int x = step->inputs[0];
    if (!gives_floats(unary->kind) || buffer_of(fusing, x)->dtype != TENSOR_F32)
        return false;
    struct program_step *host = host_of(fusing, x);
    if (host) {
        host->operation.then = *unary;
        absorb(fusing, host, number);
        return true;
    }
    struct program_step *before = writer_of(fusing, x);
    if (!before || fusing->readers[x] != 1 || unary->kind != UNARY_SCALE || before->operation.kind != OPERATION_UNARY ||
        before->operation.unary.kind != UNARY_SCALE)
        return false;
    struct unary *inner = &before->operation.unary;
    *inner = (struct unary){UNARY_SCALE, unary->a * inner->a, unary->a * inner->b + unary->b};
    absorb(fusing, before, number);
    return true;
}

/* A step's inputs, made as many as count, -1 where there were none. */
static bool widen_inputs(struct fusing *fusing, struct program_step *step, int count) {
    if (step->input_count >= count)
        return true;
    int *inputs = region_take(&fusing->program->region, (size_t)count, sizeof *inputs);
    if (!inputs) {
        fusing->failed = true;
        return false;
    }
    for (int i = 0; i < count; i++)
        inputs[i] = i < step->input_count ? step->inputs[i] : -1;
    step->inputs = inputs;
    step->input_count = count;
    return true;
}

/* Does the constant have one number for each index of the shape's dimension axis, and nothing else? */
static bool is_vector_along(const struct tensor_shape *constant, const struct tensor_shape *shape, int axis) {
    int shift = shape->rank - constant->rank;
    if (shift < 0 || axis < shift)
        return false;
    for (int i = 0; i < constant->rank; i++)
        if (constant->dims[i] != (i + shift == axis ? shape->dims[axis] : 1))
            return false;
    return true;
}

static bool fuse_matmul_bias(struct fusing *fusing, struct program_step *host, int bias, size_t number) {
    const struct tensor_shape *y = &buffer_of(fusing, host->outputs[0])->shape;
    if ((host->input_count > 2 && host->inputs[2] >= 0) || buffer_of(fusing, host->inputs[1])->shape.rank < 2 ||
        !is_vector_along(&buffer_of(fusing, bias)->shape, y, y->rank - 1) || !widen_inputs(fusing, host, 3))
        return false;
    host->inputs[2] = bias;
    host->operation.matmul.beta = 1;
    absorb(fusing, host, number);
    return true;
}

/* b of CONV is [m]: the same constant under that shape. */
static bool fuse_conv_bias(struct fusing *fusing, struct program_step *host, int bias, size_t number) {
    struct program *program = fusing->program;
    const struct tensor_shape *y = &buffer_of(fusing, host->outputs[0])->shape;
    const struct program_buffer *constant = buffer_of(fusing, program_root(program, bias));
    struct tensor_shape shape = {.rank = 1, .dims = {y->dims[1]}};
    if ((host->input_count > 2 && host->inputs[2] >= 0) || (host->input_count > 3 && host->inputs[3] >= 0) ||
        !is_vector_along(&buffer_of(fusing, bias)->shape, y, 1) || program->buffer_count == fusing->most_buffers ||
        !widen_inputs(fusing, host, 3))
        return false;
    const struct graph_constant *elements = constant->constant;
    int added = program_add_buffer(program, TENSOR_F32, &shape);
    if (added < 0) {
        fusing->failed = true;
        return false;
    }
    program->buffers[added].place = PROGRAM_CONSTANT;
    program->buffers[added].constant = elements;
    host->inputs[2] = added;
    fusing->readers[added] = 1;
    absorb(fusing, host, number);
    return true;
}

/* Is the value there when step `number` begins? */
static bool is_there(const struct fusing *fusing, int buffer, size_t number) {
    int root = program_root(fusing->program, buffer);
    if (buffer_of(fusing, root)->place == PROGRAM_INPUT)
        return true;
    int writer = fusing->writers[buffer] != NOBODY ? fusing->writers[buffer] : fusing->writers[root];
    return writer != NOBODY && (size_t)writer < number;
}

/* CONV's result plus another value of its shape. */
static bool fuse_residual(struct fusing *fusing, struct program_step *host, int other, size_t number) {
    const struct program_buffer *y = buffer_of(fusing, host->outputs[0]), *sum = buffer_of(fusing, other);
    size_t at = (size_t)(host - fusing->program->steps);
    if (!shapes_equal(&y->shape, &sum->shape) || (host->input_count > 3 && host->inputs[3] >= 0) ||
        other == host->outputs[0] || !widen_inputs(fusing, host, CONV_INPUTS))
        return false;
    if (is_there(fusing, other, at)) {
        host->inputs[3] = other;
        absorb(fusing, host, number);
        return true;
    }
    if (!is_there(fusing, other, number))
        return false;
    struct program_step *step = &fusing->program->steps[number]; /* the convolution waits for it */
    int result = step->outputs[0];
    fusing->readers[host->outputs[0]] = 0;
    *step = *host;
    step->inputs[3] = other;
    step->outputs[0] = result;
    fusing->gone[at] = true;
    return true;
}

static bool is_constant(const struct fusing *fusing, int buffer) {
    return buffer_of(fusing, program_root(fusing->program, buffer))->place == PROGRAM_CONSTANT;
}

static bool fuse_addition(struct fusing *fusing, size_t number) {
    const struct program_step *step = &fusing->program->steps[number];
    const struct program_buffer *sum = buffer_of(fusing, step->outputs[0]);
    if (sum->dtype != TENSOR_F32 || step->input_count < 2 || step->inputs[0] == step->inputs[1])
        return false;
    int first = fusing->writers[step->inputs[0]], second = fusing->writers[step->inputs[1]];
    int later = first >= second ? 0 : 1; /* of two convolutions the later one takes the other's result */
    for (int i = 0; i < 2; i++) {
        int x = step->inputs[i == 0 ? later : 1 - later], other = step->inputs[i == 0 ? 1 - later : later];
        struct program_step *host = host_of(fusing, x);
        if (!host || !shapes_equal(&buffer_of(fusing, x)->shape, &sum->shape))
            continue;
        bool conv = host->operation.kind == OPERATION_CONV, constant = is_constant(fusing, other);
        if (conv && constant ? fuse_conv_bias(fusing, host, other, number)
            : conv           ? fuse_residual(fusing, host, other, number)
                             : constant && fuse_matmul_bias(fusing, host, other, number))
            return true;
    }
    return false;
}

static bool swaps_last_two(const struct program_step *step, int rank) {
    if (step->operation.kind != OPERATION_TRANSPOSE || rank < 2)
        return false;
    for (int i = 0; i < rank; i++)
        if (step->operation.transpose.order[i] != (i < rank - 2 ? i : 2 * rank - 3 - i))
            return false;
    return true;
}

/* MATMUL's operands: a transposition of the last two dimensions becomes its flag, a factor goes into alpha. */
static void fuse_operands(struct fusing *fusing, size_t number) {
    struct program_step *step = &fusing->program->steps[number];
    struct matmul *matmul = &step->operation.matmul;
    for (int i = 0; i < 2; i++) {
        int input, buffer = step->inputs[i];
        float factor;
        struct program_step *before = writer_of(fusing, buffer);
        while (before && before != step) {
            if (swaps_last_two(before, buffer_of(fusing, buffer)->shape.rank)) {
                bool *flag = i == 0 ? &matmul->transpose_a : &matmul->transpose_b;
                *flag = !*flag;
                rewire(fusing, step, i, before->inputs[0]);
            } else if (fusing->readers[buffer] == 1 && is_scaling(fusing, before, &input, &factor)) {
                matmul->alpha *= factor;
                rewire(fusing, step, i, input);
            } else {
                break;
            }
            buffer = step->inputs[i];
            before = writer_of(fusing, buffer);
        }
    }
}

static void fuse_step(struct fusing *fusing, size_t number) {
    const struct operation *operation = &fusing->program->steps[number].operation;
    if (operation->kind == OPERATION_MATMUL) {
        fuse_operands(fusing, number);
        return;
    }
    if (fuse_factor(fusing, number))
        return;
    if (operation->kind == OPERATION_UNARY)
        (void)fuse_function(fusing, number);
    else if (operation->kind == OPERATION_BINARY && operation->binary == BINARY_ADD)
        (void)fuse_addition(fusing, number);
}

/* Drops the steps that are gone, and the buffers that nothing names any more. */
static void sweep(struct fusing *fusing) {
    struct program *program = fusing->program;
    size_t kept = 0;
    for (int i = 0; i < program->buffer_count; i++)
        fusing->readers[i] = 0;
    for (size_t i = 0; i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        if (fusing->gone[i])
            continue;
        for (int j = 0; j < step->input_count; j++)
            for (int at = step->inputs[j]; at >= 0 && fusing->readers[at]++ == 0;)
                at = program->buffers[at].place == PROGRAM_ALIAS ? program->buffers[at].index : -1;
        for (int j = 0; j < step->output_count; j++)
            for (int at = step->outputs[j]; at >= 0 && fusing->readers[at]++ == 0;)
                at = program->buffers[at].place == PROGRAM_ALIAS ? program->buffers[at].index : -1;
        program->steps[kept++] = *step;
    }
    program->step_count = kept;
    for (int i = 0; i < program->buffer_count; i++) {
        enum program_place place = program->buffers[i].place;
        if (fusing->readers[i] == 0 && place != PROGRAM_INPUT && place != PROGRAM_OUTPUT)
            program->buffers[i].place = PROGRAM_UNUSED;
    }
}

bool fuse_program(struct program *program) {
    struct fusing fusing = {.program = program};
    bool counted = count_uses(&fusing);
    for (size_t i = 0; counted && i < program->step_count; i++)
        if (!fusing.gone[i])
            fuse_step(&fusing, i);
    if (counted)
        sweep(&fusing);
    free(fusing.readers);
    free(fusing.writers);
    free(fusing.gone);
    return counted && !fusing.failed;
}
