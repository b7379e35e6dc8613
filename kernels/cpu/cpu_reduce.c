#include "kernels/cpu/cpu_reduce.h"

#include <math.h>

#include "kernels/cpu/cpu_lanes.h"

/* x as [outer, length, inner]; length is reduced. */
struct reduce_job {
    const float *x;
    float *y;
    size_t outer, length, inner;
    enum reduce_kind kind;
};

/* So many vectors are summed into a chunk, and so many chunks before their sum goes to the total: rounding errors grow
 * with the largest of the counts, not with their product. */
enum { CHUNK = 64 };

CPU_TARGET_INLINE float LANES begin(enum reduce_kind kind) {
    return lanes_of(kind == REDUCE_MAX ? -INFINITY : kind == REDUCE_MIN ? INFINITY : 0.0f);
}

/* A NaN stays. */
CPU_TARGET_INLINE float LANES take(enum reduce_kind kind, float LANES so_far, float LANES v) {
    switch (kind) {
    case REDUCE_MAX:
        return lanes_pick((v > so_far) | lanes_is_nan(v), v, so_far);
    case REDUCE_MIN:
        return lanes_pick((v < so_far) | lanes_is_nan(v), v, so_far);
    case REDUCE_L1:
        return so_far + lanes_pick(v < 0.0f, -v, v);
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        return so_far + v * v;
    default:
        return so_far + v;
    }
}

struct totals {
    float LANES total, middle;
    size_t chunks;
};

/* Joins two results of take. */
CPU_TARGET_INLINE float LANES join(enum reduce_kind kind, float LANES a, float LANES b) {
    return kind == REDUCE_MAX || kind == REDUCE_MIN ? take(kind, a, b) : a + b;
}

CPU_TARGET_INLINE void add_chunk(enum reduce_kind kind, struct totals *totals, float LANES sum) {
    totals->middle = join(kind, totals->middle, sum);
    if (++totals->chunks % CHUNK == 0) {
        totals->total = join(kind, totals->total, totals->middle);
        totals->middle = begin(kind);
    }
}

CPU_TARGET_INLINE float across(enum reduce_kind kind, float LANES v) {
    float part[LANE_COUNT];
    if (kind != REDUCE_MAX && kind != REDUCE_MIN)
        return lanes_sum(v);
    lanes_store(part, v);
    for (size_t i = 1; i < LANE_COUNT; i++)
        if ((kind == REDUCE_MAX ? part[i] > part[0] : part[i] < part[0]) || part[i] != part[i])
            part[0] = part[i];
    return part[0];
}

CPU_TARGET_INLINE float finish(enum reduce_kind kind, float value, size_t length) {
    return kind == REDUCE_MEAN ? value / (float)length : kind == REDUCE_L2 ? sqrtf(value) : value;
}

CPU_TARGET_INLINE float reduce_row(enum reduce_kind kind, const float *x, size_t length) {
    size_t whole = length / LANE_COUNT * LANE_COUNT;
    struct totals totals = {begin(kind), begin(kind), 0};
    for (size_t i = 0; i < whole;) {
        size_t chunk = whole - i < CHUNK * LANE_COUNT ? whole - i : CHUNK * LANE_COUNT;
        float LANES a = begin(kind), b = a;
        size_t end = i + chunk;
        for (; i + 2 * LANE_COUNT <= end; i += 2 * LANE_COUNT) {
            a = take(kind, a, lanes_load(x + i));
            b = take(kind, b, lanes_load(x + i + LANE_COUNT));
        }
        if (i < end) {
            a = take(kind, a, lanes_load(x + i));
            i = end;
        }
        add_chunk(kind, &totals, join(kind, a, b));
    }
    float LANES total = join(kind, totals.total, totals.middle);
    if (whole < length) {
        float rest = kind == REDUCE_MAX ? -INFINITY : kind == REDUCE_MIN ? INFINITY : 0.0f;
        total = take(kind, total, lanes_load_part(x + whole, length - whole, rest));
    }
    return finish(kind, across(kind, total), length);
}

/* The kind is a constant in each call, so that the loops above have no choices left in them. */
#define BY_KIND(job, call)                                                                                             \
    switch ((job)->kind) {                                                                                             \
    case REDUCE_MAX:                                                                                                   \
        call(REDUCE_MAX);                                                                                              \
        break;                                                                                                         \
    case REDUCE_MIN:                                                                                                   \
        call(REDUCE_MIN);                                                                                              \
        break;                                                                                                         \
    case REDUCE_L1:                                                                                                    \
        call(REDUCE_L1);                                                                                               \
        break;                                                                                                         \
    case REDUCE_L2:                                                                                                    \
        call(REDUCE_L2);                                                                                               \
        break;                                                                                                         \
    case REDUCE_SUM_SQUARE:                                                                                            \
        call(REDUCE_SUM_SQUARE);                                                                                       \
        break;                                                                                                         \
    case REDUCE_MEAN:                                                                                                  \
        call(REDUCE_MEAN);                                                                                             \
        break;                                                                                                         \
    default:                                                                                                           \
        call(REDUCE_SUM);                                                                                              \
        break;                                                                                                         \
    }

CPU_TARGET_INLINE void reduce_rows(const void *of, size_t from, size_t to) {
    const struct reduce_job *job = of;
#define ROWS(kind)                                                                                                     \
    for (size_t row = from; row < to; row++)                                                                           \
    job->y[row] = reduce_row(kind, job->x + row * job->length, job->length)
    BY_KIND(job, ROWS)
#undef ROWS
}
LANES_VARIANTS(reduce_rows);

