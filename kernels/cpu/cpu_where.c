#include "kernels/cpu/cpu_where.h"

#include <stdint.h>

#include "kernels/broadcast.h"
#include "kernels/cpu/cpu_broadcast.h"
#include "kernels/cpu/cpu_target.h"

enum { BLOCK = 16 };

/* y[i] = expression of i. Whole blocks have a fixed length, which compilers make vector code of without asking. */
#define LOOP(expression)                                                                                               \
    do {                                                                                                               \
        size_t at = 0;                                                                                                 \
        for (; at + BLOCK <= count; at += BLOCK) {                                                                     \
            CPU_TARGET_INDEPENDENT                                                                                     \
            for (size_t i = at; i < at + BLOCK; i++)                                                                   \
                y[i] = (expression);                                                                                   \
        }                                                                                                              \
        for (size_t i = at; i < count; i++)                                                                            \
            y[i] = (expression);                                                                                       \
    } while (0)

struct operands {
    const void *condition, *a, *b;
    void *y;
};

/* One tile for elements of one width. Where the condition is one for the row, the row is a copy. */
#define DEFINE_TILE(name, element)                                                                                     \
    CPU_TARGET_INLINE void name##_body(const struct cpu_broadcast_tile *tile, const uint8_t *condition,                \
                                       const element *a, const element *b, element *y) {                               \
        size_t count = tile->cols;                                                                                     \
        for (size_t row = 0; row < tile->rows; row++) {                                                                \
            element first = a[0], second = b[0];                                                                       \
            if (tile->repeated[0]) {                                                                                   \
                const element *from = condition[0] ? a : b;                                                            \
                element all = condition[0] ? first : second;                                                           \
                if (tile->repeated[condition[0] ? 1 : 2])                                                              \
                    LOOP(all);                                                                                         \
                else                                                                                                   \
                    LOOP(from[i]);                                                                                     \
            } else if (tile->repeated[1] && tile->repeated[2]) {                                                       \
                LOOP(condition[i] ? first : second);                                                                   \
            } else if (tile->repeated[1]) {                                                                            \
                LOOP(condition[i] ? first : b[i]);                                                                     \
            } else if (tile->repeated[2]) {                                                                            \
                LOOP(condition[i] ? a[i] : second);                                                                    \
            } else {                                                                                                   \
                LOOP(condition[i] ? a[i] : b[i]);                                                                      \
            }                                                                                                          \
            condition += tile->strides[0];                                                                             \
            a += tile->strides[1];                                                                                     \
            b += tile->strides[2];                                                                                     \
            y += tile->to_stride;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    CPU_TARGET_VARIANTS(name, name##_body,                                                                             \
                        (const struct cpu_broadcast_tile *tile, const uint8_t *condition, const element *a,            \
                         const element *b, element *y),                                                                \
                        (tile, condition, a, b, y));                                                                   \
    static void name##_tile(const void *context, const struct cpu_broadcast_tile *tile) {                              \
        const struct operands *operands = context;                                                                     \
        name(tile, (const uint8_t *)operands->condition + tile->starts[0],                                             \
             (const element *)operands->a + tile->starts[1], (const element *)operands->b + tile->starts[2],           \
             (element *)operands->y + tile->to);                                                                       \
    }                                                                                                                  \
    static void name##_tile(const void *context, const struct cpu_broadcast_tile *tile)

DEFINE_TILE(choose_1, uint8_t);
DEFINE_TILE(choose_4, uint32_t);
DEFINE_TILE(choose_8, uint64_t);

static cpu_broadcast_function tile_function(enum element element) {
    switch (view_element_bytes(element)) {
    case 1:
        return choose_1_tile;
    case 4:
        return choose_4_tile;
    case 8:
        return choose_8_tile;
    default:
        return NULL;
    }
}

static void run(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    struct broadcast broadcast = broadcast_over(inputs, 3, outputs);
    struct operands operands = {inputs[0].data, inputs[1].data, inputs[2].data, outputs->data};
    (void)operation;
    (void)scratch;
    cpu_broadcast_run(&broadcast, tile_function(outputs->element), &operands);
}

operation_function cpu_where_find(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs) {
    (void)operation;
    (void)inputs;
    return tile_function(outputs->element) ? run : NULL;
}
