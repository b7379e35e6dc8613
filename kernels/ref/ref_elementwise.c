#include "kernels/ref/ref_elementwise.h"

#include <math.h>
#include <string.h>

#include "kernels/broadcast.h"
#include "kernels/element.h"
#include "kernels/half.h"

static const double pi = 3.14159265358979323846;

static double limit(double x, double low, double high) {
    return fmin(fmax(x, low), high);
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static double softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double shrink(double x, double lambd, double bias) {
    if (x < -lambd)
        return x + bias;
    return x > lambd ? x - bias : 0;
}

/* Activations with parameters; x is not NaN. */
static double activate(const struct unary *unary, double x) {
    double a = (double)unary->a, b = (double)unary->b;
    switch (unary->kind) {
    case UNARY_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case UNARY_CLIP:
        return limit(x, a, b);
    case UNARY_ELU:
        return x < 0 ? a * expm1(x) : x;
    case UNARY_SELU:
        return b * (x <= 0 ? a * expm1(x) : x);
    case UNARY_CELU:
        return fmax(0, x) + fmin(0, a * expm1(x / a));
    case UNARY_HARD_SIGMOID:
        return limit(a * x + b, 0, 1);
    case UNARY_THRESHOLDED_RELU:
        return x > a ? x : 0;
    case UNARY_SHRINK:
        return shrink(x, a, b);
    case UNARY_SILU:
        return x * sigmoid(a * x);
    case UNARY_SCALE:
        return a * x + b;
    case UNARY_IS_INF:
        return isinf(x) && (x < 0 ? a : b) != 0;
    default:
        return x;
    }
}

/* Activations without; x is not NaN. */
static double shape(enum unary_kind kind, double x) {
    switch (kind) {
    case UNARY_RELU:
        return fmax(x, 0);
    case UNARY_SIGMOID:
        return sigmoid(x);
    case UNARY_HARD_SWISH:
        return x * limit(x / 6 + 0.5, 0, 1);
    case UNARY_SOFTPLUS:
        return softplus(x);
    case UNARY_SOFTSIGN:
        return x / (1 + fabs(x));
    case UNARY_GELU_ERF:
        return x / 2 * erfc(-x / sqrt(2));
    case UNARY_GELU_TANH:
        return x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x * x * x));
    case UNARY_MISH:
        return x * tanh(softplus(x));
    case UNARY_RECIPROCAL:
        return 1 / x;
    case UNARY_NEGATE:
        return -x;
    case UNARY_SIGN:
        return (x > 0) - (x < 0);
    case UNARY_NOT:
        return x == 0;
    default:
        return x;
    }
}

typedef double (*function_of_one)(double);

/* Those that the C library has; NULL for the others. */
static function_of_one library_function(enum unary_kind kind) {
    static const function_of_one functions[UNARY_KINDS] = {
        [UNARY_TANH] = tanh,  [UNARY_ERF] = erf,       [UNARY_SQRT] = sqrt,   [UNARY_EXP] = exp,
        [UNARY_LOG] = log,    [UNARY_ABSOLUTE] = fabs, [UNARY_FLOOR] = floor, [UNARY_CEIL] = ceil,
        [UNARY_ROUND] = rint, [UNARY_SIN] = sin,       [UNARY_COS] = cos,     [UNARY_TAN] = tan,
        [UNARY_ASIN] = asin,  [UNARY_ACOS] = acos,     [UNARY_ATAN] = atan,   [UNARY_SINH] = sinh,
        [UNARY_COSH] = cosh,  [UNARY_ASINH] = asinh,   [UNARY_ACOSH] = acosh, [UNARY_ATANH] = atanh,
    };
    return functions[kind];
}

float ref_unary_value(const struct unary *unary, float x) {
    function_of_one function = library_function(unary->kind);
    if (unary->kind == UNARY_IS_NAN)
        return isnan(x) ? 1 : 0;
    if (isnan(x))
        return unary->kind == UNARY_IS_INF || unary->kind == UNARY_NOT ? 0 : x;
    if (function)
        return (float)function((double)x);
    switch (unary->kind) {
    case UNARY_LEAKY_RELU:
    case UNARY_CLIP:
    case UNARY_ELU:
    case UNARY_SELU:
    case UNARY_CELU:
    case UNARY_HARD_SIGMOID:
    case UNARY_THRESHOLDED_RELU:
    case UNARY_SHRINK:
    case UNARY_SILU:
    case UNARY_SCALE:
    case UNARY_IS_INF:
        return (float)activate(unary, (double)x);
    default:
        return (float)shape(unary->kind, (double)x);
    }
}

