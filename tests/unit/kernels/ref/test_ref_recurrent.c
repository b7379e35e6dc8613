#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref_recurrent.h"

static const struct unary sigmoid = {UNARY_SIGMOID, 0, 0}, hyperbolic = {UNARY_TANH, 0, 0}, same = {UNARY_SCALE, 1, 0};

/* One unit: x [steps, 1, 1]. */
struct bench {
    float x[4], w[8], r[8], b[16], h0[2], c0[2], p[3], y[8], h[2], c[2], scratch[16];
    int32_t lengths[1];
    struct operation operation;
    struct view in[8], out[3];
};

static void set_up(struct bench *bench, enum recurrent_kind kind, size_t steps, size_t gates) {
    memset(bench, 0, sizeof *bench);
    bench->operation.kind = OPERATION_RECURRENT;
    bench->operation.recurrent = (struct recurrent){.kind = kind, .directions = 1};
    bench->in[0] = (struct view){bench->x, ELEMENT_F32, 3, {steps, 1, 1}};
    bench->in[1] = (struct view){bench->w, ELEMENT_F32, 3, {1, gates, 1}};
    bench->in[2] = (struct view){bench->r, ELEMENT_F32, 3, {1, gates, 1}};
    bench->out[0] = (struct view){bench->y, ELEMENT_F32, 4, {steps, 1, 1, 1}};
    bench->out[1] = (struct view){bench->h, ELEMENT_F32, 3, {1, 1, 1}};
    bench->out[2] = (struct view){bench->c, ELEMENT_F32, 3, {1, 1, 1}};
}

static void run(struct bench *bench) {
    cr_assert_leq(ref_recurrent_scratch_bytes(&bench->operation, bench->in, bench->out), sizeof bench->scratch);
    ref_recurrent(&bench->operation, bench->in, bench->out, bench->scratch);
}

static float logistic(float x) {
    return 1 / (1 + expf(-x));
}

Test(ref_recurrent, an_rnn_adds_input_state_and_biases) {
    struct bench bench;
    set_up(&bench, RECURRENT_RNN, 3, 1);
    bench.operation.recurrent.functions[0][0] = same;
    memcpy(bench.x, (float[]){1, 2, 3}, 12);
    bench.w[0] = 2;
    bench.r[0] = 0.5f;
    bench.b[0] = 0.25f;
    bench.b[1] = 0.75f;
    bench.in[3] = (struct view){bench.b, ELEMENT_F32, 2, {1, 2}};
    run(&bench); /* h = 2 x + h / 2 + 1 */
    cr_assert(bench.y[0] == 3 && bench.y[1] == 6.5f && bench.y[2] == 10.25f && bench.h[0] == 10.25f);
}

Test(ref_recurrent, a_backward_direction_starts_at_the_end_of_each_sequence) {
    struct bench bench;
    set_up(&bench, RECURRENT_RNN, 3, 1);
    bench.operation.recurrent.functions[0][0] = same;
    bench.operation.recurrent.reverse_first = true;
    memcpy(bench.x, (float[]){1, 2, 4}, 12);
    bench.w[0] = bench.r[0] = 1;
    run(&bench);
    cr_assert(bench.y[0] == 7 && bench.y[1] == 6 && bench.y[2] == 4 && bench.h[0] == 7);
    bench.lengths[0] = 2;
    bench.in[4] = (struct view){bench.lengths, ELEMENT_I32, 1, {1}};
    run(&bench);
    cr_assert(bench.y[0] == 3 && bench.y[1] == 2 && bench.y[2] == 0 && bench.h[0] == 3);
    bench.operation.recurrent.reverse_first = false;
    run(&bench);
    cr_assert(bench.y[0] == 1 && bench.y[1] == 3 && bench.y[2] == 0 && bench.h[0] == 3);
}

Test(ref_recurrent, two_directions_lie_side_by_side) {
    struct bench bench;
    set_up(&bench, RECURRENT_RNN, 2, 1);
    struct recurrent *recurrent = &bench.operation.recurrent;
    recurrent->functions[0][0] = recurrent->functions[1][0] = same;
    recurrent->directions = 2;
    memcpy(bench.x, (float[]){1, 2}, 8);
    bench.w[0] = bench.r[0] = bench.w[1] = bench.r[1] = 1;
    bench.in[1].dims[0] = bench.in[2].dims[0] = 2;
    run(&bench); /* y [steps, directions] */
    cr_assert(bench.y[0] == 1 && bench.y[1] == 3 && bench.y[2] == 3 && bench.y[3] == 2);
    cr_assert(bench.h[0] == 3 && bench.h[1] == 3);
}

