/* The oracle of what slides a window over 1 to 3 spatial dimensions: CONV, CONV_TRANSPOSE and POOL. */
#ifndef WEIR_KERNELS_REF_REF_WINDOW_H
#define WEIR_KERNELS_REF_REF_WINDOW_H

#include "kernels/operation.h"

void ref_conv(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);
void ref_conv_transpose(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                        void *scratch);

/* MAX takes F32, U8 and I8; a window that lies in the padding altogether gives the least number of the element (-inf),
 * an average of nothing 0. */
void ref_pool(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

#endif
