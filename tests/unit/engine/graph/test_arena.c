#include "engine/graph/arena.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

static struct program program;

static void destroy(void) {
    program_release(&program);
}

TestSuite(arena, .fini = destroy);

static int add(size_t elements) {
    return program_add_buffer(&program, TENSOR_F32, &(struct tensor_shape){.rank = 1, .dims = {(int64_t)elements}});
}

static void step(int x, int y) {
    cr_assert_not_null(program_add_step(&program, OPERATION_COPY, &x, 1, &y, 1));
}

Test(arena, a_chain_needs_room_for_two_neighbours_only) {
    static const size_t elements[] = {784, 512, 256, 512, 16, 512};
    size_t offsets[6], bytes;
    for (int i = 0; i < 6; i++)
        add(elements[i]);
    program.buffers[0].place = PROGRAM_INPUT;
    for (int i = 1; i < 6; i++)
        step(i - 1, i);
    cr_assert(arena_place(&program, NULL, offsets, &bytes));
    cr_assert_leq(bytes, (512 + 512 + 256) * sizeof(float));
    cr_assert_eq(offsets[0], SIZE_MAX);
    for (int i = 1; i < 6; i++)
        cr_assert_eq(offsets[i] % ARENA_ALIGNMENT, 0);
}

Test(arena, buffers_alive_together_never_overlap) {
    enum { BUFFERS = 60 };
    uint32_t random = 7;
    size_t last[BUFFERS] = {0}, offsets[BUFFERS], bytes;
    for (int i = 0; i < BUFFERS; i++) {
        random = random * 1664525u + 1013904223u;
        add(1 + (random >> 24));
    }
    program.buffers[0].place = PROGRAM_INPUT;
    for (int i = 1; i < BUFFERS; i++) { /* each reads two earlier ones */
        random = random * 1664525u + 1013904223u;
        int inputs[2] = {(int)((random >> 16) % (unsigned)i), i - 1};
        cr_assert_not_null(program_add_step(&program, OPERATION_BINARY, inputs, 2, &i, 1));
        last[inputs[0]] = last[inputs[1]] = last[i] = (size_t)i - 1;
    }
    cr_assert(arena_place(&program, NULL, offsets, &bytes));
    for (int a = 1; a < BUFFERS; a++)
        for (int b = a + 1; b < BUFFERS; b++) {
            if (last[a] < (size_t)b - 1) /* a's last reader comes before b is written */
                continue;
            cr_assert(offsets[a] + program.buffers[a].bytes <= offsets[b] ||
                          offsets[b] + program.buffers[b].bytes <= offsets[a],
                      "%d and %d", a, b);
        }
    for (int i = 1; i < BUFFERS; i++)
        cr_assert_leq(offsets[i] + program.buffers[i].bytes, bytes);
}

Test(arena, an_alias_keeps_its_root_alive_and_shares_its_place) {
    size_t offsets[4], bytes;
    int x = add(64), a = add(64), alias = add(64), b = add(64);
    program.buffers[x].place = PROGRAM_INPUT;
    program.buffers[alias].place = PROGRAM_ALIAS;
    program.buffers[alias].index = a;
    step(x, a);
    step(x, b);
    int inputs[2] = {alias, b}, out = add(64);
    program.buffers[out].place = PROGRAM_OUTPUT;
    cr_assert_not_null(program_add_step(&program, OPERATION_BINARY, inputs, 2, &out, 1));
    size_t more[5];
    cr_assert(arena_place(&program, NULL, more, &bytes));
    for (int i = 0; i < 4; i++)
        offsets[i] = more[i];
    cr_assert_eq(offsets[alias], offsets[a]);
    cr_assert_neq(offsets[b], offsets[a]);
    cr_assert(offsets[x] == SIZE_MAX && more[out] == SIZE_MAX && bytes == 512);
}

Test(arena, sizes_may_be_larger_than_the_elements) {
    size_t offsets[3], sizes[3] = {0, 1000, 10}, bytes;
    int x = add(1), a = add(1), b = add(1);
    program.buffers[x].place = PROGRAM_INPUT;
    step(x, a);
    step(a, b);
    cr_assert(arena_place(&program, sizes, offsets, &bytes));
    cr_assert(bytes >= 1024 + 64 && offsets[a] != offsets[b]);
    sizes[1] = SIZE_MAX - 10;
    cr_assert(!arena_place(&program, sizes, offsets, &bytes));
}
