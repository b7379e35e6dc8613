/* Fibers: contexts that one thread runs in turn. On x86-64 a switch is a few instructions of our own, because
 * swapcontext makes a system call (0.09 us beside 0.55, measured); elsewhere, and with FIBER_UCONTEXT, it is
 * swapcontext. */
#ifndef WEIR_TESTS_DOUBLE_FIBER_H
#define WEIR_TESTS_DOUBLE_FIBER_H

#include <cstddef>

#if !defined(__x86_64__) || defined(FIBER_UCONTEXT)
#include <ucontext.h>
#endif

struct fiber {
    char *stack; /* NULL: the thread's own */
    size_t stack_bytes;
    const void *asan_stack; /* the thread's own stack, as AddressSanitizer knows it */
    size_t asan_bytes;
    void *fake_stack;
    void *tsan; /* ThreadSanitizer's fiber */
#if defined(__x86_64__) && !defined(FIBER_UCONTEXT)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
};

/* The running thread as a fiber to come back to. */
void fiber_adopt_thread(struct fiber *self);
/* A fiber that will run `run`, which never returns and begins with fiber_begin. Stack of 60 KiB or more above a guard
 * page; number: which of several fibers it is. Aborts when there is no memory. */
void fiber_create(struct fiber *out, void (*run)(void), int number);
void fiber_destroy(struct fiber *fiber);
/* In a new fiber: completes the switch that began it. thread: the adopted thread, which begins the first of its fibers.
 */
void fiber_begin(struct fiber *thread);
/* No ordering between the two is told to ThreadSanitizer: barriers alone order fibers. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