/* Up to 16 adjacent columns, whose elements lie `inner` apart. */
CPU_TARGET_INLINE void reduce_columns_at(enum reduce_kind kind, const struct reduce_job *job, size_t part) {
    size_t blocks = (job->inner + LANE_COUNT - 1) / LANE_COUNT;
    size_t outer = part / blocks, column = part % blocks * LANE_COUNT, left = job->inner - column;
    const float *x = job->x + outer * job->length * job->inner + column;
    float *y = job->y + outer * job->inner + column;
    bool whole = left >= LANE_COUNT;
    struct totals totals = {begin(kind), begin(kind), 0};
    for (size_t i = 0; i < job->length;) {
        size_t end = job->length - i < CHUNK ? job->length : i + CHUNK;
        float LANES sum = begin(kind);
        if (whole)
            for (; i < end; i++)
                sum = take(kind, sum, lanes_load(x + i * job->inner));
        for (; i < end; i++)
            sum = take(kind, sum, lanes_load_part(x + i * job->inner, left, 0));
        add_chunk(kind, &totals, sum);
    }
    float LANES total = join(kind, totals.total, totals.middle);
    if (kind == REDUCE_MEAN)
        total = total / (float)job->length;
    if (kind == REDUCE_L2) {
        float roots[LANE_COUNT];
        lanes_store(roots, total);
        for (size_t i = 0; i < LANE_COUNT; i++)
            roots[i] = sqrtf(roots[i]);
        total = lanes_load(roots);
    }
    if (whole)
        lanes_store(y, total);
    else
        lanes_store_part(y, total, left);
}

CPU_TARGET_INLINE void reduce_columns(const void *of, size_t from, size_t to) {
    const struct reduce_job *job = of;
#define COLUMNS(kind)                                                                                                  \
    for (size_t part = from; part < to; part++)                                                                        \
    reduce_columns_at(kind, job, part)
    BY_KIND(job, COLUMNS)
#undef COLUMNS
}
LANES_VARIANTS(reduce_columns);

/* Sees x as [outer, length, inner]; dimensions of 1 may lie anywhere. Returns false if the reduced dimensions are not
 * neighbours. */
static bool split(const struct view *x, uint32_t axes, struct reduce_job *job) {
    job->outer = job->length = job->inner = 1;
    for (int i = 0; i < x->rank; i++) {
        bool reduced = axes >> i & 1;
        if (x->dims[i] == 1)
            continue;
        if (reduced && job->inner != 1)
            return false;
        if (reduced)
            job->length *= x->dims[i];
        else if (job->length != 1)
            job->inner *= x->dims[i];
        else
            job->outer *= x->dims[i];
    }
    return true;
}

static void reduce(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch) {
    const struct view *x = &inputs[0];
    struct reduce_job job = {.x = x->data, .y = outputs[0].data, .kind = operation->reduce.kind};
    (void)scratch;
    split(x, operation->reduce.axes, &job);
    if (job.inner == 1)
        cpu_parallel_run(reduce_rows_best, &job, job.outer, view_count(x));
    else
        cpu_parallel_run(reduce_columns_best, &job, job.outer * ((job.inner + LANE_COUNT - 1) / LANE_COUNT),
                         view_count(x));
}

struct arg_job {
    const float *x;
    int64_t *y;
    size_t length;
    bool min, last;
};

/* The first NaN wins over every number. */
CPU_TARGET_INLINE int64_t find_row(const struct arg_job *job, const float *x) {
    float best = job->min ? reduce_row(REDUCE_MIN, x, job->length) : reduce_row(REDUCE_MAX, x, job->length);
    size_t i = 0;
    if (best != best) {
        while (x[i] == x[i])
            i++;
    } else if (job->last) {
        i = job->length - 1;
        while (x[i] != best)
            i--;
    } else {
        while (x[i] != best)
            i++;
    }
    return (int64_t)i;
}

CPU_TARGET_INLINE void find_rows(const void *of, size_t from, size_t to) {
    const struct arg_job *job = of;
    for (size_t row = from; row < to; row++)
        job->y[row] = find_row(job, job->x + row * job->length);
}
LANES_VARIANTS(find_rows);

static void arg(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    const struct view *x = &inputs[0];
    struct arg_job job = {x->data, outputs[0].data, x->dims[operation->arg.axis], operation->arg.min,
                          operation->arg.last};
    (void)scratch;
    cpu_parallel_run(find_rows_best, &job, view_product(x, 0, operation->arg.axis), view_count(x));
}

operation_function cpu_reduce_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs) {
    const struct view *x = &inputs[0];
    struct reduce_job job;
    (void)outputs;
    if (x->element != ELEMENT_F32 || view_count(x) == 0)
        return NULL;
    if (operation->kind == OPERATION_ARG)
        return view_product(x, operation->arg.axis + 1, x->rank) == 1 ? arg : NULL;
    switch (operation->reduce.kind) {
    case REDUCE_SUM:
    case REDUCE_MEAN:
    case REDUCE_MAX:
    case REDUCE_MIN:
    case REDUCE_L1:
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE:
        return split(x, operation->reduce.axes, &job) ? reduce : NULL;
    default:
        return NULL;
    }
}
