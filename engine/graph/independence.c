#include "engine/graph/independence.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/independence_rules.h"
#include "engine/graph/shapes.h"

struct follow {
    const struct program *program;
    size_t rows;
    struct independence_place *places; /* by buffer */
    bool *known;                       /* likewise */
    unsigned char *even;               /* likewise: see independence_even */
    struct view *views;                /* of one step */
    struct independence_place *in;     /* likewise */
    unsigned char *in_even;            /* likewise */
    const struct independence_place *program_inputs;
    bool repeats; /* constants that are repeated for every row have rows */
    struct weir_error *err;
};

static const struct independence_place no_rows = {-1, 1, 1};

static size_t inner_product(const struct tensor_shape *shape, int from) {
    size_t product = 1;
    for (int i = from; i < shape->rank; i++)
        product *= (size_t)shape->dims[i];
    return product;
}

/* Where the rows are when the elements get another shape: their digit keeps its distance in memory, and must lie within
 * one dimension. */
static bool reshape(const struct independence_place *from, const struct tensor_shape *before,
                    const struct tensor_shape *after, size_t rows, struct independence_place *to) {
    *to = *from;
    if (from->axis < 0 || shapes_equal(before, after))
        return true;
    size_t distance = from->inner * inner_product(before, from->axis + 1);
    size_t behind = inner_product(after, 0);
    for (int i = 0; i < after->rank && behind > 0; i++) {
        size_t dim = (size_t)after->dims[i];
        behind /= dim;
        size_t inner = behind > 0 ? distance / behind : 0;
        if (dim < rows || inner == 0 || distance % behind != 0 || dim % (inner * rows) != 0)
            continue;
        *to = (struct independence_place){i, dim / (inner * rows), inner};
        return true;
    }
    return false;
}

static bool place_of(const struct follow *follow, int number, struct independence_place *place) {
    const struct program *program = follow->program;
    int root = program_root(program, number);
    const struct program_buffer *buffer = &program->buffers[number], *from = &program->buffers[root];
    *place = no_rows;
    if (follow->known[number]) {
        *place = follow->places[number];
        return true;
    }
    if (from->place == PROGRAM_CONSTANT)
        return true;
    if (from->place == PROGRAM_INPUT)
        return reshape(&follow->program_inputs[from->index], &from->shape, &buffer->shape, follow->rows, place);
    return follow->known[root] && reshape(&follow->places[root], &from->shape, &buffer->shape, follow->rows, place);
}

static void note_place(struct follow *follow, int number, const struct independence_place *place) {
    const struct program_buffer *buffers = follow->program->buffers;
    int root = program_root(follow->program, number);
    follow->places[number] = *place;
    follow->known[number] = true;
    if (root != number)
        follow->known[root] =
            reshape(place, &buffers[number].shape, &buffers[root].shape, follow->rows, &follow->places[root]);
}

static unsigned char even_of(const struct follow *follow, int number) {
    int root = program_root(follow->program, number);
    return independence_even_reshaped(follow->even[root], &follow->program->buffers[root].shape,
                                      &follow->program->buffers[number].shape);
}

static void note_even(struct follow *follow, int number, unsigned char even) {
    int root = program_root(follow->program, number);
    follow->even[root] = independence_even_reshaped(even, &follow->program->buffers[number].shape,
                                                    &follow->program->buffers[root].shape);
}

static enum weir_status mixes(const struct follow *follow, size_t number, const char *why) {
    const struct program_step *step = &follow->program->steps[number];
    return weir_fail(follow->err, WEIR_UNSUPPORTED, "rows of a batch would mix in step %zu (%s, node %d): %s", number,
                     operation_text(step->operation.kind), step->node, why);
}

/* COPY: the same elements, perhaps under another shape. */
static bool follow_copy(const struct follow *follow, const struct program_step *step,
                        struct independence_place *place) {
    const struct program_buffer *buffers = follow->program->buffers;
    return reshape(&follow->in[0], &buffers[step->inputs[0]].shape, &buffers[step->outputs[0]].shape, follow->rows,
                   place);
}

/* A constant that has the rows as a dimension, each the same, is taken for one with rows where no input has any: what
 * is computed of it has them too. */
static bool find_repeated(struct follow *follow, const struct program_step *step) {
    bool found = false;
    for (int i = 0; follow->repeats && step->operation.kind != OPERATION_COPY && i < step->input_count; i++)
        for (int axis = 0; axis < follow->views[i].rank && follow->in[i].axis < 0; axis++) {
            const struct independence_place place = {axis, 1, 1};
            if (!independence_is_repeated(&follow->views[i], axis, &place, follow->rows))
                continue;
            follow->in[i] = place;
            found = true;
        }
    return found;
}

