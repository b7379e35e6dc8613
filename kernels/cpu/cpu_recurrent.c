#include "kernels/cpu/cpu_recurrent.h"

#include "kernels/cpu/cpu_dots.h"
#include "kernels/cpu/cpu_lanes.h"

/* A part of the work: up to GROUP rows of one direction, from the first step to the last. */
enum { GROUP = 8 };

struct recurrent_job {
    const struct recurrent *recurrent;
    const struct view *inputs, *outputs;
    float *scratch;
    size_t steps, batch, in, hidden, gates; /* gates: all of them, times hidden */
};

struct part {
    const struct recurrent_job *job;
    size_t direction, first, rows; /* rows of the batch: first .. first + rows - 1 */
    const float *w, *r, *p;
    const float *state_bias; /* [gates]; NULL: 0 */
    float *bias;             /* [gates]: all that does not depend on the state */
    float *before;           /* [steps of a block, rows, gates]: what goes into the activations */
    float *h, *c, *spare;    /* [rows, hidden] */
};

/* Floats of scratch memory of one part. */
static size_t part_floats(size_t gates, size_t hidden) {
    return gates + CPU_DOTS_MOST_ROWS * gates + 3 * GROUP * hidden;
}

static size_t gate_count(enum recurrent_kind kind) {
    return kind == RECURRENT_LSTM ? 4 : kind == RECURRENT_GRU ? 3 : 1;
}

CPU_TARGET_INLINE size_t length_of(const struct recurrent_job *job, size_t row) {
    const int32_t *lengths = job->inputs[4].data;
    if (!lengths || lengths[row] > (int64_t)job->steps)
        return job->steps;
    return lengths[row] < 0 ? 0 : (size_t)lengths[row];
}

/* Which step of x does turn `turn` of that row take? */
static size_t step_of(const struct part *part, size_t row, size_t turn) {
    size_t length = length_of(part->job, row);
    bool backwards = part->direction == 1 || part->job->recurrent->reverse_first;
    return backwards && turn < length ? length - 1 - turn : turn;
}

static size_t state_at(const struct part *part, size_t row) {
    const struct recurrent_job *job = part->job;
    size_t directions = (size_t)job->recurrent->directions;
    size_t index =
        job->recurrent->batch_first ? row * directions + part->direction : part->direction * job->batch + row;
    return index * job->hidden;
}

static void begin_part(const struct recurrent_job *job, size_t number, struct part *part) {
    size_t groups = (job->batch + GROUP - 1) / GROUP, hidden = job->hidden, gates = job->gates;
    size_t direction = number / groups, first = number % groups * GROUP;
    const float *b = job->inputs[3].data, *p = job->inputs[7].data;
    const float *h0 = job->inputs[5].data, *c0 = job->inputs[6].data;
    float *memory = job->scratch + number * part_floats(gates, hidden);
    *part = (struct part){.job = job,
                          .direction = direction,
                          .first = first,
                          .rows = job->batch - first < GROUP ? job->batch - first : GROUP,
                          .w = (const float *)job->inputs[1].data + direction * gates * job->in,
                          .r = (const float *)job->inputs[2].data + direction * gates * hidden,
                          .p = p ? p + direction * 3 * hidden : NULL,
                          .state_bias = b ? b + (2 * direction + 1) * gates : NULL,
                          .bias = memory,
                          .before = memory + gates,
                          .h = memory + gates + CPU_DOTS_MOST_ROWS * gates};
    part->c = part->h + GROUP * hidden;
    part->spare = part->c + GROUP * hidden;
    /* With linear_before_reset the bias of GRU's third gate is multiplied by the reset gate. */
    size_t joined = job->recurrent->kind == RECURRENT_GRU && job->recurrent->linear_before_reset ? 2 * hidden : gates;
    for (size_t i = 0; i < gates; i++)
        part->bias[i] = b ? b[2 * direction * gates + i] + (i < joined ? part->state_bias[i] : 0.0f) : 0.0f;
    for (size_t row = 0; row < part->rows; row++) {
        size_t at = state_at(part, first + row);
        for (size_t i = 0; i < hidden; i++) {
            part->h[row * hidden + i] = h0 ? h0[at + i] : 0.0f;
            part->c[row * hidden + i] = c0 ? c0[at + i] : 0.0f;
        }
    }
}

/* before = x * W + bias, for the turns of a block. */
static void project(const struct part *part, size_t turn, size_t turns) {
    const struct recurrent_job *job = part->job;
    const float *x = job->inputs[0].data;
    struct cpu_dots dots = {.row_count = turns * part->rows,
                            .weights = part->w,
                            .bias = part->bias,
                            .outputs = job->gates,
                            .depth = job->in,
                            .out = part->before,
                            .out_stride = job->gates};
    for (size_t i = 0; i < dots.row_count; i++) {
        size_t row = part->first + i % part->rows, step = step_of(part, row, turn + i / part->rows);
        size_t index = job->recurrent->batch_first ? row * job->steps + step : step * job->batch + row;
        dots.rows[i] = x + index * job->in;
    }
    cpu_dots_run(&dots);
}

