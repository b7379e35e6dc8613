#include "kernels/cpu/cpu_strided.h"

#include <stdbool.h>
#include <string.h>

/* CHUNK_BYTES: what a thread takes at a time. BLOCK: rows of x's columns that are turned together, a cache line of
 * floats. */
enum { PARALLEL_BYTES = 1 << 18, CHUNK_BYTES = 1 << 15, BLOCK = 16, LANES = 4 };

/* The innermost loop of a copy: `count` elements, or where it turns, a block of up to BLOCK times count. Its lines are
 * walked by the dimensions that are left. All steps are in bytes. */
struct line {
    enum { LINE_RUN, LINE_STRIDED, LINE_TURNED } kind;
    size_t count;
    int64_t in, out;      /* from one element to the next */
    size_t across;        /* TURNED: size of the dimension that is contiguous in x */
    int64_t across_out;   /* TURNED: its step in y */
    size_t bytes, weight; /* of an element; of a line */
    size_t lines;
};

/* Drops dimensions of 1 and merges neighbours that are one dimension in x and in y. */
static void merge(struct cpu_strided *copy) {
    int rank = 0;
    for (int d = 0; d < copy->rank; d++) {
        if (copy->dims[d] == 1)
            continue;
        int64_t size = (int64_t)copy->dims[d];
        bool together =
            rank > 0 && copy->in[rank - 1] == copy->in[d] * size && copy->out[rank - 1] == copy->out[d] * size;
        if (together)
            rank--;
        copy->dims[rank] = together ? copy->dims[rank] * copy->dims[d] : copy->dims[d];
        copy->in[rank] = copy->in[d];
        copy->out[rank++] = copy->out[d];
    }
    copy->rank = rank;
}

static void remove_dimension(struct cpu_strided *copy, int at) {
    copy->rank--;
    for (int d = at; d < copy->rank; d++) {
        copy->dims[d] = copy->dims[d + 1];
        copy->in[d] = copy->in[d + 1];
        copy->out[d] = copy->out[d + 1];
    }
}

/* Takes the innermost loop out of the copy's dimensions. */
static struct line take_line(struct cpu_strided *copy) {
    int64_t bytes = (int64_t)copy->bytes;
    struct line line = {.kind = LINE_RUN, .count = 1, .in = bytes, .out = bytes, .bytes = copy->bytes, .lines = 1};
    int last = copy->rank - 1, across = last - 1;
    if (last >= 0) {
        line.count = copy->dims[last];
        line.in = copy->in[last] * bytes;
        line.out = copy->out[last] * bytes;
        line.kind = line.in == bytes && line.out == bytes ? LINE_RUN : LINE_STRIDED;
        remove_dimension(copy, last);
    }
    while (across >= 0 && copy->in[across] != 1)
        across--;
    if (line.kind == LINE_STRIDED && across >= 0 && line.out == bytes) {
        line.kind = LINE_TURNED;
        line.across = copy->dims[across];
        line.across_out = copy->out[across] * bytes;
        int64_t out = copy->out[across];
        remove_dimension(copy, across);
        copy->dims[copy->rank] = (line.across + BLOCK - 1) / BLOCK;
        copy->in[copy->rank] = BLOCK;
        copy->out[copy->rank++] = BLOCK * out;
    }
    line.weight = line.count * copy->bytes * (line.kind == LINE_TURNED ? BLOCK : 1);
    for (int d = 0; d < copy->rank; d++)
        line.lines *= copy->dims[d];
    return line;
}

static void copy_run(char *y, const char *x, size_t bytes) {
    switch (bytes) {
    case 4:
        memcpy(y, x, 4);
        break;
    case 8:
        memcpy(y, x, 8);
        break;
    case 16:
        memcpy(y, x, 16);
        break;
    case 32:
        memcpy(y, x, 32);
        break;
    case 64:
        memcpy(y, x, 64);
        break;
    default:
        memcpy(y, x, bytes);
    }
}

/* bytes is a constant where it is called. */
static inline void copy_strided(char *y, int64_t out, const char *x, int64_t in, size_t count, size_t bytes) {
    for (size_t i = 0; i < count; i++)
        memcpy(y + (int64_t)i * out, x + (int64_t)i * in, bytes);
}

static void copy_elements(char *y, int64_t out, const char *x, int64_t in, size_t count, size_t bytes) {
    if (bytes == 4)
        copy_strided(y, out, x, in, count, 4);
    else if (bytes == 8)
        copy_strided(y, out, x, in, count, 8);
    else
        copy_strided(y, out, x, in, count, 1);
}