Test(ref_recurrent, gru_multiplies_by_the_reset_gate_before_or_behind_the_product) {
    struct bench bench;
    set_up(&bench, RECURRENT_GRU, 1, 3);
    bench.operation.recurrent.functions[0][0] = sigmoid;
    bench.operation.recurrent.functions[0][1] = hyperbolic;
    bench.x[0] = 1;
    memcpy(bench.w, (float[]){0.1f, 0.2f, 0.3f}, 12);
    memcpy(bench.r, (float[]){0.4f, 0.5f, 0.6f}, 12);
    memcpy(bench.b, (float[]){0, 0, 0, 0.01f, 0.02f, 0.7f}, 24);
    bench.in[3] = (struct view){bench.b, ELEMENT_F32, 2, {1, 6}};
    bench.h0[0] = 0.5f;
    bench.in[5] = (struct view){bench.h0, ELEMENT_F32, 3, {1, 1, 1}};
    float update = logistic(0.1f + 0.2f + 0.01f), reset = logistic(0.2f + 0.25f + 0.02f);
    float candidate = tanhf(0.3f + reset * 0.5f * 0.6f + 0.7f);
    run(&bench);
    cr_assert_float_eq(bench.y[0], (1 - update) * candidate + update * 0.5f, 1e-6);
    bench.operation.recurrent.linear_before_reset = true;
    candidate = tanhf(0.3f + reset * (0.5f * 0.6f + 0.7f));
    run(&bench);
    cr_assert_float_eq(bench.y[0], (1 - update) * candidate + update * 0.5f, 1e-6);
}

static void set_up_lstm(struct bench *bench) {
    set_up(bench, RECURRENT_LSTM, 1, 4);
    struct unary *functions = bench->operation.recurrent.functions[0];
    functions[0] = sigmoid;
    functions[1] = functions[2] = hyperbolic;
    bench->x[0] = 1;
    memcpy(bench->w, (float[]){0.1f, 0.2f, 0.3f, 0.4f}, 16);
    memcpy(bench->r, (float[]){0.5f, 0.6f, 0.7f, 0.8f}, 16);
    bench->h0[0] = 0.5f;
    bench->c0[0] = 2;
    bench->in[5] = (struct view){bench->h0, ELEMENT_F32, 3, {1, 1, 1}};
    bench->in[6] = (struct view){bench->c0, ELEMENT_F32, 3, {1, 1, 1}};
}

Test(ref_recurrent, lstm_has_its_gates_in_the_order_input_output_forget_cell) {
    struct bench bench;
    set_up_lstm(&bench);
    float input = logistic(0.35f), output = logistic(0.5f), forget = logistic(0.65f), cell = tanhf(0.8f);
    run(&bench);
    cr_assert_float_eq(bench.c[0], forget * 2 + input * cell, 1e-6);
    cr_assert_float_eq(bench.y[0], output * tanhf(forget * 2 + input * cell), 1e-6);
    bench.operation.recurrent.input_forget = true;
    run(&bench);
    cr_assert_float_eq(bench.c[0], (1 - input) * 2 + input * cell, 1e-6);
}

Test(ref_recurrent, peepholes_look_at_the_old_cell_and_the_output_gate_at_the_new_one) {
    struct bench bench;
    set_up_lstm(&bench);
    memcpy(bench.p, (float[]){0.01f, 0.02f, 0.03f}, 12);
    bench.in[7] = (struct view){bench.p, ELEMENT_F32, 2, {1, 3}};
    float input = logistic(0.37f), forget = logistic(0.71f), c = forget * 2 + input * tanhf(0.8f);
    run(&bench);
    cr_assert_float_eq(bench.c[0], c, 1e-6);
    cr_assert_float_eq(bench.h[0], logistic(0.5f + 0.02f * c) * tanhf(c), 1e-6);
}

Test(ref_recurrent, clip_bounds_what_goes_into_the_activations) {
    struct bench bench;
    set_up_lstm(&bench);
    bench.operation.recurrent.clip = 0.1f;
    float gate = logistic(0.1f), c = gate * 2 + gate * tanhf(0.1f);
    run(&bench);
    cr_assert_float_eq(bench.c[0], c, 1e-6);
    cr_assert_float_eq(bench.h[0], gate * tanhf(0.1f), 1e-6);
}

Test(ref_recurrent, batch_first_exchanges_steps_and_rows) {
    struct bench bench;
    set_up(&bench, RECURRENT_RNN, 1, 1);
    bench.operation.recurrent.functions[0][0] = same;
    bench.operation.recurrent.batch_first = true;
    memcpy(bench.x, (float[]){1, 2, 3, 4}, 16);
    bench.in[0] = (struct view){bench.x, ELEMENT_F32, 3, {2, 2, 1}}; /* [batch, steps, in] */
    bench.w[0] = bench.r[0] = 1;
    run(&bench);
    cr_assert(bench.y[0] == 1 && bench.y[1] == 3 && bench.y[2] == 3 && bench.y[3] == 7);
    cr_assert(bench.h[0] == 3 && bench.h[1] == 7);
}