/* out = states * R + bias for gates from..to-1; without a bias it is added. */
static void add_state(const struct part *part, const float *states, struct cpu_dots dots, size_t from) {
    size_t hidden = part->job->hidden;
    dots.weights = part->r + from * hidden;
    dots.depth = hidden;
    dots.row_count = part->rows;
    for (size_t row = 0; row < part->rows; row++)
        dots.rows[row] = states + row * hidden;
    cpu_dots_run(&dots);
}

CPU_TARGET_INLINE float LANES load(const float *from, size_t count) {
    return count == LANE_COUNT ? lanes_load(from) : lanes_load_part(from, count, 0.0f);
}

CPU_TARGET_INLINE void store(float *to, float LANES v, size_t count) {
    if (count == LANE_COUNT)
        lanes_store(to, v);
    else
        lanes_store_part(to, v, count);
}

/* Up to 16 units of one row, from unit `at` on. */
CPU_TARGET_INLINE void lstm_units(const struct part *part, const float *gates, size_t row, size_t at, size_t count) {
    size_t hidden = part->job->hidden;
    const float *p = part->p;
    float *c_at = part->c + row * hidden + at;
    float LANES c = load(c_at, count);
    float LANES i = load(gates + at, count), o = load(gates + hidden + at, count);
    float LANES f = load(gates + 2 * hidden + at, count), g = load(gates + 3 * hidden + at, count);
    if (p) {
        i += load(p + at, count) * c;
        f += load(p + 2 * hidden + at, count) * c;
    }
    i = lanes_sigmoid(i);
    f = part->job->recurrent->input_forget ? 1.0f - i : lanes_sigmoid(f);
    c = f * c + i * lanes_tanh(g);
    if (p)
        o += load(p + hidden + at, count) * c;
    store(c_at, c, count);
    store(part->h + row * hidden + at, lanes_sigmoid(o) * lanes_tanh(c), count);
}

CPU_TARGET_INLINE void rnn_units(const struct part *part, const float *gates, size_t row, size_t at, size_t count) {
    store(part->h + row * part->job->hidden + at, lanes_tanh(load(gates + at, count)), count);
}

/* The gates of update and reset; spare becomes what the candidate is made of: the state that is kept, or, with
 * linear_before_reset, its product times the reset gate. */
CPU_TARGET_INLINE void gru_reset_units(const struct part *part, float *gates, size_t row, size_t at, size_t count) {
    size_t hidden = part->job->hidden;
    float *spare = part->spare + row * hidden + at;
    float LANES update = lanes_sigmoid(load(gates + at, count));
    float LANES reset = lanes_sigmoid(load(gates + hidden + at, count));
    bool linear = part->job->recurrent->linear_before_reset;
    store(gates + at, update, count);
    store(spare, reset * load(linear ? spare : part->h + row * hidden + at, count), count);
}

CPU_TARGET_INLINE void gru_units(const struct part *part, const float *gates, size_t row, size_t at, size_t count) {
    size_t hidden = part->job->hidden;
    float *h_at = part->h + row * hidden + at;
    float LANES update = load(gates + at, count), candidate = load(gates + 2 * hidden + at, count);
    if (part->job->recurrent->linear_before_reset)
        candidate += load(part->spare + row * hidden + at, count);
    candidate = lanes_tanh(candidate);
    store(h_at, (1.0f - update) * candidate + update * load(h_at, count), count);
}

