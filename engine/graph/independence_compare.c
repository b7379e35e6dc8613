/* Two programs of one graph, made for different numbers of rows: do they compute with the same numbers? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph/independence.h"

struct comparison {
    const struct program *a, *b;
    size_t size_a, size_b; /* of a dimension that holds the rows: their numbers are to one another as these are */
    bool *batched;         /* by buffer of a: it is computed from what has rows */
    struct weir_error *err;
};

static enum weir_status differs(const struct comparison *comparison, size_t number, const char *what) {
    const struct program_step *step = &comparison->a->steps[number];
    return weir_fail(comparison->err, WEIR_UNSUPPORTED,
                     "step %zu (%s, node %d) computes with the number of rows in the batch: %s", number,
                     operation_text(step->operation.kind), step->node, what);
}

/* The one dimension in which the shapes differ, as the numbers of rows do; -1: none, -2: they differ otherwise. */
static int rows_dimension(const struct comparison *comparison, const struct view *a, const struct view *b) {
    int axis = -1;
    if (a->rank != b->rank || a->element != b->element)
        return -2;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] == b->dims[i])
            continue;
        if (axis >= 0 || a->dims[i] * comparison->size_b != b->dims[i] * comparison->size_a)
            return -2;
        axis = i;
    }
    return axis;
}

/* Is every element like the first one along the dimension, and that the same in both? */
static bool is_repeated(const struct view *a, const struct view *b, int axis) {
    size_t block = view_product(a, axis + 1, a->rank) * view_element_bytes(a->element);
    size_t groups = view_product(a, 0, axis);
    const unsigned char *at_a = a->data, *at_b = b->data, *first = a->data;
    for (size_t i = 0; i < groups && block > 0; i++, first = at_a) {
        for (size_t k = 0; k < a->dims[axis]; k++, at_a += block)
            if (memcmp(first, at_a, block) != 0)
                return false;
        for (size_t k = 0; k < b->dims[axis]; k++, at_b += block)
            if (memcmp(first, at_b, block) != 0)
                return false;
    }
    return true;
}

/* Constants are equal, or the same for every row. */
static bool same_constant(const struct comparison *comparison, const struct view *a, const struct view *b) {
    int axis = rows_dimension(comparison, a, b);
    if (axis >= 0)
        return is_repeated(a, b, axis);
    return axis == -1 && (a->data == b->data || view_count(a) == 0 ||
                          memcmp(a->data, b->data, view_count(a) * view_element_bytes(a->element)) == 0);
}

