/* Values that a type's bytes may hold and that no model is given. */
#ifndef WEIR_SERVER_CODEC_ELEMENT_CHECK_H
#define WEIR_SERVER_CODEC_ELEMENT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/status.h"
#include "engine/tensor.h"

/* The engine computes float64 in float32. Does the value stay what it is there, but for its rounding? A finite one past
 * float32's range does not; NaN and infinities do. */
bool element_check_fits(double value);

/* Looks at the bytes of a tensor, whose elements need not be aligned; place says where they are (" of the body", or
 * ""). Errors: INVALID (a bool that is neither 0 nor 1, a float64 that does not fit). thread: any. */
enum weir_status element_check(enum tensor_dtype dtype, const void *data, size_t bytes, const char *place,
                               struct weir_error *err) WEIR_CHECKED;

#endif