/* Defines name(part, before, turn): units(...) for all units of the rows whose sequences go on. */
#define FOR_UNITS(name, units)                                                                                         \
    CPU_TARGET_INLINE void name##_all(const struct part *part, float *before, size_t turn) {                           \
        size_t hidden = part->job->hidden, whole = hidden / LANE_COUNT * LANE_COUNT;                                   \
        for (size_t row = 0; row < part->rows; row++) {                                                                \
            float *gates = before + row * part->job->gates;                                                            \
            if (turn >= length_of(part->job, part->first + row))                                                       \
                continue;                                                                                              \
            for (size_t at = 0; at < whole; at += LANE_COUNT)                                                          \
                units(part, gates, row, at, LANE_COUNT);                                                               \
            if (whole < hidden)                                                                                        \
                units(part, gates, row, whole, hidden - whole);                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    CPU_TARGET_VARIANTS(name, name##_all, (const struct part *part, float *before, size_t turn), (part, before, turn))

FOR_UNITS(finish_lstm, lstm_units);
FOR_UNITS(finish_rnn, rnn_units);
FOR_UNITS(reset_gru, gru_reset_units);
FOR_UNITS(finish_gru, gru_units);

static void take_turn(const struct part *part, float *before, size_t turn) {
    const struct recurrent_job *job = part->job;
    size_t hidden = job->hidden;
    struct cpu_dots all = {.outputs = job->gates, .out = before, .out_stride = job->gates};
    if (job->recurrent->kind == RECURRENT_LSTM) {
        add_state(part, part->h, all, 0);
        finish_lstm(part, before, turn);
    } else if (job->recurrent->kind == RECURRENT_RNN) {
        add_state(part, part->h, all, 0);
        finish_rnn(part, before, turn);
    } else if (job->recurrent->linear_before_reset) {
        struct cpu_dots last = {.outputs = hidden, .out = part->spare, .out_stride = hidden};
        if (part->state_bias)
            last.bias = part->state_bias + 2 * hidden;
        else
            memset(part->spare, 0, part->rows * hidden * sizeof(float));
        all.outputs = 2 * hidden;
        add_state(part, part->h, all, 0);
        add_state(part, part->h, last, 2 * hidden);
        reset_gru(part, before, turn);
        finish_gru(part, before, turn);
    } else {
        all.outputs = 2 * hidden;
        add_state(part, part->h, all, 0);
        reset_gru(part, before, turn);
        all.outputs = hidden;
        all.out = before + 2 * hidden;
        add_state(part, part->spare, all, 2 * hidden);
        finish_gru(part, before, turn);
    }
}

static void write_y(const struct part *part, float *y, size_t turn) {
    const struct recurrent_job *job = part->job;
    size_t directions = (size_t)job->recurrent->directions;
    for (size_t i = 0; i < part->rows; i++) {
        size_t row = part->first + i, step = step_of(part, row, turn);
        size_t index = job->recurrent->batch_first ? (row * job->steps + step) * directions + part->direction
                                                   : (step * directions + part->direction) * job->batch + row;
        if (turn < length_of(job, row))
            memcpy(y + index * job->hidden, part->h + i * job->hidden, job->hidden * sizeof *y);
        else
            memset(y + index * job->hidden, 0, job->hidden * sizeof *y);
    }
}

static void write_state(const struct part *part, float *out, const float *states) {
    for (size_t row = 0; out && row < part->rows; row++)
        memcpy(out + state_at(part, part->first + row), states + row * part->job->hidden,
               part->job->hidden * sizeof *out);
}

static void run_parts(const void *of, size_t from, size_t to) {
    const struct recurrent_job *job = of;
    for (size_t number = from; number < to; number++) {
        struct part part;
        begin_part(job, number, &part);
        size_t block = CPU_DOTS_MOST_ROWS / part.rows;
        for (size_t turn = 0; turn < job->steps; turn += block) {
            size_t turns = job->steps - turn < block ? job->steps - turn : block;
            project(&part, turn, turns);
            for (size_t i = 0; i < turns; i++) {
                take_turn(&part, part.before + i * part.rows * job->gates, turn + i);
                if (job->outputs[0].data)
                    write_y(&part, job->outputs[0].data, turn + i);
            }
        }
        write_state(&part, job->outputs[1].data, part.h);
        write_state(&part, job->outputs[2].data, part.c);
    }
}

static void recurrent_kernel(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                             void *scratch) {
    const struct recurrent *recurrent = &operation->recurrent;
    const struct view *x = &inputs[0];
    size_t hidden = inputs[2].dims[2];
    struct recurrent_job job = {.recurrent = recurrent,
                                .inputs = inputs,
                                .outputs = outputs,
                                .scratch = scratch,
                                .steps = x->dims[recurrent->batch_first],
                                .batch = x->dims[!recurrent->batch_first],
                                .in = x->dims[2],
                                .hidden = hidden,
                                .gates = gate_count(recurrent->kind) * hidden};
    size_t parts = (size_t)recurrent->directions * ((job.batch + GROUP - 1) / GROUP);
    cpu_parallel_run(run_parts, &job, parts, job.steps * job.batch * job.gates);
}

operation_function cpu_recurrent_find(const struct operation *operation, const struct view *inputs,
                                      const struct view *outputs) {
    static const enum unary_kind usual[3][3] = {[RECURRENT_RNN] = {UNARY_TANH},
                                                [RECURRENT_GRU] = {UNARY_SIGMOID, UNARY_TANH},
                                                [RECURRENT_LSTM] = {UNARY_SIGMOID, UNARY_TANH, UNARY_TANH}};
    const struct recurrent *recurrent = &operation->recurrent;
    (void)inputs;
    (void)outputs;
    if (recurrent->clip > 0)
        return NULL;
    for (int d = 0; d < recurrent->directions; d++)
        for (int i = 0; i < 3 && usual[recurrent->kind][i] != UNARY_NONE; i++)
            if (recurrent->functions[d][i].kind != usual[recurrent->kind][i])
                return NULL;
    return recurrent_kernel;
}

size_t cpu_recurrent_scratch_bytes(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs) {
    const struct recurrent *recurrent = &operation->recurrent;
    size_t hidden = inputs[2].dims[2], batch = inputs[0].dims[!recurrent->batch_first];
    size_t parts = (size_t)recurrent->directions * ((batch + GROUP - 1) / GROUP);
    (void)outputs;
    return parts * part_floats(gate_count(recurrent->kind) * hidden, hidden) * sizeof(float);
}
