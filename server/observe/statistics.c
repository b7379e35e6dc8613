#include "server/observe/statistics.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct pair {
    _Atomic uint64_t count, ns;
};

struct batch_figures {
    _Atomic uint64_t count, input_ns, infer_ns, output_ns;
};

struct figures {
    bool is_closed; /* the loader's own */
    _Atomic uint64_t rows, executions, last_unix_ms;
    struct pair success, fail, queue, input, infer, output;
    struct batch_figures batches[]; /* by rows, from 1 */
};

struct statistics {
    int tag_count;
    uint32_t most_rows;
    _Atomic(struct figures *) figures[];
};

struct statistics *statistics_create(int tag_count, uint32_t most_rows) {
    struct statistics *statistics = calloc(1, sizeof *statistics + (size_t)tag_count * sizeof statistics->figures[0]);
    if (!statistics)
        return NULL;
    statistics->tag_count = tag_count;
    statistics->most_rows = most_rows;
    return statistics;
}

void statistics_destroy(struct statistics *statistics) {
    for (int i = 0; statistics && i < statistics->tag_count; i++)
        free(atomic_load(&statistics->figures[i]));
    free(statistics);
}

static struct figures *figures_of(const struct statistics *statistics, int tag) {
    return tag >= 0 && tag < statistics->tag_count ? atomic_load(&statistics->figures[tag]) : NULL;
}

/* What a request that is under way still adds is lost, or counted for the next. */
static void clear(struct figures *figures, uint32_t most_rows) {
    struct pair *const pairs[] = {&figures->success, &figures->fail,  &figures->queue,
                                  &figures->input,   &figures->infer, &figures->output};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        pairs[i]->count = pairs[i]->ns = 0;
    for (uint32_t i = 0; i <= most_rows; i++) {
        struct batch_figures *batch = &figures->batches[i];
        batch->count = batch->input_ns = batch->infer_ns = batch->output_ns = 0;
    }
    figures->rows = figures->executions = figures->last_unix_ms = 0;
    figures->is_closed = false;
}

void statistics_open(struct statistics *statistics, int tag) {
    if (tag < 0 || tag >= statistics->tag_count)
        return;
    struct figures *figures = figures_of(statistics, tag);
    if (figures && figures->is_closed)
        clear(figures, statistics->most_rows);
    if (figures)
        return;
    size_t batches = ((size_t)statistics->most_rows + 1) * sizeof(struct batch_figures);
    atomic_store(&statistics->figures[tag], calloc(1, sizeof(struct figures) + batches));
}

void statistics_close(struct statistics *statistics, int tag) {
    struct figures *figures = figures_of(statistics, tag);
    if (figures)
        figures->is_closed = true;
}

static void add(_Atomic uint64_t *counter, int64_t value) {
    atomic_fetch_add_explicit(counter, value > 0 ? (uint64_t)value : 0, memory_order_relaxed);
}

static void add_pair(struct pair *pair, int64_t ns) {
    add(&pair->count, 1);
    add(&pair->ns, ns);
}

void statistics_add_request(struct statistics *statistics, int tag, const struct statistics_request *request) {
    struct figures *figures = figures_of(statistics, tag);
    struct timespec now;
    if (!figures)
        return;
    if (!request->is_good) {
        add_pair(&figures->fail, request->whole_ns);
        return;
    }
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    atomic_store_explicit(&figures->last_unix_ms, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
                          memory_order_relaxed);
    add_pair(&figures->success, request->whole_ns);
    add_pair(&figures->queue, request->queue_ns);
    add_pair(&figures->input, request->input_ns);
    add_pair(&figures->infer, request->infer_ns);
    add_pair(&figures->output, request->output_ns);
}

void statistics_add_batch(struct statistics *statistics, int tag, uint32_t rows, const struct statistics_batch *batch) {
    struct figures *figures = figures_of(statistics, tag);
    if (!figures || rows > statistics->most_rows)
        return;
    add(&figures->rows, rows);
    add(&figures->executions, 1);
    add(&figures->batches[rows].count, 1);
    add(&figures->batches[rows].input_ns, (int64_t)batch->input_ns);
    add(&figures->batches[rows].infer_ns, (int64_t)batch->infer_ns);
    add(&figures->batches[rows].output_ns, (int64_t)batch->output_ns);
}

static uint64_t read_counter(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static struct statistics_pair read_pair(const struct pair *pair) {
    return (struct statistics_pair){.count = read_counter(&pair->count), .ns = read_counter(&pair->ns)};
}

struct statistics_totals statistics_read(const struct statistics *statistics, int tag) {
    const struct figures *figures = figures_of(statistics, tag);
    if (!figures)
        return (struct statistics_totals){.rows = 0};
    return (struct statistics_totals){.rows = read_counter(&figures->rows),
                                      .executions = read_counter(&figures->executions),
                                      .last_unix_ms = read_counter(&figures->last_unix_ms),
                                      .success = read_pair(&figures->success),
                                      .fail = read_pair(&figures->fail),
                                      .queue = read_pair(&figures->queue),
                                      .input = read_pair(&figures->input),
                                      .infer = read_pair(&figures->infer),
                                      .output = read_pair(&figures->output)};
}

struct statistics_batch statistics_read_batch(const struct statistics *statistics, int tag, uint32_t rows) {
    const struct figures *figures = figures_of(statistics, tag);
    if (!figures || rows > statistics->most_rows)
        return (struct statistics_batch){.count = 0};
    const struct batch_figures *batch = &figures->batches[rows];
    return (struct statistics_batch){.count = read_counter(&batch->count),
                                     .input_ns = read_counter(&batch->input_ns),
                                     .infer_ns = read_counter(&batch->infer_ns),
                                     .output_ns = read_counter(&batch->output_ns)};
}

uint32_t statistics_most_rows(const struct statistics *statistics) {
    return statistics->most_rows;
}
