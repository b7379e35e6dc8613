#include "kernels/cpu/cpu_binary.h"

#include <math.h>
#include <stdint.h>

#include "kernels/broadcast.h"
#include "kernels/cpu/cpu_broadcast.h"
#include "kernels/cpu/cpu_target.h"

enum { BLOCK = 16 };

/* y[i] = expression of a and b; a is x[i * step_x], b is z[i * step_z], the steps being 0 or 1 and known to the
 * compiler. Whole blocks have a fixed length, which compilers make vector code of without asking. */
#define LOOP(type, expression, step_x, step_z)                                                                         \
    do {                                                                                                               \
        size_t i = 0;                                                                                                  \
        for (; i + BLOCK <= count; i += BLOCK) {                                                                       \
            CPU_TARGET_INDEPENDENT                                                                                     \
            for (size_t j = i; j < i + BLOCK; j++) {                                                                   \
                type a = (step_x) ? x[j] : first, b = (step_z) ? z[j] : second;                                        \
                y[j] = (expression);                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < count; i++) {                                                                                       \
            type a = (step_x) ? x[i] : first, b = (step_z) ? z[i] : second;                                            \
            y[i] = (expression);                                                                                       \
        }                                                                                                              \
    } while (0)

#define LOOPS(type, expression)                                                                                        \
    if (!tile->repeated[0] && !tile->repeated[1])                                                                      \
        LOOP(type, expression, 1, 1);                                                                                  \
    else if (tile->repeated[1])                                                                                        \
        LOOP(type, expression, 1, 0);                                                                                  \
    else                                                                                                               \
        LOOP(type, expression, 0, 1);

/* X(kind, expression of a and b). */
#define ARITHMETIC_LIST(X)                                                                                             \
    X(ADD, a + b)                                                                                                      \
    X(SUBTRACT, a - b)                                                                                                 \
    X(MULTIPLY, a *b)                                                                                                  \
    X(DIVIDE, a / b)                                                                                                   \
    X(MINIMUM, a < b || a != a ? a : b)                                                                                \
    X(MAXIMUM, a > b || a != a ? a : b)                                                                                \
    X(PRELU, prelu(a, b))

#define COMPARISON_LIST(X)                                                                                             \
    X(EQUAL, a == b)                                                                                                   \
    X(LESS, a < b)                                                                                                     \
    X(LESS_EQUAL, a <= b)                                                                                              \
    X(GREATER, a > b)                                                                                                  \
    X(GREATER_EQUAL, a >= b)

#define LOGIC_LIST(X)                                                                                                  \
    X(AND, a &b)                                                                                                       \
    X(OR, a | b)                                                                                                       \
    X(XOR, a ^ b)                                                                                                      \
    X(EQUAL, a == b)

CPU_TARGET_INLINE float prelu(float x, float slope) {
    float below = slope * x;
    return x < 0.0f ? below : x;
}

#define CASE_OF(type, name, expression)                                                                                \
    case BINARY_##name:                                                                                                \
        LOOPS(type, expression)                                                                                        \
        break;
#define FLOAT_CASE(name, expression) CASE_OF(float, name, expression)
#define I32_CASE(name, expression)   CASE_OF(int32_t, name, expression)
#define I64_CASE(name, expression)   CASE_OF(int64_t, name, expression)
#define BYTE_CASE(name, expression)  CASE_OF(uint8_t, name, expression)

/* Defines `name`, which runs a tile: y = x op z. */
#define DEFINE_TILE(name, type, result, cases)                                                                         \
    CPU_TARGET_INLINE void name##_body(enum binary_kind kind, const struct cpu_broadcast_tile *tile, const type *x,    \
                                       const type *z, result *y) {                                                     \
        size_t count = tile->cols;                                                                                     \
        for (size_t row = 0; row < tile->rows; row++) {                                                                \
            type first = x[0], second = z[0];                                                                          \
            switch (kind) { cases default : break; }                                                                   \
            x += tile->strides[0];                                                                                     \
            z += tile->strides[1];                                                                                     \
            y += tile->to_stride;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    CPU_TARGET_VARIANTS(                                                                                               \
        name, name##_body,                                                                                             \
        (enum binary_kind kind, const struct cpu_broadcast_tile *tile, const type *x, const type *z, result *y),       \
        (kind, tile, x, z, y))

DEFINE_TILE(arithmetic, float, float, ARITHMETIC_LIST(FLOAT_CASE));
DEFINE_TILE(compare_floats, float, uint8_t, COMPARISON_LIST(FLOAT_CASE));
DEFINE_TILE(compare_i32, int32_t, uint8_t, COMPARISON_LIST(I32_CASE));
DEFINE_TILE(compare_i64, int64_t, uint8_t, COMPARISON_LIST(I64_CASE));
DEFINE_TILE(combine_bools, uint8_t, uint8_t, LOGIC_LIST(BYTE_CASE));

CPU_TARGET_INLINE float root(float a) {
    float y = sqrtf(a + 0.0f); /* -0 to the power 0.5 is +0 */
    return a < -3.4028234e38f ? INFINITY : y;
}

/* The exponents that networks use; any other is the C library's. */
CPU_TARGET_INLINE void power_body(float exponent, const float *x, float *y, size_t count) {
    const float *z = x;
    float first = 0.0f, second = 0.0f;
    if (exponent == 2.0f)
        LOOP(float, a *b, 1, 1);
    else if (exponent == 3.0f)
        LOOP(float, a *b *a, 1, 1);
    else
        LOOP(float, root(a) + b, 1, 0);
}

CPU_TARGET_VARIANTS(power_fast, power_body, (float exponent, const float *x, float *y, size_t count),
                    (exponent, x, y, count));

static void power(const struct cpu_broadcast_tile *tile, const float *x, const float *z, float *y) {
    for (size_t row = 0; row < tile->rows; row++) {
        if (tile->repeated[1] && !tile->repeated[0] && (z[0] == 2.0f || z[0] == 3.0f || z[0] == 0.5f)) {
            power_fast(z[0], x, y, tile->cols);
        } else {
            for (size_t i = 0; i < tile->cols; i++)
                y[i] = powf(x[tile->repeated[0] ? 0 : i], z[tile->repeated[1] ? 0 : i]);
        }
        x += tile->strides[0];
        z += tile->strides[1];
        y += tile->to_stride;
    }
}

struct operands {
    enum binary_kind kind;
    const void *x, *z;
    void *y;
};

static void arithmetic_tile(const void *context, const struct cpu_broadcast_tile *tile) {
    const struct operands *operands = context;
    const float *x = (const float *)operands->x + tile->starts[0], *z = (const float *)operands->z + tile->starts[1];
    float *y = (float *)operands->y + tile->to;
    if (operands->kind == BINARY_POWER)
        power(tile, x, z, y);
    else
        arithmetic(operands->kind, tile, x, z, y);
}

static void compare_floats_tile(const void *context, const struct cpu_broadcast_tile *tile) {
    const struct operands *operands = context;
    compare_floats(operands->kind, tile, (const float *)operands->x + tile->starts[0],
                   (const float *)operands->z + tile->starts[1], (uint8_t *)operands->y + tile->to);
}

static void compare_i32_tile(const void *context, const struct cpu_broadcast_tile *tile) {
    const struct operands *operands = context;
    compare_i32(operands->kind, tile, (const int32_t *)operands->x + tile->starts[0],
                (const int32_t *)operands->z + tile->starts[1], (uint8_t *)operands->y + tile->to);
}

static void compare_i64_tile(const void *context, const struct cpu_broadcast_tile *tile) {
    const struct operands *operands = context;
    compare_i64(operands->kind, tile, (const int64_t *)operands->x + tile->starts[0],
                (const int64_t *)operands->z + tile->starts[1], (uint8_t *)operands->y + tile->to);
}

static void combine_bools_tile(const void *context, const struct cpu_broadcast_tile *tile) {
    const struct operands *operands = context;
    combine_bools(operands->kind, tile, (const uint8_t *)operands->x + tile->starts[0],
                  (const uint8_t *)operands->z + tile->starts[1], (uint8_t *)operands->y + tile->to);
}

#define LISTED_CASE(name, expression) case BINARY_##name:

static bool is_arithmetic(enum binary_kind kind) {
    switch (kind) {
        ARITHMETIC_LIST(LISTED_CASE)
    case BINARY_POWER:
        return true;
    default:
        return false;
    }
}

static bool is_comparison(enum binary_kind kind) {
    switch (kind) {
        COMPARISON_LIST(LISTED_CASE)
        return true;
    default:
        return false;
    }
}

static bool is_logic(enum binary_kind kind) {
    switch (kind) {
        LOGIC_LIST(LISTED_CASE)
        return true;
    default:
        return false;
    }
}

/* NULL: there is none. */
static cpu_broadcast_function tile_function(enum binary_kind kind, enum element a, enum element b,
                                            enum element result) {
    if (a != b)
        return NULL;
    if (result == ELEMENT_F32)
        return a == ELEMENT_F32 && is_arithmetic(kind) ? arithmetic_tile : NULL;
    if (result != ELEMENT_BOOL)
        return NULL;
    if (a == ELEMENT_BOOL)
        return is_logic(kind) ? combine_bools_tile : NULL;
    if (!is_comparison(kind))
        return NULL;
    return a == ELEMENT_F32   ? compare_floats_tile
           : a == ELEMENT_I32 ? compare_i32_tile
           : a == ELEMENT_I64 ? compare_i64_tile
                              : NULL;
}

static void run(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    struct broadcast broadcast = broadcast_over(inputs, 2, outputs);
    struct operands operands = {operation->binary, inputs[0].data, inputs[1].data, outputs->data};
    (void)scratch;
    cpu_broadcast_run(&broadcast,
                      tile_function(operation->binary, inputs[0].element, inputs[1].element, outputs->element),
                      &operands);
}

operation_function cpu_binary_find(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs) {
    return tile_function(operation->binary, inputs[0].element, inputs[1].element, outputs->element) ? run : NULL;
}
