/* What the double tells the sanitizers, where one is linked. The double itself is compiled without instrumentation and
 * locks with raw futexes, so that ThreadSanitizer sees no ordering but those that CUDA promises, declared here by hand.
 */
#ifndef WEIR_TESTS_DOUBLE_SANITIZERS_H
#define WEIR_TESTS_DOUBLE_SANITIZERS_H

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

#define DOUBLE_WEAK __attribute__((weak))
extern "C" {
void __tsan_acquire(void *) DOUBLE_WEAK;
void __tsan_release(void *) DOUBLE_WEAK;
void __tsan_read_range(void *, unsigned long) DOUBLE_WEAK;
void __tsan_write_range(void *, unsigned long) DOUBLE_WEAK;
void *__tsan_create_fiber(unsigned) DOUBLE_WEAK;
void __tsan_destroy_fiber(void *) DOUBLE_WEAK;
void __tsan_switch_to_fiber(void *, unsigned) DOUBLE_WEAK;
void *__tsan_get_current_fiber(void) DOUBLE_WEAK;
void AnnotateIgnoreReadsBegin(const char *, int) DOUBLE_WEAK;
void AnnotateIgnoreReadsEnd(const char *, int) DOUBLE_WEAK;
void AnnotateIgnoreWritesBegin(const char *, int) DOUBLE_WEAK;
void AnnotateIgnoreWritesEnd(const char *, int) DOUBLE_WEAK;
void __asan_poison_memory_region(const volatile void *, size_t) DOUBLE_WEAK;
void __asan_unpoison_memory_region(const volatile void *, size_t) DOUBLE_WEAK;
void __sanitizer_start_switch_fiber(void **, const void *, size_t) DOUBLE_WEAK;
void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) DOUBLE_WEAK;
}

/* What was done before a release of `sync` happens before what is done after an acquire of it. */
static inline void sync_acquire(char *sync) {
    if (__tsan_acquire)
        __tsan_acquire(sync);
}

static inline void sync_release(char *sync) {
    if (__tsan_release)
        __tsan_release(sync);
}

/* Accesses that are not seen otherwise, since the double is not instrumented. */
static inline void touch_read(const void *at, size_t bytes) {
    if (__tsan_read_range)
        __tsan_read_range(const_cast<void *>(at), bytes);
}

static inline void touch_write(void *at, size_t bytes) {
    if (__tsan_write_range)
        __tsan_write_range(at, bytes);
}

static inline void poison(const void *at, size_t bytes) {
    if (__asan_poison_memory_region)
        __asan_poison_memory_region(at, bytes);
}

static inline void unpoison(const void *at, size_t bytes) {
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(at, bytes);
}

/* A lock with one condition, made of futexes. While it is held the thread's accesses are the double's own affair. */
struct hidden_lock {
    std::atomic<int> state{0}, changes{0}, sleepers{0};

    static long futex(std::atomic<int> *word, int operation, int value) {
        return syscall(SYS_futex, reinterpret_cast<int *>(word), operation | FUTEX_PRIVATE_FLAG, value, nullptr,
                       nullptr, 0);
    }

    static void ignore_begin() {
        if (AnnotateIgnoreReadsBegin) {
            AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
            AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
        }
    }

    static void ignore_end() {
        if (AnnotateIgnoreReadsBegin) {
            AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
            AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
        }
    }

    void lock() {
        int free = 0;
        if (!state.compare_exchange_strong(free, 1)) {
            while (state.exchange(2) != 0)
                futex(&state, FUTEX_WAIT, 2);
        }
        ignore_begin();
    }

    void unlock() {
        ignore_end();
        if (state.exchange(0) == 2)
            futex(&state, FUTEX_WAKE, 1);
    }

    /* Returns after a wake, or at once for no reason. Held before and after. */
    void wait() {
        int seen = changes.load();
        sleepers.fetch_add(1);
        unlock();
        futex(&changes, FUTEX_WAIT, seen);
        lock();
        sleepers.fetch_sub(1);
    }

    /* Held. */
    void wake() {
        changes.fetch_add(1);
        if (sleepers.load() != 0)
            futex(&changes, FUTEX_WAKE, INT_MAX);
    }
};

#endif
