/* Runs a grid in one thread: its blocks in turn, the threads of a block as fibers. ThreadSanitizer knows each fiber as
 * a thread, and barriers and shuffles as the only ordering: it finds races in shared memory, and in global memory those
 * between two blocks of a kernel without barriers (a fiber serves all blocks, so barriers order those too). */
#include <cuda_on_cpu.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/double/core.h"
#include "tests/double/fiber.h"

enum { MAX_THREADS = 1024, WARP = 32, SHARED_BYTES = 48 * 1024, SLOT_BYTES = 16, RED_BYTES = 32, MAX_SHARED = 32 };
enum thread_state { READY, AT_BARRIER, AT_SHUFFLE, LEFT };

struct device_thread {
    struct fiber fiber;
    cuda_on_cpu_place place;
    thread_state state;
    const char *file; /* of the barrier or shuffle it waits at */
    int line;
    unsigned
        exchanges; /* how many it took part in: the slots take turns, so that a value stays until all have read it */
    alignas(16) unsigned char slots[2][SLOT_BYTES];
};

/* What the threads of one block share. */
struct block_memory {
    char barrier, warps[MAX_THREADS / WARP];
    alignas(256) unsigned char shared[SHARED_BYTES + RED_BYTES];
};

struct block_runner {
    struct fiber main;
    std::vector<device_thread> threads;
    int made, count, current;          /* fibers made; threads of a block; the running one */
    int turns[WARP], turn, turn_count; /* the threads of a warp that are to run, one after another */
    bool flat;
    const char *name;
    const std::function<void()> *body;
    size_t dynamic_bytes, shared_used;
    const void *shared_keys[MAX_SHARED];
    size_t shared_at[MAX_SHARED];
    int shared_count;
    block_memory *memory;
    char start, end;
    cuda_on_cpu_place flat_place;

    block_runner() : main(), threads(MAX_THREADS), made(0), current(-1), memory(nullptr) {
    }
    ~block_runner() {
        for (int i = 0; i < made; i++)
            fiber_destroy(&threads[i].fiber);
        delete memory;
    }
};

static thread_local std::unique_ptr<block_runner> own_runner;
static thread_local block_runner *runner;
static thread_local const cuda_on_cpu_place *here;

const struct cuda_on_cpu_place *cuda_on_cpu_here(void) {
    return here;
}

static void __attribute__((noreturn)) broken(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: kernel %s: %s\n", file, line, runner->name, what);
    abort();
}

int cuda_on_cpu_lane(void) {
    return runner->current % WARP;
}

static size_t shared_reserve(size_t bytes, size_t align) {
    size_t at = (runner->shared_used + align - 1) / align * align;
    if (at + bytes > SHARED_BYTES)
        broken("shared memory", 0, "more than 48 KiB");
    unpoison(runner->memory->shared + at, bytes);
    runner->shared_used = at + bytes + RED_BYTES / 2; /* a gap that AddressSanitizer watches */
    return at;
}

void *cuda_on_cpu_shared(const void *key, size_t bytes, size_t align) {
    if (runner->flat)
        broken("shared memory", 0, "a flat kernel has none");
    for (int i = 0; i < runner->shared_count; i++) {
        if (runner->shared_keys[i] == key)
            return runner->memory->shared + runner->shared_at[i];
    }
    if (runner->shared_count == MAX_SHARED)
        broken("shared memory", 0, "too many arrays");
    size_t at = shared_reserve(bytes, align < 16 ? 16 : align);
    runner->shared_keys[runner->shared_count] = key;
    runner->shared_at[runner->shared_count++] = at;
    return runner->memory->shared + at;
}

void *cuda_on_cpu_dynamic(size_t element_bytes) {
    static const char key = 0;
    return cuda_on_cpu_shared(&key, runner->dynamic_bytes, element_bytes);
}

/* Lets the next thread of the warp run; after the last one the scheduler. */
static void pass_on(device_thread &self) {
    struct fiber *next = &runner->main;
    if (++runner->turn < runner->turn_count) {
        device_thread &thread = runner->threads[runner->turns[runner->turn]];
        runner->current = runner->turns[runner->turn];
        here = &thread.place;
        next = &thread.fiber;
    }
    fiber_switch(&self.fiber, next);
}

