#include <criterion/criterion.h>

#include "engine/graph/arena.h"

/* A chain of steps over buffers of these sizes; the first is the input. */
static void make_chain(struct program *program, const size_t *elements, int count) {
    for (int i = 0; i < count; i++)
        program_add_buffer(program, elements[i]);
    program->buffers[0].place = PROGRAM_INPUT;
    for (int i = 1; i < count; i++)
        program_add_step(program, PROGRAM_DENSE, i - 1, i);
}

Test(arena, a_chain_needs_room_for_two_neighbours_only) {
    static const size_t elements[] = {784, 512, 256, 512, 16, 512};
    struct program program = {0};
    make_chain(&program, elements, 6);
    cr_assert(arena_place(&program));
    cr_assert_leq(program.arena_row_bytes, (512 + 512 + 256) * sizeof(float));
    for (int i = 1; i < 6; i++)
        cr_assert_eq(program.buffers[i].row_offset_bytes % ARENA_LINE_BYTES, 0);
    program_release(&program);
}

Test(arena, buffers_alive_together_never_overlap) {
    struct program program = {0};
    enum { BUFFERS = 60 };
    uint32_t random = 7;
    for (int i = 0; i < BUFFERS; i++) {
        random = random * 1664525u + 1013904223u;
        program_add_buffer(&program, 1 + (random >> 24));
    }
    program.buffers[0].place = PROGRAM_INPUT;
    size_t last[BUFFERS] = {0};
    for (int i = 1; i < BUFFERS; i++) { /* each reads two earlier ones */
        random = random * 1664525u + 1013904223u;
        struct program_step *step = program_add_step(&program, PROGRAM_COMBINE, (int)((random >> 16) % (unsigned)i), i);
        step->x2 = i - 1;
        last[step->x] = last[step->x2] = last[i] = (size_t)i - 1;
    }
    cr_assert(arena_place(&program));
    for (int a = 1; a < BUFFERS; a++)
        for (int b = a + 1; b < BUFFERS; b++) {
            const struct program_buffer *one = &program.buffers[a], *other = &program.buffers[b];
            if (last[a] < (size_t)b - 1) /* a's last reader comes before b is written */
                continue;
            cr_assert(one->row_offset_bytes + one->row_elements * sizeof(float) <= other->row_offset_bytes ||
                          other->row_offset_bytes + other->row_elements * sizeof(float) <= one->row_offset_bytes,
                      "%d and %d", a, b);
        }
    program_release(&program);
}

Test(arena, inputs_and_outputs_take_no_room) {
    static const size_t elements[] = {100, 100};
    struct program program = {0};
    make_chain(&program, elements, 2);
    program.buffers[1].place = PROGRAM_OUTPUT;
    cr_assert(arena_place(&program));
    cr_assert_eq(program.arena_row_bytes, 0);
    program_release(&program);
}

Test(arena, a_buffer_too_large_to_measure_is_refused) {
    static const size_t elements[] = {1, SIZE_MAX / 2};
    struct program program = {0};
    make_chain(&program, elements, 2);
    cr_assert_not(arena_place(&program));
    program_release(&program);
}
