/* The steps of a program on the device: which kernel or product each one is, and one run of them all. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_STEPS_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_STEPS_H

#include "engine/device/cuda/cuda_program.h"

/* Chooses what runs each step and counts the scratch memory. Errors: UNSUPPORTED (names node and operator), NO_MEMORY.
 * For cuda_program_make. */
enum weir_status cuda_steps_plan(const struct cuda_program_maker *maker, struct cuda_program *program,
                                 struct weir_error *err) WEIR_CHECKED;

/* Chooses the products' algorithms, once the constants have their places. memory: that of slot 0. Errors: UNSUPPORTED,
 * DEVICE, DEVICE_LOST. */
enum weir_status cuda_steps_prepare(const struct cuda_lt *lt, const struct cuda_program *program,
                                    const struct cuda_slot_memory *memory, struct weir_error *err) WEIR_CHECKED;

/* Puts into the slot's stream: the inputs' copy up, all steps, the outputs' copy down. Nothing waits, nothing is
 * allocated. Errors: DEVICE, DEVICE_LOST. */
enum weir_status cuda_steps_run(const struct cuda_lt *lt, const struct cuda_program *program,
                                const struct cuda_slot_memory *memory, struct weir_error *err) WEIR_CHECKED;

/* Lets go of the products. */
void cuda_steps_release(struct cuda_program *program);

#endif
