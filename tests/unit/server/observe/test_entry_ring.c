#include "server/observe/entry_ring.h"

#include <criterion/criterion.h>

enum { ENTRIES = 8 };

struct item {
    struct ring_entry ring;
    int number;
};

static struct entry_ring ring;
static struct weir_error err;

static void setup(void) {
    cr_assert_eq(entry_ring_open(&ring, ENTRIES, sizeof(struct item), &err), WEIR_OK);
}

static void teardown(void) {
    entry_ring_close(&ring);
}

TestSuite(entry_ring, .init = setup, .fini = teardown);

static uint32_t put(int number) {
    struct item *item = entry_ring_begin(&ring);
    cr_assert_not_null(item);
    item->number = number;
    return entry_ring_put(&ring, item, 1);
}

/* Takes up to `most` and expects them to be numbered from first. */
static uint32_t take(uint32_t most, int first) {
    struct ring_visit visit;
    ring_visit_begin(&visit, &ring);
    for (const struct item *item; most > 0 && (item = ring_visit_look(&visit)); most--, ring_visit_next(&visit))
        cr_assert_eq(item->number, first++);
    return ring_visit_end(&visit);
}

Test(entry_ring, what_is_put_is_taken_in_order) {
    for (int i = 0; i < 5; i++)
        cr_assert_eq(put(i), (uint32_t)i + 1);
    cr_assert_eq(entry_ring_waiting(&ring), 5);
    cr_assert_eq(take(2, 0), 2);
    cr_assert_eq(entry_ring_waiting(&ring), 3);
    cr_assert_eq(take(9, 2), 3);
    cr_assert_eq(take(9, 0), 0);
}

Test(entry_ring, it_runs_out_of_entries_and_gets_them_back) {
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < ENTRIES; i++)
            put(round + i);
        cr_assert_null(entry_ring_begin(&ring));
        cr_assert_eq(take(3, round), 3);
        struct item *three[3];
        for (int i = 0; i < 3; i++)
            cr_assert_not_null(three[i] = entry_ring_begin(&ring));
        cr_assert_null(entry_ring_begin(&ring));
        for (int i = 0; i < 3; i++)
            entry_ring_forgo(&ring, three[i]);
        cr_assert_eq(take(ENTRIES, round + 3), ENTRIES - 3);
    }
}

Test(entry_ring, the_entry_used_last_is_used_first) {
    struct item *item = entry_ring_begin(&ring);
    entry_ring_forgo(&ring, item);
    cr_assert_eq((void *)entry_ring_begin(&ring), (void *)item);
}

Test(entry_ring, whoever_puts_looks_again_only_when_there_may_be_enough) {
    put(0);
    cr_assert_eq(take(1, 0), 1);
    struct item *item = entry_ring_begin(&ring);
    cr_assert_eq(entry_ring_put(&ring, item, 3), 2, "it has not looked: one was taken");
    item = entry_ring_begin(&ring);
    cr_assert_eq(entry_ring_put(&ring, item, 3), 2, "it has looked");
}