static enum weir_status follow_step(struct follow *follow, size_t number) {
    const struct program_step *step = &follow->program->steps[number];
    struct independence_step rule_step = {.operation = &step->operation,
                                          .inputs = follow->views,
                                          .outputs = follow->views + step->input_count,
                                          .output_buffers = step->outputs,
                                          .in = follow->in,
                                          .even = follow->in_even,
                                          .input_count = step->input_count,
                                          .output_count = step->output_count,
                                          .rows = follow->rows};
    bool any = false;
    if (step->output_count > INDEPENDENCE_MAX_OUTPUTS)
        return mixes(follow, number, "it has more outputs than are followed");
    for (int i = 0; i < step->input_count; i++) {
        follow->in[i] = no_rows;
        if (step->inputs[i] >= 0 && !place_of(follow, step->inputs[i], &follow->in[i]))
            return mixes(follow, number, "a reshaped input has the rows across its dimensions");
        any = any || follow->in[i].axis >= 0;
        follow->in_even[i] = step->inputs[i] < 0 ? 0 : even_of(follow, step->inputs[i]);
    }
    for (int i = 0; i < INDEPENDENCE_MAX_OUTPUTS; i++)
        rule_step.out[i] = no_rows;
    program_step_views(follow->program, step, follow->views, follow->views + step->input_count);
    any = any || find_repeated(follow, step);
    if (any && step->operation.kind == OPERATION_COPY) {
        if (!follow_copy(follow, step, &rule_step.out[0]))
            return mixes(follow, number, "another shape has the rows across its dimensions");
    } else if (any) {
        independence_rule rule = independence_rule_of(step->operation.kind);
        if (!rule || !rule(&rule_step))
            return mixes(follow, number, rule_step.fault ? rule_step.fault : "nothing is known about it");
    }
    if (!any && step->output_count > 0 && step->outputs[0] >= 0)
        note_even(follow, step->outputs[0], independence_even(&rule_step));
    for (int i = 0; i < step->output_count; i++)
        if (step->outputs[i] >= 0)
            note_place(follow, step->outputs[i], &rule_step.out[i]);
    return WEIR_OK;
}

static enum weir_status follow_outputs(const struct follow *follow, struct independence_place *outputs) {
    const struct program *program = follow->program;
    for (int i = 0; i < program->buffer_count; i++) {
        struct independence_place place;
        if (program->buffers[i].place != PROGRAM_OUTPUT)
            continue;
        if (!place_of(follow, i, &place) || place.outer != 1 || place.inner != 1)
            return weir_fail(follow->err, WEIR_UNSUPPORTED,
                             "output %d has no dimension that holds the rows of a batch alone",
                             program->buffers[i].index);
        outputs[program->buffers[i].index] = place;
    }
    return WEIR_OK;
}

static enum weir_status follow_program(struct follow *follow, struct independence_place *outputs) {
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < follow->program->step_count; i++)
        status = follow_step(follow, i);
    return status == WEIR_OK ? follow_outputs(follow, outputs) : status;
}

static bool inputs_hold(const struct follow *follow) {
    const struct program *program = follow->program;
    for (int i = 0; i < program->buffer_count; i++) {
        const struct program_buffer *buffer = &program->buffers[i];
        if (buffer->place != PROGRAM_INPUT)
            continue;
        const struct independence_place *place = &follow->program_inputs[buffer->index];
        if (place->axis >= buffer->shape.rank ||
            (place->axis >= 0 && (size_t)buffer->shape.dims[place->axis] != place->outer * place->inner * follow->rows))
            return false;
    }
    return true;
}

enum weir_status independence_check(const struct program *program, uint32_t rows,
                                    const struct independence_place *inputs, struct independence_place *outputs,
                                    struct weir_error *err) {
    struct follow follow = {.program = program, .rows = rows, .program_inputs = inputs, .err = err};
    size_t widest = 1, wires = 1;
    for (size_t i = 0; i < program->step_count; i++) {
        size_t in = (size_t)program->steps[i].input_count, all = in + (size_t)program->steps[i].output_count;
        widest = in > widest ? in : widest;
        wires = all > wires ? all : wires;
    }
    enum weir_status status = WEIR_OK;
    follow.places = calloc((size_t)program->buffer_count + 1, sizeof *follow.places);
    follow.known = calloc((size_t)program->buffer_count + 1, sizeof *follow.known);
    follow.even = calloc((size_t)program->buffer_count + 1, sizeof *follow.even);
    follow.in_even = calloc(widest, sizeof *follow.in_even);
    follow.views = calloc(wires, sizeof *follow.views);
    follow.in = calloc(widest, sizeof *follow.in);
    if (!follow.places || !follow.known || !follow.views || !follow.in || !follow.even || !follow.in_even)
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory to follow the rows of a batch");
    else if (rows < 2 || !inputs_hold(&follow))
        status = weir_fail(err, WEIR_UNSUPPORTED, "an input has no dimension for %u rows", (unsigned)rows);
    bool ready = status == WEIR_OK;
    if (ready) {
        follow.repeats = true;
        status = follow_program(&follow, outputs);
    }
    if (ready && status != WEIR_OK) { /* a constant may have a dimension of that size by chance: once more without */
        follow.repeats = false;
        memset(follow.known, 0, ((size_t)program->buffer_count + 1) * sizeof *follow.known);
        status = follow_program(&follow, outputs);
    }
    free(follow.places);
    free(follow.known);
    free(follow.even);
    free(follow.in_even);
    free(follow.views);
    free(follow.in);
    return status;
}
