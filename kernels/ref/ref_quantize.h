/* The oracle of quantized numbers. Sums of products are exact; scales are applied in float, as ONNX Runtime does. */
#ifndef WEIR_KERNELS_REF_REF_QUANTIZE_H
#define WEIR_KERNELS_REF_REF_QUANTIZE_H

#include "kernels/operation.h"

void ref_quantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                  void *scratch);
void ref_dequantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                    void *scratch);

/* The scale of zeros alone is 1. */
void ref_dynamic_quantize(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                          void *scratch);

/* Scales and zero points of a are scalars or [..., rows, 1], those of b [..., 1, cols]. Sums wrap around at 32 bits. */
void ref_matmul_integer(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                        void *scratch);
void ref_qlinear_matmul(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                        void *scratch);

/* Scales and zero points of w are scalars or [m]. */
void ref_conv_integer(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                      void *scratch);
void ref_qlinear_conv(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                      void *scratch);

#endif
