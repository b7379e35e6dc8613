#include "engine/graph/arena.h"

#include <stdlib.h>
#include <string.h>

/* First and last step that touches a buffer. */
struct life {
    size_t first, last;
    bool used;
};

struct placement {
    const struct program *program;
    const size_t *sizes;
    size_t *offsets;
    struct life *lives;
    int *alive; /* sorted by offset */
    int alive_count;
    size_t end;
};

static void touch(struct placement *placement, int buffer, size_t step) {
    if (buffer < 0)
        return;
    struct life *life = &placement->lives[program_root(placement->program, buffer)];
    if (!life->used)
        life->first = step;
    life->used = true;
    life->last = step;
}

static void measure_lives(struct placement *placement) {
    const struct program *program = placement->program;
    for (size_t i = 0; i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        for (int j = 0; j < step->input_count; j++)
            touch(placement, step->inputs[j], i);
        for (int j = 0; j < step->output_count; j++)
            touch(placement, step->outputs[j], i);
    }
}

static bool bytes_of(const struct placement *placement, int buffer, size_t *out) {
    size_t bytes = placement->sizes ? placement->sizes[buffer] : placement->program->buffers[buffer].bytes;
    if (bytes > SIZE_MAX - ARENA_ALIGNMENT)
        return false;
    *out = (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    return true;
}

/* Puts the buffer into the smallest gap that holds it between those alive, else behind the last of them. */
static bool place(struct placement *placement, int buffer) {
    size_t bytes, offset = 0, taken = 0, end, best = SIZE_MAX, best_gap = SIZE_MAX;
    int at = placement->alive_count;
    if (!bytes_of(placement, buffer, &bytes))
        return false;
    for (int i = 0; i < placement->alive_count; i++) {
        size_t start = placement->offsets[placement->alive[i]];
        if (start - offset >= bytes && start - offset < best_gap) {
            best = offset;
            best_gap = start - offset;
            at = i;
        }
        (void)bytes_of(placement, placement->alive[i], &taken);
        offset = start + taken;
    }
    if (best == SIZE_MAX)
        best = offset;
    if (__builtin_add_overflow(best, bytes, &end))
        return false;
    memmove(placement->alive + at + 1, placement->alive + at,
            (size_t)(placement->alive_count - at) * sizeof *placement->alive);
    placement->alive[at] = buffer;
    placement->alive_count++;
    placement->offsets[buffer] = best;
    if (end > placement->end)
        placement->end = end;
    return true;
}

static void bury(struct placement *placement, size_t step) {
    int kept = 0;
    for (int j = 0; j < placement->alive_count; j++)
        if (placement->lives[placement->alive[j]].last > step)
            placement->alive[kept++] = placement->alive[j];
    placement->alive_count = kept;
}

bool arena_place(const struct program *program, const size_t *sizes, size_t *offsets, size_t *bytes) {
    size_t count = (size_t)program->buffer_count + 1;
    struct placement placement = {.program = program,
                                  .sizes = sizes,
                                  .offsets = offsets,
                                  .lives = calloc(count, sizeof(struct life)),
                                  .alive = calloc(count, sizeof(int))};
    bool placed = placement.lives && placement.alive;
    for (int i = 0; i < program->buffer_count; i++)
        offsets[i] = SIZE_MAX;
    if (placed)
        measure_lives(&placement);
    for (size_t i = 0; placed && i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        for (int j = 0; placed && j < step->output_count; j++) {
            int root = step->outputs[j] < 0 ? -1 : program_root(program, step->outputs[j]);
            if (root >= 0 && program->buffers[root].place == PROGRAM_ARENA && placement.lives[root].first == i &&
                offsets[root] == SIZE_MAX)
                placed = place(&placement, root);
        }
        bury(&placement, i);
    }
    for (int i = 0; placed && i < program->buffer_count; i++)
        offsets[i] = offsets[program_root(program, i)];
    free(placement.lives);
    free(placement.alive);
    if (placed)
        *bytes = placement.end;
    return placed;
}