/* Sleeps until the others have come; what they did before is ordered before what follows. */
static void meet(thread_state state, char *sync, const char *file, int line) {
    device_thread &self = runner->threads[runner->current];
    self.state = state;
    self.file = file;
    self.line = line;
    sync_release(sync);
    pass_on(self);
    sync_acquire(sync);
}

void cuda_on_cpu_barrier(const char *file, int line) {
    if (runner->flat)
        broken(file, line, "a barrier in a flat kernel");
    meet(AT_BARRIER, &runner->memory->barrier, file, line);
}

void cuda_on_cpu_exchange(const void *mine, void *out, size_t bytes, int lane, const char *file, int line) {
    if (runner->flat)
        broken(file, line, "a shuffle in a flat kernel");
    if (lane < 0)
        broken(file, line, "a shuffle of a part of a warp");
    int index = runner->current, other = index / WARP * WARP + lane;
    device_thread &self = runner->threads[index];
    unsigned slot = self.exchanges++ % 2;
    hidden_lock::ignore_begin();
    memcpy(self.slots[slot], mine, bytes);
    hidden_lock::ignore_end();
    meet(AT_SHUFFLE, &runner->memory->warps[index / WARP], file, line);
    hidden_lock::ignore_begin();
    if (other < runner->count)
        memcpy(out, runner->threads[other].slots[slot], bytes);
    else
        memset(out, 0xFF, bytes); /* no such thread */
    hidden_lock::ignore_end();
}

static void thread_run(void) {
    fiber_begin(&runner->main);
    for (;;) {
        device_thread &self = runner->threads[runner->current];
        sync_acquire(&runner->start);
        (*runner->body)();
        sync_release(&runner->end);
        self.state = LEFT;
        pass_on(self); /* comes back for another block */
    }
}

static void check_one_place(const device_thread &first, const device_thread &other, const char *what) {
    if (first.line == other.line && (first.file == other.file || strcmp(first.file, other.file) == 0))
        return;
    char text[256];
    snprintf(text, sizeof text, "%s divergence: others wait at %s:%d", what, other.file, other.line);
    broken(first.file, first.line, text);
}

/* Lets threads [from, to) go on if all of them are in `state`; if some have left, that is an error. */
static bool release_group(int from, int to, thread_state state, const char *what) {
    int waiting = 0, left = 0, first = -1;
    for (int i = from; i < to; i++) {
        const device_thread &thread = runner->threads[i];
        left += thread.state == LEFT;
        waiting += thread.state == state;
        if (thread.state == state && first < 0)
            first = i;
    }
    if (waiting == 0 || waiting + left < to - from)
        return false;
    const device_thread &at = runner->threads[first];
    if (left > 0) {
        char text[128];
        snprintf(text, sizeof text, "%s divergence: %d threads left the kernel while %d wait", what, left, waiting);
        broken(at.file, at.line, text);
    }
    for (int i = from; i < to; i++)
        check_one_place(at, runner->threads[i], what);
    for (int i = from; i < to; i++)
        runner->threads[i].state = READY;
    return true;
}

/* The order of `count` things for one round, by the configuration: 0 as they are, 1 reversed, 2 shuffled. */
static void arrange(int *order, int count) {
    for (int i = 0; i < count; i++)
        order[i] = core.config.fiber_order == 1 ? count - 1 - i : i;
    for (int i = count - 1; core.config.fiber_order == 2 && i > 0; i--)
        std::swap(order[i], order[core_random() % unsigned(i + 1)]);
}

/* Runs a warp's threads until they have left or wait for others. Did any run? */
static bool run_warp(int from, int to) {
    bool ran = false;
    do {
        int order[WARP];
        arrange(order, to - from);
        runner->turn = runner->turn_count = 0;
        for (int i = 0; i < to - from; i++) {
            if (runner->threads[from + order[i]].state == READY)
                runner->turns[runner->turn_count++] = from + order[i];
        }
        if (runner->turn_count == 0)
            break;
        runner->current = runner->turns[0];
        here = &runner->threads[runner->current].place;
        fiber_switch(&runner->main, &runner->threads[runner->current].fiber);
        ran = true;
    } while (release_group(from, to, AT_SHUFFLE, "shuffle"));
    return ran;
}

