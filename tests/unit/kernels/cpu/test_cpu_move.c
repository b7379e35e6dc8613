#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_move.h"
#include "kernels/ref/ref_move.h"

/* Against the oracle over random shapes. Buffers are on the heap, of exact size, so that sanitizers see each step
 * outside. */
enum { ROUNDS = 300 };
static uint32_t state = 1;

static size_t pick(size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
}

static struct view random_view(enum element element, int rank, size_t largest) {
    struct view view = {.element = element, .rank = rank};
    for (int d = 0; d < rank; d++)
        view.dims[d] = pick(8) == 0 ? 1 : 1 + pick(largest);
    return view;
}

static void fill(struct view *view) {
    size_t bytes = view_count(view) * view_element_bytes(view->element);
    view->data = malloc(bytes + (bytes == 0));
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)view->data)[i] = (uint8_t)pick(251);
}

static enum element random_element(void) {
    static const enum element elements[] = {ELEMENT_F32, ELEMENT_U8, ELEMENT_I64, ELEMENT_I32, ELEMENT_BOOL};
    return elements[pick(5)];
}

/* Compares the bytes of both kernels' y. */
static void compare(const struct operation *operation, operation_function oracle, const struct view *inputs,
                    struct view y) {
    size_t bytes = view_count(&y) * view_element_bytes(y.element);
    operation_function fast = cpu_move_find(operation, inputs, &y);
    struct view fast_y = y, slow_y = y;
    cr_assert_not_null(fast);
    fast_y.data = malloc(bytes + (bytes == 0));
    slow_y.data = malloc(bytes + (bytes == 0));
    memset(fast_y.data, 0xA5, bytes);
    memset(slow_y.data, 0x5A, bytes);
    oracle(operation, inputs, &slow_y, NULL);
    fast(operation, inputs, &fast_y, NULL);
    cr_assert(memcmp(fast_y.data, slow_y.data, bytes) == 0, "operation %d, rank %d", (int)operation->kind, y.rank);
    free(fast_y.data);
    free(slow_y.data);
}

static void compare_transposed(struct view x, const int *order) {
    struct operation operation = {.kind = OPERATION_TRANSPOSE};
    struct view y = x;
    for (int d = 0; d < x.rank; d++) {
        operation.transpose.order[d] = order[d];
        y.dims[d] = x.dims[order[d]];
    }
    fill(&x);
    compare(&operation, ref_transpose, &x, y);
    free(x.data);
}

Test(cpu_move, any_order_transposes_like_the_oracle) {
    for (int round = 0; round < ROUNDS; round++) {
        int order[5] = {0, 1, 2, 3, 4}, rank = 1 + (int)pick(5);
        for (int d = rank - 1; d > 0; d--) {
            int other = (int)pick((size_t)d + 1), kept = order[d];
            order[d] = order[other];
            order[other] = kept;
        }
        compare_transposed(random_view(random_element(), rank, rank > 3 ? 9 : 37), order);
    }
}

Test(cpu_move, the_usual_orders_transpose_large_tensors_too) {
    static const int orders[4][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}};
    for (int i = 0; i < 4; i++) {
        compare_transposed((struct view){.rank = 4, .dims = {2, 33, 12, 64}}, orders[i]);
        compare_transposed((struct view){.rank = 4, .dims = {2, 3, 129, 65}}, orders[i]);
        compare_transposed((struct view){.rank = 4, .dims = {2, 129, 65, 3}, .element = ELEMENT_U8}, orders[i]);
    }
    compare_transposed((struct view){.rank = 2, .dims = {301, 1021}}, (int[]){1, 0});
}

Test(cpu_move, slices_are_those_of_the_oracle) {
    for (int round = 0; round < ROUNDS; round++) {
        struct operation operation = {.kind = OPERATION_SLICE};
        struct view x = random_view(random_element(), 1 + (int)pick(5), 9), y = x;
        for (int d = 0; d < x.rank; d++) {
            size_t start = pick(x.dims[d]), step = 1 + pick(2);
            bool backwards = pick(3) == 0;
            y.dims[d] = (backwards ? start : x.dims[d] - 1 - start) / step + 1;
            if (pick(20) == 0)
                y.dims[d] = 0;
            operation.slice.start[d] = (int64_t)start;
            operation.slice.step[d] = backwards ? -(int64_t)step : (int64_t)step;
        }
        fill(&x);
        compare(&operation, ref_slice, &x, y);
        free(x.data);
    }
}

Test(cpu_move, concatenation_is_that_of_the_oracle) {
    for (int round = 0; round < ROUNDS; round++) {
        int rank = 1 + (int)pick(5), count = 1 + (int)pick(4);
        struct operation operation = {.kind = OPERATION_CONCAT, .axis = (int)pick((size_t)rank)};
        struct view inputs[4], y = random_view(random_element(), rank, 7);
        y.dims[operation.axis] = 0;
        for (int i = 0; i < count; i++) {
            inputs[i] = y;
            inputs[i].dims[operation.axis] = pick(6);
            fill(&inputs[i]);
        }
        for (int i = 0; i < count; i++)
            y.dims[operation.axis] += inputs[i].dims[operation.axis];
        compare(&operation, ref_concat, inputs, y);
        for (int i = 0; i < count; i++)
            free(inputs[i].data);
    }
}

