#include "kernels/element.h"

#include <math.h>
#include <string.h>

#include "kernels/half.h"

bool element_is_float(enum element element) {
    return element == ELEMENT_F32 || element == ELEMENT_F16 || element == ELEMENT_BF16 || element == ELEMENT_F64;
}

static const unsigned char *place(const struct view *view, size_t index) {
    return (const unsigned char *)view->data + index * view_element_bytes(view->element);
}

double element_number(const struct view *view, size_t index) {
    float single;
    double number;
    uint16_t bits;
    switch (view->element) {
    case ELEMENT_F32:
        memcpy(&single, place(view, index), sizeof single);
        return (double)single;
    case ELEMENT_F64:
        memcpy(&number, place(view, index), sizeof number);
        return number;
    case ELEMENT_F16:
    case ELEMENT_BF16:
        memcpy(&bits, place(view, index), sizeof bits);
        return (double)(view->element == ELEMENT_F16 ? half_to_float(bits) : half_bfloat16_to_float(bits));
    default:
        return (double)element_integer(view, index);
    }
}

int64_t element_integer(const struct view *view, size_t index) {
    const unsigned char *from = place(view, index);
    int32_t number;
    int64_t wide;
    switch (view->element) {
    case ELEMENT_I8:
        return (int8_t)*from;
    case ELEMENT_I32:
        memcpy(&number, from, sizeof number);
        return number;
    case ELEMENT_I64:
        memcpy(&wide, from, sizeof wide);
        return wide;
    default:
        return *from;
    }
}

void element_set_number(const struct view *view, size_t index, double number) {
    unsigned char *to = (unsigned char *)view->data + index * view_element_bytes(view->element);
    float single = (float)number;
    uint16_t bits;
    switch (view->element) {
    case ELEMENT_F64:
        memcpy(to, &number, sizeof number);
        break;
    case ELEMENT_F16:
    case ELEMENT_BF16:
        bits = view->element == ELEMENT_F16 ? half_from_double(number) : half_bfloat16_from_double(number);
        memcpy(to, &bits, sizeof bits);
        break;
    default:
        memcpy(to, &single, sizeof single);
        break;
    }
}

void element_set_integer(const struct view *view, size_t index, int64_t integer) {
    unsigned char *to = (unsigned char *)view->data + index * view_element_bytes(view->element);
    uint32_t low = (uint32_t)(uint64_t)integer;
    switch (view->element) {
    case ELEMENT_I64:
        memcpy(to, &integer, sizeof integer);
        break;
    case ELEMENT_I32:
        memcpy(to, &low, sizeof low);
        break;
    case ELEMENT_BOOL:
        *to = integer != 0;
        break;
    default:
        *to = (unsigned char)low;
        break;
    }
}

int64_t element_saturate(enum element element, double number) {
    static const struct {
        int64_t least, greatest;
    } ranges[ELEMENT_COUNT] = {[ELEMENT_U8] = {0, UINT8_MAX},
                               [ELEMENT_I8] = {INT8_MIN, INT8_MAX},
                               [ELEMENT_I32] = {INT32_MIN, INT32_MAX},
                               [ELEMENT_I64] = {INT64_MIN, INT64_MAX}};
    if (element == ELEMENT_BOOL)
        return number != 0;
    if (isnan(number))
        return 0;
    if (number <= (double)ranges[element].least)
        return ranges[element].least;
    if (number >= (double)ranges[element].greatest)
        return ranges[element].greatest;
    return (int64_t)number;
}
