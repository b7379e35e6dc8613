#include "engine/graph/arena.h"

#include <stdlib.h>
#include <string.h>

/* First and last step that touches a buffer. */
struct life {
    size_t first, last;
    bool used;
};

static void touch(struct life *life, size_t step) {
    if (!life->used)
        life->first = step;
    life->used = true;
    life->last = step;
}

static struct life *measure_lives(const struct program *program) {
    struct life *lives = calloc((size_t)program->buffer_count + 1, sizeof *lives);
    for (size_t i = 0; lives && i < program->step_count; i++) {
        const struct program_step *step = &program->steps[i];
        touch(&lives[step->x], i);
        touch(&lives[step->y], i);
        if (step->x2 >= 0)
            touch(&lives[step->x2], i);
    }
    return lives;
}

static bool row_bytes(const struct program_buffer *buffer, size_t *out) {
    size_t bytes;
    if (__builtin_mul_overflow(buffer->row_elements, sizeof(float), &bytes) || bytes > SIZE_MAX - ARENA_LINE_BYTES)
        return false;
    *out = (bytes + ARENA_LINE_BYTES - 1) / ARENA_LINE_BYTES * ARENA_LINE_BYTES;
    return true;
}

/* Puts the buffer into the first gap between those alive, which are sorted by offset. */
static bool place(struct program *program, int *alive, int *alive_count, int buffer) {
    size_t bytes, offset = 0, taken = 0, end;
    int at = 0;
    if (!row_bytes(&program->buffers[buffer], &bytes))
        return false;
    for (; at < *alive_count; at++) {
        const struct program_buffer *other = &program->buffers[alive[at]];
        if (other->row_offset_bytes - offset >= bytes)
            break;
        (void)row_bytes(other, &taken);
        offset = other->row_offset_bytes + taken;
    }
    if (__builtin_add_overflow(offset, bytes, &end))
        return false;
    memmove(alive + at + 1, alive + at, (size_t)(*alive_count - at) * sizeof *alive);
    alive[at] = buffer;
    ++*alive_count;
    program->buffers[buffer].row_offset_bytes = offset;
    if (end > program->arena_row_bytes)
        program->arena_row_bytes = end;
    return true;
}

bool arena_place(struct program *program) {
    struct life *lives = measure_lives(program);
    int *alive = calloc((size_t)program->buffer_count + 1, sizeof *alive);
    int alive_count = 0;
    bool placed = lives && alive;
    program->arena_row_bytes = 0;
    for (size_t i = 0; placed && i < program->step_count; i++) {
        int y = program->steps[i].y;
        if (program->buffers[y].place == PROGRAM_ARENA && lives[y].first == i)
            placed = place(program, alive, &alive_count, y);
        int kept = 0;
        for (int j = 0; j < alive_count; j++)
            if (lives[alive[j]].last > i)
                alive[kept++] = alive[j];
        alive_count = kept;
    }
    free(lives);
    free(alive);
    return placed;
}