/* Under ThreadSanitizer each block has memory of its own: blocks are not ordered. */
static void block_memory_renew(void) {
    hidden_lock::ignore_begin();
    if (__tsan_acquire != nullptr) {
        delete runner->memory;
        runner->memory = nullptr;
    }
    if (runner->memory == nullptr)
        runner->memory = new block_memory;
    unpoison(runner->memory->shared, sizeof runner->memory->shared);
    memset(runner->memory->shared, 0xFF, sizeof runner->memory->shared);
    poison(runner->memory->shared, sizeof runner->memory->shared);
    hidden_lock::ignore_end();
    runner->shared_count = 0;
    runner->shared_used = 0;
}

static void run_block(void) {
    block_memory_renew();
    int count = runner->count, warps = (count + WARP - 1) / WARP;
    for (int i = 0; i < count; i++)
        runner->threads[i].state = READY;
    for (;;) {
        int order[MAX_THREADS / WARP], left = 0;
        bool ran = false;
        arrange(order, warps);
        for (int i = 0; i < warps; i++) {
            int from = order[i] * WARP;
            ran |= run_warp(from, from + WARP < count ? from + WARP : count);
        }
        for (int i = 0; i < count; i++)
            left += runner->threads[i].state == LEFT;
        if (left == count)
            return;
        if (release_group(0, count, AT_BARRIER, "barrier") || ran)
            continue;
        for (int i = 0; i < count; i++) {
            if (runner->threads[i].state != LEFT)
                broken(runner->threads[i].file, runner->threads[i].line, "threads wait for each other in two places");
        }
    }
}

static uint3 place_in(dim3 size, unsigned index) {
    return uint3{index % size.x, index / size.x % size.y, index / (size.x * size.y)};
}

static void run_flat(const cuda_on_cpu_grid &grid) {
    cuda_on_cpu_place &place = runner->flat_place;
    place.block_dim = grid.block;
    place.grid_dim = grid.grid;
    here = &place;
    for (unsigned block = 0; block < grid.grid.x * grid.grid.y * grid.grid.z; block++) {
        place.block = place_in(grid.grid, block);
        for (int i = 0; i < runner->count; i++) {
            place.thread = place_in(grid.block, unsigned(i));
            runner->current = i;
            (*runner->body)();
        }
    }
}

static void run_grid(const cuda_on_cpu_grid &grid, const std::function<void()> &body) {
    if (runner == nullptr) {
        own_runner.reset(new block_runner);
        runner = own_runner.get();
    }
    runner->count = int(grid.block.x * grid.block.y * grid.block.z);
    runner->flat = grid.flat;
    runner->name = grid.name;
    runner->body = &body;
    runner->dynamic_bytes = grid.dynamic_bytes;
    if (grid.flat) {
        run_flat(grid);
        return;
    }
    fiber_adopt_thread(&runner->main);
    for (; runner->made < runner->count; runner->made++)
        fiber_create(&runner->threads[runner->made].fiber, thread_run, runner->made);
    for (int i = 0; i < runner->count; i++) {
        runner->threads[i].place.block_dim = grid.block;
        runner->threads[i].place.grid_dim = grid.grid;
        runner->threads[i].place.thread = place_in(grid.block, unsigned(i));
    }
    sync_release(&runner->start);
    for (unsigned block = 0; block < grid.grid.x * grid.grid.y * grid.grid.z; block++) {
        for (int i = 0; i < runner->count; i++)
            runner->threads[i].place.block = place_in(grid.grid, block);
        run_block();
    }
    sync_acquire(&runner->end);
}

cudaError_t cuda_on_cpu_launch(const struct cuda_on_cpu_grid &grid, cudaStream_t stream, std::function<void()> body) {
    (void)cudaGetLastError();
    const dim3 &size = grid.grid, &block = grid.block;
    bool fits = size.x > 0 && size.y > 0 && size.z > 0 && size.x <= 0x7fffffffu && size.y <= 65535 && size.z <= 65535 &&
                block.x > 0 && block.y > 0 && block.z > 0 && block.x <= MAX_THREADS && block.y <= MAX_THREADS &&
                block.z <= 64 && block.x * block.y * block.z <= MAX_THREADS;
    if (!fits)
        return cudaErrorInvalidConfiguration;
    if (grid.dynamic_bytes > SHARED_BYTES)
        return cudaErrorInvalidValue;
    cudaError_t error = cuda_double_launch(grid.name, stream, [grid, body] { run_grid(grid, body); });
    (void)cudaGetLastError();
    return error;
}