static bool same_number(float a, float b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Numbers within an operation that a file may compute from shapes. Dimensions that differ are those of the rows. */
static bool same_numbers(const struct operation *a, const struct operation *b, const struct view *x_a,
                         const struct view *x_b) {
    if (a->kind == OPERATION_UNARY)
        return a->unary.kind == b->unary.kind && same_number(a->unary.a, b->unary.a) &&
               same_number(a->unary.b, b->unary.b);
    if (a->kind == OPERATION_MATMUL)
        return same_number(a->matmul.alpha, b->matmul.alpha) && same_number(a->matmul.beta, b->matmul.beta);
    if (a->kind == OPERATION_TRILU)
        return a->trilu.k == b->trilu.k;
    if (a->kind == OPERATION_REDUCE)
        return a->reduce.axes == b->reduce.axes;
    if (a->kind == OPERATION_CUMSUM)
        return a->cumsum.axis == b->cumsum.axis;
    for (int i = 0; i < x_a->rank && x_a->rank == x_b->rank; i++) {
        if (x_a->dims[i] != x_b->dims[i])
            continue;
        if (a->kind == OPERATION_SLICE &&
            (a->slice.start[i] != b->slice.start[i] || a->slice.step[i] != b->slice.step[i]))
            return false;
        if (a->kind == OPERATION_PAD && a->pad.before[i] != b->pad.before[i])
            return false;
    }
    return true;
}

/* What an input holds is the same in both, or its rows are. *batched is set where it has rows, *repeated where it is a
 * constant repeated for them. */
static enum weir_status compare_input(const struct comparison *comparison, size_t number, int input, bool *batched,
                                      bool *repeated) {
    int in_a = comparison->a->steps[number].inputs[input], in_b = comparison->b->steps[number].inputs[input];
    if (in_a < 0 || in_b < 0)
        return in_a == in_b ? WEIR_OK : differs(comparison, number, "an input that the other has not");
    struct view a = program_view(comparison->a, in_a), b = program_view(comparison->b, in_b);
    bool has_rows = comparison->batched[program_root(comparison->a, in_a)];
    *batched = *batched || has_rows;
    if (a.data || b.data) {
        if (!a.data || !b.data || !same_constant(comparison, &a, &b))
            return differs(comparison, number, "a constant input");
        *repeated = *repeated || rows_dimension(comparison, &a, &b) >= 0;
        return WEIR_OK;
    }
    return rows_dimension(comparison, &a, &b) >= (has_rows ? 0 : -1)
               ? WEIR_OK
               : differs(comparison, number, "the size of an input");
}

static enum weir_status compare_step(const struct comparison *comparison, size_t number) {
    const struct program_step *a = &comparison->a->steps[number], *b = &comparison->b->steps[number];
    bool batched = false, repeated = false;
    if (a->operation.kind != b->operation.kind || a->input_count != b->input_count ||
        a->output_count != b->output_count || a->input_count < 1)
        return differs(comparison, number, "another step stands in its place");
    struct view x_a = program_view(comparison->a, a->inputs[0]), x_b = program_view(comparison->b, b->inputs[0]);
    if (!same_numbers(&a->operation, &b->operation, &x_a, &x_b))
        return differs(comparison, number, "a number of its own");
    for (int i = 0; i < a->input_count; i++)
        if (compare_input(comparison, number, i, &batched, &repeated) != WEIR_OK)
            return comparison->err->status;
    for (int i = 0; i < a->output_count; i++) {
        if (a->outputs[i] < 0 || b->outputs[i] < 0)
            continue;
        struct view y_a = program_view(comparison->a, a->outputs[i]);
        struct view y_b = program_view(comparison->b, b->outputs[i]);
        int axis = rows_dimension(comparison, &y_a, &y_b);
        if (axis == -2 || (!batched && (axis >= 0) != repeated))
            return differs(comparison, number, "the size of its output");
        comparison->batched[program_root(comparison->a, a->outputs[i])] = batched || repeated;
    }
    return WEIR_OK;
}

/* Inputs whose shapes differ are those with rows. */
static void note_inputs(struct comparison *comparison) {
    for (int i = 0; i < comparison->a->buffer_count && i < comparison->b->buffer_count; i++) {
        struct view a = program_view(comparison->a, i), b = program_view(comparison->b, i);
        for (int d = 0; comparison->a->buffers[i].place == PROGRAM_INPUT && d < a.rank; d++) {
            if (a.dims[d] == b.dims[d])
                continue;
            comparison->batched[i] = true;
            comparison->size_a = a.dims[d];
            comparison->size_b = b.dims[d];
        }
    }
}

enum weir_status independence_compare(const struct program *a, const struct program *b, struct weir_error *err) {
    struct comparison comparison = {a, b, 1, 1, calloc((size_t)a->buffer_count + 1, sizeof(bool)), err};
    enum weir_status status = WEIR_OK;
    if (!comparison.batched)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory to compare programs");
    if (a->step_count != b->step_count)
        status = weir_fail(err, WEIR_UNSUPPORTED, "its steps depend on the number of rows in the batch");
    note_inputs(&comparison);
    for (size_t i = 0; i < a->step_count && status == WEIR_OK; i++)
        status = compare_step(&comparison, i);
    free(comparison.batched);
    return status;
}
