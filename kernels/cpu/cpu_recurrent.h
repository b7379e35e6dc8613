/* Fast LSTM, GRU and RNN with their usual activations. A row's results do not depend on the other rows of the batch. */
#ifndef WEIR_KERNELS_CPU_CPU_RECURRENT_H
#define WEIR_KERNELS_CPU_CPU_RECURRENT_H

#include "kernels/operation.h"

/* The kernel for this operation on these shapes and elements; NULL: there is none. */
operation_function cpu_recurrent_find(const struct operation *operation, const struct view *inputs,
                                      const struct view *outputs);

/* Scratch memory that the kernel needs. */
size_t cpu_recurrent_scratch_bytes(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs);

#endif
