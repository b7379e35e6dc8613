#include "server/codec/element_check.h"

#include <math.h>

#include "engine/tensor_element.h"

bool element_check_fits(double value) {
    /* Half way between the largest float32 and what would follow: from there on it rounds to infinity. */
    return !(fabs(value) >= 0x1.FFFFFFp127) || isinf(value);
}

static enum weir_status check_bools(const unsigned char *data, size_t bytes, const char *place,
                                    struct weir_error *err) {
    for (size_t i = 0; i < bytes; i++)
        if (data[i] > 1)
            return weir_fail(err, WEIR_INVALID, "byte %zu%s is %d, a bool is 0 or 1", i, place, data[i]);
    return WEIR_OK;
}

enum weir_status element_check(enum tensor_dtype dtype, const void *data, size_t bytes, const char *place,
                               struct weir_error *err) {
    if (dtype == TENSOR_BOOL)
        return check_bools(data, bytes, place, err);
    if (dtype != TENSOR_F64)
        return WEIR_OK;
    for (size_t i = 0; i < bytes / sizeof(double); i++) {
        double value = tensor_float_at(dtype, data, i);
        if (!element_check_fits(value))
            return weir_fail(err, WEIR_INVALID,
                             "element %zu%s is %g, outside the float32 range, in which float64 is computed", i, place,
                             value);
    }
    return WEIR_OK;
}
