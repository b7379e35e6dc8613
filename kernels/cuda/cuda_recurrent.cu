#include "kernels/cuda/cuda_block.h"
#include "kernels/cuda/cuda_families.h"
#include "kernels/cuda/cuda_unary.h"

/* Threads of the block that has one row of the batch in one direction; the parts of its memory, each of `hidden`
 * floats: the state, the cell, four gates. */
enum { CELL_THREADS = 256, CELL_PARTS = 6 };

/* NULL where an input or output is left out. gates: rows of w and r in one direction. */
struct recurrent_shape {
    struct recurrent recurrent;
    size_t steps, batch, in, hidden, gates;
    const float *x, *w, *r, *b, *h0, *c0, *p;
    const int32_t *lengths;
    float *y, *h, *c, *memory;
};

/* One row in one direction. */
struct cell {
    const struct recurrent_shape *shape;
    const struct unary *functions;
    const float *w, *r, *wb, *rb, *p;
    float *h, *c, *gates;
};

#define EACH_HIDDEN(i, hidden) for (size_t i = threadIdx.x; i < (hidden); i += blockDim.x)

/* A warp's sum, in an order that depends on count alone. Every lane gets it. */
static __device__ __forceinline__ float dot(const float *a, const float *b, size_t count) {
    float sum = 0.0f;
    for (size_t i = threadIdx.x % CUDA_BLOCK_LANES; i < count; i += CUDA_BLOCK_LANES)
        sum += a[i] * b[i];
    return cuda_block_warp_sum(sum);
}

static __device__ __forceinline__ float from_input(const struct cell *cell, const float *x, size_t row) {
    float sum = dot(cell->w + row * cell->shape->in, x, cell->shape->in);
    return cell->wb ? sum + cell->wb[row] : sum;
}

static __device__ __forceinline__ float from_state(const struct cell *cell, const float *state, size_t row) {
    float sum = dot(cell->r + row * cell->shape->hidden, state, cell->shape->hidden);
    return cell->rb ? sum + cell->rb[row] : sum;
}

static __device__ __forceinline__ float activated(const struct cell *cell, int function, float value) {
    float clip = cell->shape->recurrent.clip;
    if (clip > 0.0f)
        value = value > clip ? clip : value < -clip ? -clip : value;
    return cuda_unary_value(&cell->functions[function], value);
}

/* gates[row] = x * W + h * R of rows from..to, a warp for each; one of the two where the other is NULL. add: to what is
 * there. */
static __device__ __forceinline__ void sum_gates(const struct cell *cell, const float *x, const float *state,
                                                 size_t from, size_t to, float *sums, bool add) {
    size_t warps = blockDim.x / CUDA_BLOCK_LANES;
    for (size_t row = from + threadIdx.x / CUDA_BLOCK_LANES; row < to; row += warps) {
        float sum = x ? from_input(cell, x, row) : 0.0f;
        if (state)
            sum += from_state(cell, state, row);
        if (threadIdx.x % CUDA_BLOCK_LANES == 0)
            sums[row - from] = add ? sums[row - from] + sum : sum;
    }
    __syncthreads();
}

static __device__ __forceinline__ void step_rnn(const struct cell *cell, const float *x) {
    size_t hidden = cell->shape->hidden;
    sum_gates(cell, x, cell->h, 0, hidden, cell->gates, false);
    EACH_HIDDEN(i, hidden) cell->h[i] = activated(cell, 0, cell->gates[i]);
}

static __device__ __forceinline__ void step_gru(const struct cell *cell, const float *x) {
    size_t hidden = cell->shape->hidden;
    bool linear = cell->shape->recurrent.linear_before_reset;
    float *update = cell->gates, *reset = update + hidden, *candidate = reset + hidden, *kept = candidate + hidden;
    if (linear)
        sum_gates(cell, NULL, cell->h, 2 * hidden, 3 * hidden, kept, false);
    sum_gates(cell, x, NULL, 2 * hidden, 3 * hidden, candidate, false);
    sum_gates(cell, x, cell->h, 0, 2 * hidden, update, false);
    EACH_HIDDEN(i, hidden) {
        update[i] = activated(cell, 0, update[i]);
        kept[i] = activated(cell, 0, reset[i]) * (linear ? kept[i] : cell->h[i]);
    }
    __syncthreads();
    if (!linear)
        sum_gates(cell, NULL, kept, 2 * hidden, 3 * hidden, candidate, true);
    EACH_HIDDEN(i, hidden) {
        float next = activated(cell, 1, linear ? candidate[i] + kept[i] : candidate[i]);
        cell->h[i] = (1.0f - update[i]) * next + update[i] * cell->h[i];
    }
}

static __device__ __forceinline__ void step_lstm(const struct cell *cell, const float *x) {
    size_t hidden = cell->shape->hidden;
    const float *input = cell->gates, *output = input + hidden, *forget = output + hidden, *candidate = forget + hidden;
    const float *p = cell->p;
    sum_gates(cell, x, cell->h, 0, 4 * hidden, cell->gates, false);
    EACH_HIDDEN(i, hidden) {
        float before = cell->c[i];
        float taken = activated(cell, 0, p ? input[i] + p[i] * before : input[i]);
        float held = activated(cell, 0, p ? forget[i] + p[2 * hidden + i] * before : forget[i]);
        if (cell->shape->recurrent.input_forget)
            held = 1.0f - taken;
        float after = held * before + taken * activated(cell, 1, candidate[i]);
        float shown = activated(cell, 0, p ? output[i] + p[hidden + i] * after : output[i]);
        cell->c[i] = after;
        cell->h[i] = shown * activated(cell, 2, after);
    }
}

