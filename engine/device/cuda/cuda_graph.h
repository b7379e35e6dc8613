/* Executable graphs: one run of a program in one slot, recorded once and started with a single call. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_GRAPH_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_GRAPH_H

#include "engine/device/cuda/cuda_program.h"

/* Runs the program once as it is (which loads its kernels), then records it for the slot. The slot's staging memory
 * must hold inputs that do no harm. Errors: DEVICE, DEVICE_LOST, NO_MEMORY. thread: the device's or the loader's. */
enum weir_status cuda_graph_record(const struct cuda_lt *lt, struct cuda_program *program, int slot,
                                   const struct cuda_slot_memory *memory, struct weir_error *err) WEIR_CHECKED;

/* Lets go of the program's graphs, before the memory that they work on. lost: the device takes no calls any more. */
void cuda_graph_forget(struct cuda_program *program, bool lost);

#endif
