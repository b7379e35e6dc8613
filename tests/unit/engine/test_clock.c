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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool is_changed;

Test(clock, a_wait_ends_when_its_time_has_come) {
    clock_cond_init(&changed);
    int64_t at_ns = clock_now_ns() + 20 * CLOCK_NS_PER_MS;
    pthread_mutex_lock(&lock);
    while (clock_cond_wait(&changed, &lock, at_ns))
        continue;
    pthread_mutex_unlock(&lock);
    cr_assert(clock_now_ns() >= at_ns);
    pthread_cond_destroy(&changed);
}

static void *change(void *context) {
    pthread_mutex_lock(&lock);
    is_changed = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return context;
}

Test(clock, a_wait_ends_with_a_signal) {
    pthread_t thread;
    clock_cond_init(&changed);
    int64_t at_ns = clock_now_ns() + 3600 * CLOCK_NS_PER_S;
    cr_assert(pthread_create(&thread, NULL, change, NULL) == 0);
    pthread_mutex_lock(&lock);
    while (!is_changed)
        cr_assert(clock_cond_wait(&changed, &lock, at_ns));
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&changed);
}

Test(clock, its_units_are_consistent) {
    cr_assert(CLOCK_NS_PER_S == INT64_C(1000) * CLOCK_NS_PER_MS);
    cr_assert(CLOCK_NS_PER_MS == 1000 * CLOCK_NS_PER_US);
}
