#include <criterion/criterion.h>
#include <stdlib.h>

#include "server/http/deadlines.h"

Test(deadlines, they_pass_in_order) {
    struct deadlines heap = {0};
    struct deadline items[100];
    cr_assert(deadlines_reserve(&heap, 100));
    srand(1);
    for (int i = 0; i < 100; i++) {
        items[i] = (struct deadline){.at_ns = DEADLINE_NEVER};
        deadlines_set(&heap, &items[i], rand() % 1000);
    }
    int64_t last_ns = -1;
    for (int i = 0; i < 100; i++) {
        struct deadline *next = deadlines_pop(&heap, 1000);
        cr_assert_not_null(next);
        cr_assert_geq(next->at_ns, last_ns);
        last_ns = next->at_ns;
    }
    cr_assert_null(deadlines_pop(&heap, 1000));
    deadlines_release(&heap);
}

Test(deadlines, one_moved_later_does_not_pass_early) {
    struct deadlines heap = {0};
    struct deadline item = {.at_ns = DEADLINE_NEVER};
    cr_assert(deadlines_reserve(&heap, 1));
    deadlines_set(&heap, &item, 10);
    deadlines_set(&heap, &item, 50);
    cr_assert_eq(deadlines_next_ns(&heap), 10, "the heap looks at its old place first");
    cr_assert_null(deadlines_pop(&heap, 20));
    cr_assert_eq(deadlines_next_ns(&heap), 50);
    cr_assert_eq(deadlines_pop(&heap, 50), &item);
    deadlines_release(&heap);
}

Test(deadlines, one_moved_earlier_passes_on_time) {
    struct deadlines heap = {0};
    struct deadline items[3] = {{.at_ns = DEADLINE_NEVER}, {.at_ns = DEADLINE_NEVER}, {.at_ns = DEADLINE_NEVER}};
    cr_assert(deadlines_reserve(&heap, 3));
    deadlines_set(&heap, &items[0], 10);
    deadlines_set(&heap, &items[1], 20);
    deadlines_set(&heap, &items[2], 30);
    deadlines_set(&heap, &items[2], 5);
    cr_assert_eq(deadlines_pop(&heap, 7), &items[2]);
    cr_assert_null(deadlines_pop(&heap, 7));
    deadlines_release(&heap);
}

Test(deadlines, one_set_to_never_does_not_pass) {
    struct deadlines heap = {0};
    struct deadline item = {.at_ns = DEADLINE_NEVER};
    cr_assert(deadlines_reserve(&heap, 1));
    deadlines_set(&heap, &item, 10);
    deadlines_set(&heap, &item, DEADLINE_NEVER);
    cr_assert_null(deadlines_pop(&heap, 1000));
    cr_assert_eq(heap.count, 0);
    deadlines_release(&heap);
}

Test(deadlines, removing_keeps_the_others_in_order) {
    struct deadlines heap = {0};
    struct deadline items[50];
    cr_assert(deadlines_reserve(&heap, 50));
    for (int i = 0; i < 50; i++) {
        items[i] = (struct deadline){.at_ns = DEADLINE_NEVER};
        deadlines_set(&heap, &items[i], (i * 37) % 50);
    }
    for (int i = 0; i < 50; i += 2)
        deadlines_remove(&heap, &items[i]);
    int64_t last_ns = -1;
    int left = 0;
    struct deadline *next;
    while ((next = deadlines_pop(&heap, 1000)) != NULL) {
        cr_assert_eq((next - items) % 2, 1);
        cr_assert_geq(next->at_ns, last_ns);
        last_ns = next->at_ns;
        left++;
    }
    cr_assert_eq(left, 25);
    deadlines_release(&heap);
}
