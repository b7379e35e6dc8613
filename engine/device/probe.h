/* Numbers to try a model with: two rows of them tell whether a row's bits depend on where it stands. */
#ifndef WEIR_ENGINE_DEVICE_PROBE_H
#define WEIR_ENGINE_DEVICE_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/tensor.h"

/* Fills a row, in another way for each seed: floating-point numbers from -1 to 1, bytes 0 or 1. Other integers stay 0,
 * since they may be places in a table. bytes: room for the row, of any alignment. thread: any. */
void probe_fill(unsigned char *bytes, enum tensor_dtype dtype, size_t elements, uint32_t seed);

#endif