/* Turns 4 rows of 4 elements of 4 bytes. */
static inline void turn_lanes(char *y, int64_t out, const char *x, int64_t in) {
    uint32_t __attribute__((vector_size(16))) a, b, c, d, low_ab, high_ab, low_cd, high_cd;
    memcpy(&a, x, sizeof a);
    memcpy(&b, x + in, sizeof b);
    memcpy(&c, x + 2 * in, sizeof c);
    memcpy(&d, x + 3 * in, sizeof d);
    low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5);
    d = __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7);
    memcpy(y, &a, sizeof a);
    memcpy(y + out, &b, sizeof b);
    memcpy(y + 2 * out, &c, sizeof c);
    memcpy(y + 3 * out, &d, sizeof d);
}

/* y[k][l] = x[l][k] for k < across, l < count. */
static void turn_block(const struct line *line, char *y, const char *x, size_t across) {
    int64_t bytes = (int64_t)line->bytes, out = line->across_out;
    size_t turned_across = 0, turned = 0;
    if (line->bytes == 4) {
        turned_across = across / LANES * LANES;
        turned = line->count / LANES * LANES;
        for (size_t l = 0; l < turned; l += LANES)
            for (size_t k = 0; k < turned_across; k += LANES)
                turn_lanes(y + (int64_t)k * out + (int64_t)l * bytes, out,
                           x + (int64_t)l * line->in + (int64_t)k * bytes, line->in);
    }
    for (size_t l = turned; l < line->count && turned_across > 0; l++)
        copy_elements(y + (int64_t)l * bytes, out, x + (int64_t)l * line->in, bytes, turned_across, line->bytes);
    if (line->count >= across)
        for (size_t k = turned_across; k < across; k++)
            copy_elements(y + (int64_t)k * out, bytes, x + (int64_t)k * bytes, line->in, line->count, line->bytes);
    else if (turned_across < across)
        for (size_t l = 0; l < line->count; l++)
            copy_elements(y + (int64_t)turned_across * out + (int64_t)l * bytes, out,
                          x + (int64_t)l * line->in + (int64_t)turned_across * bytes, bytes, across - turned_across,
                          line->bytes);
}

static void copy_lines(const struct line *line, char *y, const char *x, size_t first, size_t count,
                       const int64_t steps[2]) {
    for (size_t i = 0; i < count; i++, y += steps[1], x += steps[0]) {
        if (line->kind == LINE_RUN) {
            copy_run(y, x, line->count * line->bytes);
        } else if (line->kind == LINE_STRIDED) {
            copy_elements(y, line->out, x, line->in, line->count, line->bytes);
        } else {
            size_t left = line->across - (first + i) * BLOCK;
            turn_block(line, y, x, left < BLOCK ? left : BLOCK);
        }
    }
}

/* Lines first..end of the walk over the copy's dimensions. */
static void copy_range(const struct cpu_strided *copy, const struct line *line, size_t first, size_t end) {
    size_t at[CPU_STRIDED_MAX_RANK] = {0}, rest = first;
    int64_t bytes = (int64_t)copy->bytes, from = 0, to = 0;
    int last = copy->rank - 1;
    for (int d = last; d >= 0; rest /= copy->dims[d], d--) {
        at[d] = rest % copy->dims[d];
        from += (int64_t)at[d] * copy->in[d] * bytes;
        to += (int64_t)at[d] * copy->out[d] * bytes;
    }
    while (first < end) {
        size_t row = last < 0 ? 1 : copy->dims[last] - at[last], place = last < 0 ? 0 : at[last];
        size_t count = row < end - first ? row : end - first;
        int64_t steps[2] = {last < 0 ? 0 : copy->in[last] * bytes, last < 0 ? 0 : copy->out[last] * bytes};
        copy_lines(line, copy->y + to, copy->x + from, place, count, steps);
        first += count;
        for (int d = last, add = 1; d >= 0 && add; d--) {
            size_t moved = d == last ? count : 1;
            at[d] += moved;
            from += (int64_t)moved * copy->in[d] * bytes;
            to += (int64_t)moved * copy->out[d] * bytes;
            add = at[d] == copy->dims[d];
            if (add) {
                from -= (int64_t)at[d] * copy->in[d] * bytes;
                to -= (int64_t)at[d] * copy->out[d] * bytes;
                at[d] = 0;
            }
        }
    }
}

void cpu_strided_run(struct cpu_strided *copy) {
    for (int d = 0; d < copy->rank; d++)
        if (copy->dims[d] == 0)
            return;
    merge(copy);
    struct line line = take_line(copy);
    if (line.lines * line.weight < PARALLEL_BYTES) {
        copy_range(copy, &line, 0, line.lines);
        return;
    }
    size_t per_chunk = line.weight < CHUNK_BYTES ? CHUNK_BYTES / line.weight : 1;
    size_t chunks = (line.lines + per_chunk - 1) / per_chunk;
#pragma omp parallel for if (chunks > 1)
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        size_t end = (chunk + 1) * per_chunk;
        copy_range(copy, &line, chunk * per_chunk, end < line.lines ? end : line.lines);
    }
}
