/* The oracle of RNN, GRU and LSTM. */
#ifndef WEIR_KERNELS_REF_REF_RECURRENT_H
#define WEIR_KERNELS_REF_REF_RECURRENT_H

#include "kernels/operation.h"

/* RECURRENT, as the ONNX operators RNN, GRU and LSTM [14] define it:
 *   x [steps, batch, in], w [directions, gates * hidden, in], r [directions, gates * hidden, hidden],
 *   b [directions, 2 * gates * hidden], sequence lengths [batch], h0 and c0 [directions, batch, hidden],
 *   p [directions, 3 * hidden] (input, output, forget);
 *   y [steps, directions, batch, hidden], h and c [directions, batch, hidden].
 * batch_first: x [batch, steps, in], y [batch, steps, directions, hidden], states [batch, directions, hidden].
 * Beyond a row's length y is 0 and the states stay. */
void ref_recurrent(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch);
size_t ref_recurrent_scratch_bytes(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs);

#endif