/* Copies one state; from NULL: zeros. */
static __device__ __forceinline__ void set_state(float *to, const float *from, size_t hidden) {
    EACH_HIDDEN(i, hidden) to[i] = from ? from[i] : 0.0f;
}

static __device__ __forceinline__ struct cell cell_of(const struct recurrent_shape *shape, size_t direction,
                                                      size_t row) {
    size_t hidden = shape->hidden, gates = shape->gates;
    float *memory = shape->memory + (direction * shape->batch + row) * CELL_PARTS * hidden;
    struct cell cell;
    cell.shape = shape;
    cell.functions = shape->recurrent.functions[direction];
    cell.w = shape->w + direction * gates * shape->in;
    cell.r = shape->r + direction * gates * hidden;
    cell.wb = shape->b ? shape->b + direction * 2 * gates : NULL;
    cell.rb = shape->b ? cell.wb + gates : NULL;
    cell.p = shape->p ? shape->p + direction * 3 * hidden : NULL;
    cell.h = memory;
    cell.c = memory + hidden;
    cell.gates = memory + 2 * hidden;
    return cell;
}

static __device__ __forceinline__ void step(const struct cell *cell, const float *x) {
    if (cell->shape->recurrent.kind == RECURRENT_LSTM)
        step_lstm(cell, x);
    else if (cell->shape->recurrent.kind == RECURRENT_GRU)
        step_gru(cell, x);
    else
        step_rnn(cell, x);
    __syncthreads();
}

/* A block for each row and direction: steps follow each other, so only what is within one can be shared out. */
static __global__ void run_cells(const struct recurrent_shape shape, size_t cells) {
    const struct recurrent *recurrent = &shape.recurrent;
    size_t hidden = shape.hidden, directions = (size_t)recurrent->directions;
    CUDA_DEVICE_EACH_ROW(number, cells) {
        size_t direction = number / shape.batch, row = number - direction * shape.batch, length = shape.steps;
        size_t at = (recurrent->batch_first ? row * directions + direction : number) * hidden;
        struct cell cell = cell_of(&shape, direction, row);
        bool backwards = direction == 1 || recurrent->reverse_first;
        if (shape.lengths)
            length = shape.lengths[row] < 0                ? 0
                     : (size_t)shape.lengths[row] < length ? (size_t)shape.lengths[row]
                                                           : length;
        set_state(cell.h, shape.h0 ? shape.h0 + at : NULL, hidden);
        set_state(cell.c, shape.c0 ? shape.c0 + at : NULL, hidden);
        __syncthreads();
        for (size_t i = 0; i < shape.steps; i++) {
            size_t now = backwards && i < length ? length - 1 - i : i;
            size_t in = recurrent->batch_first ? row * shape.steps + now : now * shape.batch + row;
            size_t out = recurrent->batch_first ? in * directions + direction
                                                : (now * directions + direction) * shape.batch + row;
            if (i < length)
                step(&cell, shape.x + in * shape.in);
            if (shape.y)
                set_state(shape.y + out * hidden, i < length ? cell.h : NULL, hidden);
        }
        if (shape.h)
            set_state(shape.h + at, cell.h, hidden);
        if (shape.c)
            set_state(shape.c + at, cell.c, hidden);
    }
}

static size_t gate_count(enum recurrent_kind kind) {
    return kind == RECURRENT_LSTM ? 4 : kind == RECURRENT_GRU ? 3 : 1;
}

static cudaError_t launch_recurrent(const struct operation *operation, const struct view *inputs,
                                    const struct view *outputs, void *scratch, cudaStream_t stream) {
    const struct recurrent *recurrent = &operation->recurrent;
    struct recurrent_shape shape = {};
    shape.recurrent = *recurrent;
    shape.steps = inputs[0].dims[recurrent->batch_first];
    shape.batch = inputs[0].dims[!recurrent->batch_first];
    shape.in = inputs[0].dims[2];
    shape.hidden = inputs[2].dims[2];
    shape.gates = gate_count(recurrent->kind) * shape.hidden;
    shape.x = (const float *)inputs[0].data;
    shape.w = (const float *)inputs[1].data;
    shape.r = (const float *)inputs[2].data;
    shape.b = (const float *)inputs[3].data;
    shape.lengths = (const int32_t *)inputs[4].data;
    shape.h0 = (const float *)inputs[5].data;
    shape.c0 = (const float *)inputs[6].data;
    shape.p = (const float *)inputs[7].data;
    shape.y = (float *)outputs[0].data;
    shape.h = (float *)outputs[1].data;
    shape.c = (float *)outputs[2].data;
    shape.memory = (float *)scratch;
    size_t cells = (size_t)recurrent->directions * shape.batch;
    return CUDA_DEVICE_LAUNCH_ROWS(run_cells, cells, CELL_THREADS, stream, shape, cells);
}

extern "C" cuda_launcher cuda_recurrent_find(const struct operation *operation, const struct view *inputs,
                                             const struct view *outputs) {
    (void)outputs;
    return operation->kind == OPERATION_RECURRENT && inputs[0].element == ELEMENT_F32 ? launch_recurrent : NULL;
}

extern "C" size_t cuda_recurrent_scratch_bytes(const struct operation *operation, const struct view *inputs) {
    return (size_t)operation->recurrent.directions * inputs[0].dims[!operation->recurrent.batch_first] * CELL_PARTS *
           inputs[2].dims[2] * sizeof(float);
}
