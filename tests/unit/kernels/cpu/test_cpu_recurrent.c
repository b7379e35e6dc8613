#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_recurrent.h"
#include "kernels/ref/ref_recurrent.h"

enum { INPUTS = 8, OUTPUTS = 3 };

static unsigned state = 3;

static unsigned next(unsigned below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static const struct unary sigmoid = {UNARY_SIGMOID, 0, 0}, hyperbolic = {UNARY_TANH, 0, 0};

static struct operation usual(enum recurrent_kind kind, int directions) {
    struct operation operation = {.kind = OPERATION_RECURRENT, .recurrent = {.kind = kind, .directions = directions}};
    for (int d = 0; d < directions; d++) {
        struct unary *functions = operation.recurrent.functions[d];
        functions[0] = kind == RECURRENT_RNN ? hyperbolic : sigmoid;
        functions[1] = functions[2] = hyperbolic;
    }
    return operation;
}

static struct view make(int rank, size_t a, size_t b, size_t c, size_t d) {
    struct view view = {NULL, ELEMENT_F32, rank, {a, b, c, d}};
    size_t count = view_count(&view);
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)next(2001) / 1000.0f - 1.0f;
    view.data = values;
    return view;
}

struct sizes {
    size_t steps, batch, in, hidden;
};

static void make_inputs(const struct operation *operation, const struct sizes *sizes, struct view *in,
                        struct view *out) {
    const struct recurrent *recurrent = &operation->recurrent;
    size_t directions = (size_t)recurrent->directions, hidden = sizes->hidden;
    size_t gates = hidden * (recurrent->kind == RECURRENT_LSTM ? 4 : recurrent->kind == RECURRENT_GRU ? 3 : 1);
    bool first = recurrent->batch_first;
    size_t outer = first ? sizes->batch : directions, middle = first ? directions : sizes->batch;
    in[0] = make(3, first ? sizes->batch : sizes->steps, first ? sizes->steps : sizes->batch, sizes->in, 0);
    in[1] = make(3, directions, gates, sizes->in, 0);
    in[2] = make(3, directions, gates, hidden, 0);
    in[3] = make(2, directions, 2 * gates, 0, 0);
    in[4] = make(1, sizes->batch, 0, 0, 0);
    in[4].element = ELEMENT_I32;
    for (size_t i = 0; i < sizes->batch; i++)
        ((int32_t *)in[4].data)[i] = (int32_t)next((unsigned)sizes->steps + 2);
    in[5] = make(3, outer, middle, hidden, 0);
    in[6] = make(3, outer, middle, hidden, 0);
    in[7] = make(2, directions, 3 * hidden, 0, 0);
    out[0] = first ? make(4, sizes->batch, sizes->steps, directions, hidden)
                   : make(4, sizes->steps, directions, sizes->batch, hidden);
    out[1] = make(3, outer, middle, hidden, 0);
    out[2] = make(3, outer, middle, hidden, 0);
}

static void run(const struct operation *operation, const struct view *in, const struct view *out, bool fast) {
    size_t bytes =
        fast ? cpu_recurrent_scratch_bytes(operation, in, out) : ref_recurrent_scratch_bytes(operation, in, out);
    void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(scratch, 0xff, bytes);
    if (fast) {
        operation_function kernel = cpu_recurrent_find(operation, in, out);
        cr_assert(kernel);
        kernel(operation, in, out, scratch);
    } else {
        ref_recurrent(operation, in, out, scratch);
    }
    free(scratch);
}

static void compare(const struct view *is, const struct view *expected) {
    const float *a = is->data, *b = expected->data;
    for (size_t i = 0; a && i < view_count(is); i++)
        cr_assert_float_eq(a[i], b[i], 2e-5f, "%zu: %.9g, not %.9g", i, (double)a[i], (double)b[i]);
}

static void check_round(int round) {
    struct sizes sizes = {1 + next(6), 1 + next(round % 5 ? 4 : 20), 1 + next(40), 1 + next(50)};
    struct operation operation = usual((enum recurrent_kind)(round % 3), 1 + (round >> 2 & 1));
    struct recurrent *recurrent = &operation.recurrent;
    struct view in[INPUTS], out[OUTPUTS], expected[OUTPUTS], given[INPUTS];
    recurrent->batch_first = round & 8;
    recurrent->reverse_first = round & 16;
    recurrent->linear_before_reset = round & 32;
    recurrent->input_forget = next(4) == 0;
    make_inputs(&operation, &sizes, in, out);
    make_inputs(&operation, &sizes, given, expected);
    for (int i = 0; i < INPUTS; i++)
        free(given[i].data);
    memcpy(given, in, sizeof given);
    for (int i = 3; i < INPUTS; i++)
        if (next(2))
            given[i] = (struct view){0};
    if (recurrent->kind != RECURRENT_LSTM)
        given[6] = given[7] = (struct view){0};
    void *dropped = NULL;
    if (next(3) == 0) {
        dropped = out[0].data;
        out[0].data = NULL;
    }
    run(&operation, given, expected, false);
    run(&operation, given, out, true);
    for (int i = 0; i < (recurrent->kind == RECURRENT_LSTM ? 3 : 2); i++)
        compare(&out[i], &expected[i]);
    free(dropped);
    for (int i = 0; i < OUTPUTS; i++) {
        free(out[i].data);
        free(expected[i].data);
    }
    for (int i = 0; i < INPUTS; i++)
        free(in[i].data);
}

Test(cpu_recurrent, every_form_agrees_with_the_oracle) {
    for (int round = 0; round < 300; round++)
        check_round(round);
}

Test(cpu_recurrent, a_row_has_the_same_bits_alone_and_among_others) {
    struct operation operation = usual(RECURRENT_LSTM, 1);
    struct sizes many = {5, 13, 20, 24}, one = {5, 1, 20, 24};
    struct view in[INPUTS], out[OUTPUTS], alone[INPUTS], alone_out[OUTPUTS];
    operation.recurrent.batch_first = true;
    make_inputs(&operation, &many, in, out);
    make_inputs(&operation, &one, alone, alone_out);
    for (int i = 0; i < INPUTS; i++)
        free(alone[i].data);
    in[4].data = (free(in[4].data), NULL);
    run(&operation, in, out, true);
    for (size_t row = 0; row < many.batch; row++) {
        memcpy(alone, in, sizeof alone);
        alone[0].dims[0] = alone[5].dims[0] = alone[6].dims[0] = 1;
        alone[0].data = (float *)in[0].data + row * 5 * 20;
        alone[5].data = (float *)in[5].data + row * 24;
        alone[6].data = (float *)in[6].data + row * 24;
        run(&operation, alone, alone_out, true);
        cr_assert_arr_eq((float *)out[0].data + row * 5 * 24, alone_out[0].data, 5 * 24 * sizeof(float));
    }
    for (int i = 0; i < INPUTS; i++)
        free(in[i].data);
    for (int i = 0; i < OUTPUTS; i++) {
        free(out[i].data);
        free(alone_out[i].data);
    }
}

Test(cpu_recurrent, other_activations_and_clips_are_left_to_the_oracle) {
    struct operation operation = usual(RECURRENT_GRU, 2);
    struct view in[INPUTS] = {{0}}, out[OUTPUTS] = {{0}};
    cr_assert(cpu_recurrent_find(&operation, in, out));
    operation.recurrent.functions[1][1].kind = UNARY_RELU;
    cr_assert_null(cpu_recurrent_find(&operation, in, out));
    operation = usual(RECURRENT_LSTM, 1);
    operation.recurrent.clip = 3;
    cr_assert_null(cpu_recurrent_find(&operation, in, out));
}
