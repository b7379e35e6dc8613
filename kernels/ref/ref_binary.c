#include "kernels/ref/ref_binary.h"

#include <math.h>

#include "kernels/broadcast.h"
#include "kernels/element.h"

/* Python's %: the result has the sign of b. */
static double modulo(double a, double b) {
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double compute(enum binary_kind kind, double a, double b) {
    switch (kind) {
    case BINARY_ADD:
        return a + b;
    case BINARY_SUBTRACT:
        return a - b;
    case BINARY_MULTIPLY:
        return a * b;
    case BINARY_DIVIDE:
        return a / b;
    case BINARY_POWER:
        return pow(a, b);
    case BINARY_MINIMUM:
        return isnan(a) || a < b ? a : b;
    case BINARY_MAXIMUM:
        return isnan(a) || a > b ? a : b;
    case BINARY_MODULO:
        return modulo(a, b);
    case BINARY_REMAINDER:
        return fmod(a, b);
    case BINARY_PRELU:
        return a < 0 ? b * a : a;
    default:
        return 0;
    }
}

static bool compares(enum binary_kind kind) {
    return kind == BINARY_EQUAL || kind == BINARY_LESS || kind == BINARY_LESS_EQUAL || kind == BINARY_GREATER ||
           kind == BINARY_GREATER_EQUAL;
}

/* below, same: whether a < b and a == b. */
static bool holds(enum binary_kind kind, bool below, bool same, bool above) {
    switch (kind) {
    case BINARY_EQUAL:
        return same;
    case BINARY_LESS:
        return below;
    case BINARY_LESS_EQUAL:
        return below || same;
    case BINARY_GREATER:
        return above;
    default:
        return above || same;
    }
}

/* Modulo 2^64, which leaves the lower bits right for every width. */
static int64_t power(int64_t base, int64_t exponent) {
    uint64_t result = 1, square = (uint64_t)base;
    if (exponent < 0) /* the fraction is cut off */
        return base == 1 || base == -1 ? (exponent % 2 ? base : 1) : 0;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

static int64_t divide(int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    return b == -1 ? (int64_t) - (uint64_t)a : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t shift(enum binary_kind kind, uint64_t a, uint64_t b) {
    if (b >= 64)
        return 0;
    return (int64_t)(kind == BINARY_SHIFT_LEFT ? a << b : a >> b);
}

static int64_t compute_integer(enum binary_kind kind, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b; /* these wrap around */
    int64_t rest;
    switch (kind) {
    case BINARY_ADD:
        return (int64_t)(x + y);
    case BINARY_SUBTRACT:
        return (int64_t)(x - y);
    case BINARY_MULTIPLY:
        return (int64_t)(x * y);
    case BINARY_DIVIDE:
        return divide(a, b);
    case BINARY_POWER:
        return power(a, b);
    case BINARY_MINIMUM:
        return a < b ? a : b;
    case BINARY_MAXIMUM:
        return a > b ? a : b;
    case BINARY_MODULO:
        rest = remainder_of(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    case BINARY_REMAINDER:
        return remainder_of(a, b);
    case BINARY_PRELU:
        return a < 0 ? (int64_t)(x * y) : a;
    case BINARY_AND:
        return a & b;
    case BINARY_OR:
        return a | b;
    case BINARY_XOR:
        return a ^ b;
    default:
        return shift(kind, x, y);
    }
}

/* a and b are places in the inputs, y one in the output. */
static void combine(enum binary_kind kind, const struct view *inputs, const size_t places[2], const struct view *output,
                    size_t to) {
    bool floats = element_is_float(inputs[0].element) || element_is_float(inputs[1].element);
    if (floats) {
        double a = element_number(&inputs[0], places[0]), b = element_number(&inputs[1], places[1]);
        if (compares(kind))
            element_set_integer(output, to, holds(kind, a<b, a == b, a> b));
        else if (element_is_float(output->element))
            element_set_number(output, to, compute(kind, a, b));
        else /* an integer to a float power */
            element_set_integer(output, to, element_saturate(output->element, compute(kind, a, b)));
        return;
    }
    int64_t a = element_integer(&inputs[0], places[0]), b = element_integer(&inputs[1], places[1]);
    element_set_integer(output, to, compares(kind) ? holds(kind, a<b, a == b, a> b) : compute_integer(kind, a, b));
}

void ref_binary(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    struct broadcast broadcast = broadcast_over(inputs, 2, outputs);
    struct broadcast_place place = {{0}, {0}};
    size_t rows = broadcast_rows(&broadcast), last = (size_t)broadcast.rank - 1, cols = broadcast.dims[last];
    (void)scratch;
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < cols; i++) {
            size_t places[2] = {place.starts[0] + i * broadcast.strides[0][last],
                                place.starts[1] + i * broadcast.strides[1][last]};
            combine(operation->binary, inputs, places, outputs, row * cols + i);
        }
        broadcast_next(&broadcast, &place);
    }
}
