/* Which kernel or primitive runs each step. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_CHOOSE_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_CHOOSE_H

#include "engine/device/backend_cpu_builder.h"

/* Builds the step at builder->at. Errors: NO_MEMORY, DEVICE. */
enum weir_status backend_cpu_choose_step(struct backend_cpu_builder *builder) WEIR_CHECKED;

/* Is this input of the step a constant that oneDNN packs? */
bool backend_cpu_choose_is_weight(const struct program *program, const struct program_step *step, int input);

/* Finds the transpositions that products do on the fly, and leaves out their steps. */
void backend_cpu_choose_moves(struct backend_cpu_builder *builder);

#endif
