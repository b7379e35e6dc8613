#include "tests/double/fiber.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/double/sanitizers.h"

enum { STACK_BYTES = 64 * 1024, GUARD_BYTES = 4096, TSAN_NO_ORDER = 1 };
/* Stacks that all begin at the same place of a page would share a few lines of the cache. */
enum { COLOURS = 16, COLOUR_BYTES = 256 };

#if defined(__x86_64__) && !defined(FIBER_UCONTEXT)
/* Saves what the System V ABI says a function keeps (rbp, rbx, r12-r15), and the stack pointer; loads the other's. */
extern "C" void fiber_swap(void **save, void *load);
asm(".text\n"
    ".globl fiber_swap\n"
    ".hidden fiber_swap\n"
    ".type fiber_swap,@function\n"
    "fiber_swap:\n"
    "pushq %rbp\n"
    "pushq %rbx\n"
    "pushq %r12\n"
    "pushq %r13\n"
    "pushq %r14\n"
    "pushq %r15\n"
    "movq %rsp,(%rdi)\n"
    "movq %rsi,%rsp\n"
    "popq %r15\n"
    "popq %r14\n"
    "popq %r13\n"
    "popq %r12\n"
    "popq %rbx\n"
    "popq %rbp\n"
    "ret\n"
    ".size fiber_swap,.-fiber_swap\n"
    ".section .note.GNU-stack,\"\",@progbits\n"
    ".text\n");

static void context_make(struct fiber *fiber, void (*run)(void)) {
    uintptr_t top = (reinterpret_cast<uintptr_t>(fiber->stack) + fiber->stack_bytes) & ~uintptr_t(15);
    void **at = reinterpret_cast<void **>(top);
    *--at = nullptr; /* where run would return to; leaves the stack as a call would */
    *--at = reinterpret_cast<void *>(run);
    for (int saved = 0; saved < 6; saved++)
        *--at = nullptr;
    fiber->stack_pointer = at;
}

static void context_switch(struct fiber *from, struct fiber *to) {
    fiber_swap(&from->stack_pointer, to->stack_pointer);
}
#else
static void context_make(struct fiber *fiber, void (*run)(void)) {
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->stack_bytes;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, run, 0);
}

static void context_switch(struct fiber *from, struct fiber *to) {
    swapcontext(&from->context, &to->context);
}
#endif

void fiber_adopt_thread(struct fiber *self) {
    self->stack = nullptr;
    self->tsan = __tsan_get_current_fiber ? __tsan_get_current_fiber() : nullptr;
}

/* Stacks of fibers that are gone. ThreadSanitizer would see their old contents as races, so there they are unmapped. */
static hidden_lock spare_lock;
static std::vector<char *> &spare_stacks = *new std::vector<char *>;

static char *stack_take(void) {
    spare_lock.lock();
    char *stack = nullptr;
    if (!spare_stacks.empty()) {
        stack = spare_stacks.back();
        spare_stacks.pop_back();
    }
    spare_lock.unlock();
    if (stack != nullptr)
        return stack;
    void *at = mmap(nullptr, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at, GUARD_BYTES, PROT_NONE) != 0) {
        perror("cuda double: stack of a fiber");
        abort();
    }
    return static_cast<char *>(at) + GUARD_BYTES;
}

void fiber_create(struct fiber *out, void (*run)(void), int number) {
    *out = fiber{};
    out->stack = stack_take();
    out->stack_bytes = STACK_BYTES - size_t(number % COLOURS) * COLOUR_BYTES;
    out->tsan = __tsan_create_fiber ? __tsan_create_fiber(0) : nullptr;
    context_make(out, run);
}

void fiber_destroy(struct fiber *fiber) {
    if (__tsan_destroy_fiber) {
        munmap(fiber->stack - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
        __tsan_destroy_fiber(fiber->tsan);
        return;
    }
    unpoison(fiber->stack, STACK_BYTES);
    spare_lock.lock();
    spare_stacks.push_back(fiber->stack);
    spare_lock.unlock();
}

void fiber_begin(struct fiber *thread) {
    const void *stack;
    size_t bytes;
    if (!__sanitizer_finish_switch_fiber)
        return;
    __sanitizer_finish_switch_fiber(nullptr, &stack, &bytes);
    if (thread->asan_stack == nullptr) { /* the first fiber is begun by the thread itself */
        thread->asan_stack = stack;
        thread->asan_bytes = bytes;
    }
}

void fiber_switch(struct fiber *from, struct fiber *to) {
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(&from->fake_stack, to->stack != nullptr ? to->stack : to->asan_stack,
                                       to->stack != nullptr ? to->stack_bytes : to->asan_bytes);
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(to->tsan, TSAN_NO_ORDER);
    context_switch(from, to);
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
}
