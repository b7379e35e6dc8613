#include "engine/catalog/paired.h"

#include <criterion/criterion.h>
#include <math.h>

static struct paired paired;

static void note(int times, int64_t first_ns, int64_t second_ns) {
    for (int i = 0; i < times; i++)
        paired_note(&paired, (int64_t[2]){first_ns, second_ns});
}

static void expect(double ratio) {
    double got = paired_ratio(&paired);
    cr_assert(fabs(got - ratio) < 0.001, "%g, not %g", got, ratio);
}

Test(paired, what_is_slower_by_itself_is_told) {
    expect(0);
    note(1, 60, 111);
    expect(1.85);
    note(8, 60, 111);
    expect(1.85);
    note(4, 120, 222);
    expect(1.85);
}

Test(paired, a_moment_of_quiet_for_one_alone_says_nothing) {
    note(1, 60, 111);
    note(8, 110, 111);
    expect(1.009);
    note(1, 110, 60);
    expect(1.0);
}

Test(paired, load_that_comes_and_goes_says_nothing) {
    for (int i = 0; i < 5; i++) {
        note(1, 60, 110);
        note(1, 110, 60);
    }
    expect(1.0);
    note(3, 60, 110);
    expect(1.0);
}

Test(paired, rounds_that_bring_nothing_quicker_are_counted) {
    note(1, 60, 111);
    cr_assert_eq(paired.stale, 0);
    note(5, 60, 111);
    cr_assert_eq(paired.stale, 5);
    note(1, 70, 110);
    cr_assert_eq(paired.stale, 0);
    cr_assert_eq(paired.rounds, 7);
}

Test(paired, the_last_rounds_count_where_there_are_many) {
    note(PAIRED_MOST, 100, 300);
    note(PAIRED_MOST, 100, 200);
    expect(2);
    note(PAIRED_MOST, 100, 400);
    expect(2);
}
