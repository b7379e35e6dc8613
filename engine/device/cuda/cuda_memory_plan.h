/* What a model will take of a device's memory, known before anything is taken. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_MEMORY_PLAN_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_MEMORY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/status.h"

enum { CUDA_SLOTS = 2, CUDA_ALIGNMENT = 256 };

/* Rounded up to CUDA_ALIGNMENT; SIZE_MAX stays. */
size_t cuda_memory_plan_align(size_t bytes);

/* All sizes in bytes, multiples of CUDA_ALIGNMENT. The context is in use when the device is opened: it is no longer
 * part of what is free. */
struct cuda_memory_plan {
    size_t weights;
    size_t programs;    /* constants that belong to one size of the batch */
    size_t activations; /* of one slot: inputs, outputs, what lies between them, scratch */
    size_t workspace;   /* of one slot: cuBLASLt's */
    size_t staging;     /* of one slot: pinned memory of the host */
    size_t graphs;      /* how many; each counts CUDA_MEMORY_PLAN_GRAPH */
    size_t in_use, free, total;
};

enum { CUDA_MEMORY_PLAN_GRAPH = 64 << 10 };

/* The one block that will be allocated. False: it does not fit size_t. */
bool cuda_memory_plan_arena(const struct cuda_memory_plan *plan, size_t *bytes);

/* Does it fit the free memory with a quarter to spare? Errors: NO_MEMORY, with all the numbers. */
enum weir_status cuda_memory_plan_check(const struct cuda_memory_plan *plan, struct weir_error *err) WEIR_CHECKED;

/* A model of free sizes gets more than it needs at first: eight times as much, at least 64 MiB or a 32nd of the
 * device's memory a slot, or a half, a quarter of that, so that half of the memory stays free; an eighth if that fits
 * at all. Its staging memory likewise: eight times as much, at least a 64th of the device's, which is 4 to 64 MiB. */
void cuda_memory_plan_reserve(struct cuda_memory_plan *plan);

/* "weights 1.2 MiB + 2 x (activations 0.3 MiB + workspace 32.0 MiB) ...". Returns text. */
const char *cuda_memory_plan_text(const struct cuda_memory_plan *plan, char *text, size_t size);

#endif
