#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <time.h>

#include "engine/clock.h"

Test(clock, it_never_goes_back) {
    int64_t last = clock_now_ns();
    for (int i = 0; i < 100000; i++) {
        int64_t now = clock_now_ns();
        cr_assert(now >= last);
        last = now;
    }
}

Test(clock, it_is_the_monotonic_clock_in_nanoseconds) {
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    int64_t now = clock_now_ns();
    clock_gettime(CLOCK_MONOTONIC, &after);
    cr_assert(now >= before.tv_sec * INT64_C(1000000000) + before.tv_nsec);
    cr_assert(now <= after.tv_sec * INT64_C(1000000000) + after.tv_nsec);
}

Test(clock, its_units_are_consistent) {
    cr_assert(CLOCK_NS_PER_S == INT64_C(1000) * CLOCK_NS_PER_MS);
    cr_assert(CLOCK_NS_PER_MS == 1000 * CLOCK_NS_PER_US);
}