static int64_t integer_value(const struct unary *unary, enum element element, int64_t x) {
    int64_t low, high;
    switch (unary->kind) {
    case UNARY_RELU:
        return x < 0 ? 0 : x;
    case UNARY_CLIP:
        low = element_saturate(element, (double)unary->a);
        high = element_saturate(element, (double)unary->b);
        x = x < low ? low : x;
        return x > high ? high : x;
    case UNARY_NEGATE:
        return (int64_t) - (uint64_t)x;
    case UNARY_ABSOLUTE:
        return x < 0 ? (int64_t) - (uint64_t)x : x;
    case UNARY_SIGN:
        return (x > 0) - (x < 0);
    case UNARY_NOT:
        return x == 0;
    default:
        return x;
    }
}

void ref_unary(const struct operation *operation, const struct view *inputs, const struct view *outputs,
               void *scratch) {
    const struct view *x = inputs, *y = outputs;
    size_t count = view_count(y);
    (void)scratch;
    for (size_t i = 0; i < count; i++) {
        if (!element_is_float(x->element)) {
            element_set_integer(y, i, integer_value(&operation->unary, x->element, element_integer(x, i)));
            continue;
        }
        float value = ref_unary_value(&operation->unary, (float)element_number(x, i));
        if (y->element == ELEMENT_BOOL)
            element_set_integer(y, i, value != 0);
        else
            element_set_number(y, i, (double)value);
    }
}

void ref_where(const struct operation *operation, const struct view *inputs, const struct view *outputs,
               void *scratch) {
    struct broadcast broadcast = broadcast_over(inputs, 3, outputs);
    struct broadcast_place place = {{0}, {0}};
    size_t rows = broadcast_rows(&broadcast), last = (size_t)broadcast.rank - 1, cols = broadcast.dims[last];
    size_t bytes = view_element_bytes(outputs->element);
    unsigned char *to = outputs->data;
    (void)operation;
    (void)scratch;
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < cols; i++, to += bytes) {
            const unsigned char *condition = inputs[0].data;
            int chosen = condition[place.starts[0] + i * broadcast.strides[0][last]] ? 1 : 2;
            const unsigned char *from = inputs[chosen].data;
            memcpy(to, from + (place.starts[chosen] + i * broadcast.strides[chosen][last]) * bytes, bytes);
        }
        broadcast_next(&broadcast, &place);
    }
}

/* Rounds a float32 to the precision of one of 16 bits. */
static float rounded(enum element through, float x) {
    if (through == ELEMENT_F16)
        return half_to_float(half_from_float(x));
    return through == ELEMENT_BF16 ? half_bfloat16_to_float(half_bfloat16_from_float(x)) : x;
}

void ref_cast(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    const struct view *x = inputs, *y = outputs;
    bool from_float = element_is_float(x->element), to_float = element_is_float(y->element);
    bool rounds = y->element == ELEMENT_F32 && operation->through != ELEMENT_F32;
    size_t count = view_count(y);
    (void)scratch;
    for (size_t i = 0; i < count; i++) {
        if (!from_float && !to_float)
            element_set_integer(y, i, element_integer(x, i));
        else if (!to_float)
            element_set_integer(y, i, element_saturate(y->element, element_number(x, i)));
        else if (!rounds && x->element == ELEMENT_I64 && y->element == ELEMENT_F32)
            /* not by way of double, which would round twice */
            element_set_number(y, i, (double)(float)element_integer(x, i));
        else
            element_set_number(y, i, element_number(x, i));
        if (rounds)
            element_set_number(y, i, (double)rounded(operation->through, (float)element_number(y, i)));
    }
}

void ref_copy(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch) {
    size_t bytes = view_count(outputs) * view_element_bytes(outputs->element);
    (void)operation;
    (void)scratch;
    if (bytes > 0)
        memmove(outputs->data, inputs->data, bytes);
}
