#include "engine/device/cuda/cuda_memory_plan.h"

#include <stdint.h>
#include <stdio.h>

/* Of a model of free sizes: times what its first sizes need, and at least that part of the device's memory for a slot,
 * or that many bytes. */
enum {
    RESERVE_FACTOR = 8,
    RESERVE_PART = 32,
    RESERVE_BYTES = 64 << 20,
    RESERVE_STAGING_PART = 64,
    RESERVE_STAGING_BYTES = 4 << 20,
    RESERVE_STAGING_MOST_BYTES = 64 << 20
};

size_t cuda_memory_plan_align(size_t bytes) {
    return bytes > SIZE_MAX - CUDA_ALIGNMENT ? SIZE_MAX
                                             : (bytes + CUDA_ALIGNMENT - 1) / CUDA_ALIGNMENT * CUDA_ALIGNMENT;
}

bool cuda_memory_plan_arena(const struct cuda_memory_plan *plan, size_t *bytes) {
    size_t slot, slots, fixed;
    return !__builtin_add_overflow(plan->activations, plan->workspace, &slot) &&
           !__builtin_mul_overflow(slot, (size_t)CUDA_SLOTS, &slots) &&
           !__builtin_add_overflow(plan->weights, plan->programs, &fixed) &&
           !__builtin_add_overflow(fixed, slots, bytes);
}

/* What must be free: the arena and the graphs, with a quarter to spare. SIZE_MAX: more than there can be. */
static size_t needed(const struct cuda_memory_plan *plan) {
    size_t arena, graphs, sum, all;
    if (!cuda_memory_plan_arena(plan, &arena) ||
        __builtin_mul_overflow(plan->graphs, (size_t)CUDA_MEMORY_PLAN_GRAPH, &graphs) ||
        __builtin_add_overflow(arena, graphs, &sum) || __builtin_add_overflow(sum, sum / 4, &all))
        return SIZE_MAX;
    return all;
}

enum weir_status cuda_memory_plan_check(const struct cuda_memory_plan *plan, struct weir_error *err) {
    char text[320];
    if (needed(plan) <= plan->free)
        return WEIR_OK;
    return weir_fail(err, WEIR_NO_MEMORY, "the model does not fit the device's memory: %s",
                     cuda_memory_plan_text(plan, text, sizeof text));
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

void cuda_memory_plan_reserve(struct cuda_memory_plan *plan) {
    struct cuda_memory_plan more = *plan;
    size_t least = larger(RESERVE_BYTES, cuda_memory_plan_align(plan->total / RESERVE_PART));
    size_t least_staging = cuda_memory_plan_align(plan->total / RESERVE_STAGING_PART);
    for (size_t factor = RESERVE_FACTOR; factor > 0; factor /= 2) {
        more.activations = plan->activations > SIZE_MAX / RESERVE_FACTOR ? SIZE_MAX : plan->activations * factor;
        more.activations = larger(more.activations, cuda_memory_plan_align(least / RESERVE_FACTOR * factor));
        size_t bytes = needed(&more);
        if (bytes != SIZE_MAX && bytes <= (factor > 1 ? plan->free / 2 : plan->free)) {
            plan->activations = more.activations;
            break;
        }
    }
    plan->staging = plan->staging > SIZE_MAX / RESERVE_FACTOR ? SIZE_MAX : plan->staging * RESERVE_FACTOR;
    if (least_staging > RESERVE_STAGING_MOST_BYTES)
        least_staging = RESERVE_STAGING_MOST_BYTES;
    plan->staging = larger(plan->staging, larger(least_staging, RESERVE_STAGING_BYTES));
}

static double mib(size_t bytes) {
    return (double)bytes / (1 << 20);
}

const char *cuda_memory_plan_text(const struct cuda_memory_plan *plan, char *text, size_t size) {
    snprintf(text, size,
             "weights %.1f MiB + %d x (activations %.1f MiB + workspace %.1f MiB) + %zu graphs %.1f MiB, with 25 %% to "
             "spare %.1f MiB; free %.1f of %.1f MiB (context and others hold %.1f MiB)",
             mib(plan->weights + plan->programs), CUDA_SLOTS, mib(plan->activations), mib(plan->workspace),
             plan->graphs, mib(plan->graphs * CUDA_MEMORY_PLAN_GRAPH), mib(needed(plan)), mib(plan->free),
             mib(plan->total), mib(plan->in_use));
    return text;
}
