#include "kernels/cpu/cpu_broadcast.h"

#include "kernels/cpu/cpu_parallel.h"

/* Elements of the result that one thread takes at a time. */
enum { PIECE = 8192 };

struct split {
    size_t rows, cols;             /* of the two innermost dimensions */
    size_t rows_each, cols_each;   /* of a tile */
    size_t row_pieces, col_pieces; /* tiles beside one another */
    size_t tiles, tiles_each;      /* all, and those of a task */
};

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t at_least_one(size_t a) {
    return a > 0 ? a : 1;
}

static size_t pieces_of(size_t size, size_t each) {
    return (size + each - 1) / each;
}

static struct split split_over(const struct broadcast *broadcast) {
    struct split split = {.rows = broadcast->rank > 1 ? broadcast->dims[broadcast->rank - 2] : 1,
                          .cols = broadcast->dims[broadcast->rank - 1]};
    size_t all_rows = broadcast_rows(broadcast);
    if (all_rows == 0 || split.cols == 0)
        return split;
    split.cols_each = smaller(split.cols, PIECE);
    split.rows_each = at_least_one(smaller(split.rows, PIECE / split.cols_each));
    split.row_pieces = pieces_of(split.rows, split.rows_each);
    split.col_pieces = pieces_of(split.cols, split.cols_each);
    split.tiles = all_rows / at_least_one(split.rows) * split.row_pieces * split.col_pieces;
    split.tiles_each = at_least_one(PIECE / (split.rows_each * split.cols_each));
    return split;
}

static void run_tile(const struct broadcast *broadcast, const struct split *split, size_t number,
                     cpu_broadcast_function function, const void *context) {
    size_t col = number % split->col_pieces * split->cols_each;
    size_t row = number / split->col_pieces % split->row_pieces * split->rows_each;
    size_t first = number / split->col_pieces / split->row_pieces * split->rows + row;
    struct broadcast_place place = broadcast_row(broadcast, first);
    struct cpu_broadcast_tile tile = {.to = first * split->cols + col,
                                      .to_stride = split->cols,
                                      .rows = smaller(split->rows - row, split->rows_each),
                                      .cols = smaller(split->cols - col, split->cols_each)};
    for (int k = 0; k < broadcast->input_count; k++) {
        const size_t *strides = broadcast->strides[k];
        tile.repeated[k] = strides[broadcast->rank - 1] == 0;
        tile.strides[k] = broadcast->rank > 1 ? strides[broadcast->rank - 2] : 0;
        tile.starts[k] = place.starts[k] + (tile.repeated[k] ? 0 : col);
    }
    function(context, &tile);
}

struct tiles_job {
    const struct broadcast *broadcast;
    const struct split *split;
    cpu_broadcast_function function;
    const void *context;
};

static void run_tiles(const void *context, size_t from, size_t to) {
    const struct tiles_job *job = context;
    size_t end = smaller(to * job->split->tiles_each, job->split->tiles);
    for (size_t number = from * job->split->tiles_each; number < end; number++)
        run_tile(job->broadcast, job->split, number, job->function, job->context);
}

void cpu_broadcast_run(const struct broadcast *broadcast, cpu_broadcast_function function, const void *context) {
    struct split split = split_over(broadcast);
    if (split.tiles == 0)
        return;
    struct tiles_job job = {broadcast, &split, function, context};
    cpu_parallel_run(run_tiles, &job, pieces_of(split.tiles, split.tiles_each),
                     split.tiles * split.rows_each * split.cols_each);
}