Test(cpu_move, gathering_is_that_of_the_oracle_even_out_of_range) {
    for (int round = 0; round < ROUNDS; round++) {
        struct view inputs[2] = {random_view(random_element(), 1 + (int)pick(4), 7),
                                 random_view(pick(2) ? ELEMENT_I32 : ELEMENT_I64, (int)pick(3), 5)};
        struct operation operation = {.kind = OPERATION_GATHER};
        int axis = (int)pick((size_t)inputs[0].rank);
        operation.gather.axis = axis;
        struct view y = {.element = inputs[0].element};
        for (int d = 0; d < axis; d++)
            y.dims[y.rank++] = inputs[0].dims[d];
        for (int d = 0; d < inputs[1].rank; d++)
            y.dims[y.rank++] = inputs[1].dims[d];
        for (int d = axis + 1; d < inputs[0].rank; d++)
            y.dims[y.rank++] = inputs[0].dims[d];
        fill(&inputs[0]);
        fill(&inputs[1]);
        for (size_t i = 0; i < view_count(&inputs[1]); i++) {
            int64_t index = (int64_t)pick(2 * inputs[0].dims[axis] + 2) - (int64_t)inputs[0].dims[axis] - 1;
            if (inputs[1].element == ELEMENT_I32)
                ((int32_t *)inputs[1].data)[i] = (int32_t)index;
            else
                ((int64_t *)inputs[1].data)[i] = index;
        }
        compare(&operation, ref_gather, inputs, y);
        free(inputs[0].data);
        free(inputs[1].data);
    }
}

Test(cpu_move, expanding_is_that_of_the_oracle) {
    for (int round = 0; round < ROUNDS; round++) {
        struct operation operation = {.kind = OPERATION_EXPAND};
        struct view y = random_view(random_element(), 1 + (int)pick(5), 7), x = y;
        int lead = (int)pick((size_t)y.rank + 1);
        x.rank -= lead;
        for (int d = 0; d < x.rank; d++)
            x.dims[d] = pick(2) ? 1 : y.dims[lead + d];
        fill(&x);
        compare(&operation, ref_expand, &x, y);
        free(x.data);
    }
}

Test(cpu_move, tiling_is_that_of_the_oracle) {
    for (int round = 0; round < ROUNDS; round++) {
        struct operation operation = {.kind = OPERATION_TILE};
        struct view x = random_view(random_element(), 1 + (int)pick(5), 5), y = x;
        for (int d = 0; d < x.rank; d++)
            y.dims[d] *= pick(10) == 0 ? 0 : 1 + pick(3);
        fill(&x);
        compare(&operation, ref_tile, &x, y);
        free(x.data);
    }
}

Test(cpu_move, padding_is_that_of_the_oracle_in_every_mode) {
    for (int round = 0; round < 2 * ROUNDS; round++) {
        struct operation operation = {.kind = OPERATION_PAD, .pad = {.mode = (enum pad_mode)pick(4)}};
        struct view inputs[2] = {random_view(random_element(), 1 + (int)pick(5), 6)}, y = inputs[0];
        for (int d = 0; d < y.rank; d++) {
            operation.pad.before[d] = (int64_t)pick(5) - 1;
            int64_t size = (int64_t)y.dims[d] + operation.pad.before[d] + (int64_t)pick(5) - 1;
            y.dims[d] = size > 0 ? (size_t)size : 0;
        }
        inputs[1] = (struct view){.element = y.element};
        fill(&inputs[0]);
        if (pick(2))
            fill(&inputs[1]);
        compare(&operation, ref_pad, inputs, y);
        free(inputs[0].data);
        free(inputs[1].data);
    }
}

Test(cpu_move, a_large_padding_and_a_large_gathering_are_right_with_threads) {
    struct operation pad = {.kind = OPERATION_PAD, .pad = {.before = {0, 0, 1, 1}}};
    struct view inputs[2] = {{.rank = 4, .dims = {2, 9, 70, 70}}, {.element = ELEMENT_F32}};
    fill(&inputs[0]);
    compare(&pad, ref_pad, inputs, (struct view){.rank = 4, .dims = {2, 9, 72, 72}});
    struct operation gather = {.kind = OPERATION_GATHER, .gather = {.axis = 2}};
    int64_t indices[64];
    for (int i = 0; i < 64; i++)
        indices[i] = i * 7 % 70;
    inputs[1] = (struct view){.data = indices, .element = ELEMENT_I64, .rank = 1, .dims = {64}};
    compare(&gather, ref_gather, inputs, (struct view){.rank = 4, .dims = {2, 9, 64, 70}});
    free(inputs[0].data);
}

Test(cpu_move, there_is_no_kernel_for_other_operations) {
    struct view x = {.rank = 1, .dims = {1}};
    cr_assert_null(cpu_move_find(&(struct operation){.kind = OPERATION_TRILU}, &x, &x));
}
