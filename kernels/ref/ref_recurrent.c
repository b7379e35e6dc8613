#include "kernels/ref/ref_recurrent.h"

#include <string.h>

#include "kernels/ref/ref_elementwise.h"

/* One direction of one row: the weights, and the memory of its states. gates is [4 * hidden] (the last part spare for
 * GRU's second sum). */
struct cell {
    const struct recurrent *recurrent;
    const struct unary *functions;
    size_t in, hidden;
    const float *w, *r, *wb, *rb, *p;
    float *h, *c, *gates;
};

static size_t gate_count(enum recurrent_kind kind) {
    return kind == RECURRENT_LSTM ? 4 : kind == RECURRENT_GRU ? 3 : 1;
}

static double product(const float *a, const float *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Row `row` of the gates: x * W + bias, and h * R + bias. */
static double from_input(const struct cell *cell, const float *x, size_t row) {
    return product(cell->w + row * cell->in, x, cell->in) + (cell->wb ? (double)cell->wb[row] : 0.0);
}

static double from_state(const struct cell *cell, const float *h, size_t row) {
    return product(cell->r + row * cell->hidden, h, cell->hidden) + (cell->rb ? (double)cell->rb[row] : 0.0);
}

static void activate(const struct cell *cell, int function, float *values) {
    float clip = cell->recurrent->clip;
    for (size_t i = 0; i < cell->hidden; i++) {
        float value = values[i];
        if (clip > 0)
            value = value > clip ? clip : value < -clip ? -clip : value;
        values[i] = ref_unary_value(&cell->functions[function], value);
    }
}

static void step_rnn(const struct cell *cell, const float *x) {
    for (size_t i = 0; i < cell->hidden; i++)
        cell->gates[i] = (float)(from_input(cell, x, i) + from_state(cell, cell->h, i));
    activate(cell, 0, cell->gates);
    memcpy(cell->h, cell->gates, cell->hidden * sizeof *cell->h);
}

static void step_gru(const struct cell *cell, const float *x) {
    size_t hidden = cell->hidden;
    float *update = cell->gates, *reset = update + hidden, *candidate = reset + hidden, *kept = candidate + hidden;
    for (size_t i = 0; i < 2 * hidden; i++)
        cell->gates[i] = (float)(from_input(cell, x, i) + from_state(cell, cell->h, i));
    activate(cell, 0, update);
    activate(cell, 0, reset);
    for (size_t i = 0; i < hidden; i++)
        kept[i] = reset[i] * cell->h[i];
    for (size_t i = 0; i < hidden; i++) {
        size_t row = 2 * hidden + i;
        double state = cell->recurrent->linear_before_reset ? reset[i] * from_state(cell, cell->h, row)
                                                            : from_state(cell, kept, row);
        candidate[i] = (float)(from_input(cell, x, row) + state);
    }
    activate(cell, 1, candidate);
    for (size_t i = 0; i < hidden; i++)
        cell->h[i] = (1 - update[i]) * candidate[i] + update[i] * cell->h[i];
}

static void step_lstm(const struct cell *cell, const float *x) {
    size_t hidden = cell->hidden;
    float *input = cell->gates, *output = input + hidden, *forget = output + hidden, *candidate = forget + hidden;
    for (size_t i = 0; i < 4 * hidden; i++)
        cell->gates[i] = (float)(from_input(cell, x, i) + from_state(cell, cell->h, i));
    for (size_t i = 0; cell->p && i < hidden; i++) {
        input[i] += cell->p[i] * cell->c[i];
        forget[i] += cell->p[2 * hidden + i] * cell->c[i];
    }
    activate(cell, 0, input);
    activate(cell, 0, forget);
    activate(cell, 1, candidate);
    for (size_t i = 0; i < hidden; i++) {
        float remembered = cell->recurrent->input_forget ? 1 - input[i] : forget[i];
        cell->c[i] = remembered * cell->c[i] + input[i] * candidate[i];
        if (cell->p)
            output[i] += cell->p[hidden + i] * cell->c[i];
        candidate[i] = cell->c[i];
    }
    activate(cell, 0, output);
    activate(cell, 2, candidate);
    for (size_t i = 0; i < hidden; i++)
        cell->h[i] = output[i] * candidate[i];
}

/* What is the same for all rows and directions. */
struct sizes {
    size_t steps, batch, in, hidden, directions;
    bool batch_first;
};

static size_t state_at(const struct sizes *sizes, size_t direction, size_t row) {
    size_t index = sizes->batch_first ? row * sizes->directions + direction : direction * sizes->batch + row;
    return index * sizes->hidden;
}

static size_t y_at(const struct sizes *sizes, size_t step, size_t direction, size_t row) {
    size_t index = sizes->batch_first ? (row * sizes->steps + step) * sizes->directions + direction
                                      : (step * sizes->directions + direction) * sizes->batch + row;
    return index * sizes->hidden;
}

static void begin(float *state, const float *initial, size_t at, size_t hidden) {
    if (initial)
        memcpy(state, initial + at, hidden * sizeof *state);
    else
        memset(state, 0, hidden * sizeof *state);
}

static void run_row(const struct cell *cell, const struct sizes *sizes, size_t direction, size_t row,
                    const struct view *inputs, const struct view *outputs) {
    const float *x = inputs[0].data;
    const int32_t *lengths = inputs[4].data;
    float *y = outputs[0].data, *h = outputs[1].data, *c = outputs[2].data;
    size_t hidden = cell->hidden, at = state_at(sizes, direction, row), length = sizes->steps;
    if (lengths)
        length = lengths[row] < 0 ? 0 : (size_t)lengths[row] < length ? (size_t)lengths[row] : length;
    bool backwards = direction == 1 || cell->recurrent->reverse_first;
    begin(cell->h, inputs[5].data, at, hidden);
    begin(cell->c, inputs[6].data, at, hidden);
    for (size_t i = 0; i < sizes->steps; i++) {
        size_t step = backwards && i < length ? length - 1 - i : i;
        const float *in = x + (sizes->batch_first ? row * sizes->steps + step : step * sizes->batch + row) * sizes->in;
        if (i < length && cell->recurrent->kind == RECURRENT_LSTM)
            step_lstm(cell, in);
        else if (i < length && cell->recurrent->kind == RECURRENT_GRU)
            step_gru(cell, in);
        else if (i < length)
            step_rnn(cell, in);
        if (y)
            begin(y + y_at(sizes, step, direction, row), i < length ? cell->h : NULL, 0, hidden);
    }
    if (h)
        begin(h + at, cell->h, 0, hidden);
    if (c)
        begin(c + at, cell->c, 0, hidden);
}

void ref_recurrent(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    const struct recurrent *recurrent = &operation->recurrent;
    const struct view *x = &inputs[0];
    const float *w = inputs[1].data, *r = inputs[2].data, *b = inputs[3].data, *p = inputs[7].data;
    size_t hidden = inputs[2].dims[2], gates = gate_count(recurrent->kind) * hidden;
    struct sizes sizes = {x->dims[recurrent->batch_first],
                          x->dims[!recurrent->batch_first],
                          x->dims[2],
                          hidden,
                          (size_t)recurrent->directions,
                          recurrent->batch_first};
    float *memory = scratch;
    for (size_t direction = 0; direction < sizes.directions; direction++) {
        struct cell cell = {.recurrent = recurrent,
                            .functions = recurrent->functions[direction],
                            .in = sizes.in,
                            .hidden = hidden,
                            .w = w + direction * gates * sizes.in,
                            .r = r + direction * gates * hidden,
                            .wb = b ? b + direction * 2 * gates : NULL,
                            .rb = b ? b + direction * 2 * gates + gates : NULL,
                            .p = p ? p + direction * 3 * hidden : NULL,
                            .h = memory,
                            .c = memory + hidden,
                            .gates = memory + 2 * hidden};
        for (size_t row = 0; row < sizes.batch; row++)
            run_row(&cell, &sizes, direction, row, inputs, outputs);
    }
}

size_t ref_recurrent_scratch_bytes(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs) {
    (void)operation;
    (void)outputs;
    return 6 * inputs[2].dims[2] * sizeof(float);
}
