/* The oracle of softmax and the normalizations. All elements are F32; sums are taken in double. */
#ifndef WEIR_KERNELS_REF_REF_NORM_H
#define WEIR_KERNELS_REF_REF_NORM_H

#include "kernels/operation.h"

/* SOFTMAX: exp(x) over the sum of its group, or the logarithm of that; hard: 1 for the first greatest element, else 0.
 */
void ref_softmax(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                 void *scratch);

/* LAYER_NORM: (x - mean) / sqrt(variance + epsilon) * scale + bias. scale and bias have as many elements as the
 * normalized dimensions. */
void ref_layer_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch);

/* BATCH_NORM: (x - mean) / sqrt(variance + epsilon) * scale + bias by channel. */
void ref_batch_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch);

/* INSTANCE_NORM: the formula of LAYER_NORM over the elements of one group of channels. */
void ref_instance_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                       void *scratch);

/* LRN: x / (bias + alpha / size * sum of squares over a window of channels)^beta. */
void ref_lrn(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

/* LP_NORM: x over its norm along one dimension; 0 where the norm is 0. */
void ref_lp_norm(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                 void *scratch);

#endif
