#include "kernels/cpu/cpu_cast.h"

#include <stdint.h>

#include "kernels/cpu/cpu_parallel.h"
#include "kernels/cpu/cpu_target.h"
#include "kernels/half.h"

/* A loop over a whole block has a fixed length, which compilers make vector code of without asking; PIECE is what one
 * thread takes at a time. */
enum { BLOCK = 32, PIECE = 8192 };

/* Truncates; what does not fit becomes the nearest integer that does, and NaN 0. limit: 2 to the power of the bits. */
#define DEFINE_SATURATE(name, type, least, limit, greatest)                                                            \
    CPU_TARGET_INLINE type name(float x) {                                                                             \
        float low = x > (least) ? x : (least); /* of NaN the least */                                                  \
        float inside = low < (limit) ? low : 0.0f;                                                                     \
        type y = (type)inside;                                                                                         \
        y = low < (limit) ? y : (greatest);                                                                            \
        return x != x ? 0 : y;                                                                                         \
    }

DEFINE_SATURATE(to_i64, int64_t, -0x1p63f, 0x1p63f, INT64_MAX);
DEFINE_SATURATE(to_i32, int32_t, -0x1p31f, 0x1p31f, INT32_MAX);
DEFINE_SATURATE(to_i8, int8_t, -128.0f, 128.0f, INT8_MAX);
DEFINE_SATURATE(to_u8, uint8_t, 0.0f, 256.0f, UINT8_MAX);

CPU_TARGET_INLINE float through_f16(float x) {
    return half_to_float(half_from_float(x));
}

CPU_TARGET_INLINE float through_bf16(float x) {
    return half_bfloat16_to_float(half_bfloat16_from_float(x));
}

/* X(name, from, to, its type, its type, expression of x). */
#define CAST_LIST(X)                                                                                                   \
    X(f32_to_i64, F32, I64, float, int64_t, to_i64(x))                                                                 \
    X(f32_to_i32, F32, I32, float, int32_t, to_i32(x))                                                                 \
    X(f32_to_i8, F32, I8, float, int8_t, to_i8(x))                                                                     \
    X(f32_to_u8, F32, U8, float, uint8_t, to_u8(x))                                                                    \
    X(f32_to_bool, F32, BOOL, float, uint8_t, x != 0.0f)                                                               \
    X(f32_to_f64, F32, F64, float, double, (double)x)                                                                  \
    X(f32_to_f16, F32, F16, float, uint16_t, half_from_float(x))                                                       \
    X(f32_to_bf16, F32, BF16, float, uint16_t, half_bfloat16_from_float(x))                                            \
    X(i64_to_f32, I64, F32, int64_t, float, (float)x)                                                                  \
    X(i32_to_f32, I32, F32, int32_t, float, (float)x)                                                                  \
    X(i8_to_f32, I8, F32, int8_t, float, (float)x)                                                                     \
    X(u8_to_f32, U8, F32, uint8_t, float, (float)x)                                                                    \
    X(bool_to_f32, BOOL, F32, uint8_t, float, (float)x)                                                                \
    X(f64_to_f32, F64, F32, double, float, (float)x)                                                                   \
    X(f16_to_f32, F16, F32, uint16_t, float, half_to_float(x))                                                         \
    X(bf16_to_f32, BF16, F32, uint16_t, float, half_bfloat16_to_float(x))                                              \
    X(i64_to_i32, I64, I32, int64_t, int32_t, (int32_t)x)                                                              \
    X(i32_to_i64, I32, I64, int32_t, int64_t, x)                                                                       \
    X(i64_to_bool, I64, BOOL, int64_t, uint8_t, x != 0)                                                                \
    X(i32_to_bool, I32, BOOL, int32_t, uint8_t, x != 0)                                                                \
    X(bool_to_i64, BOOL, I64, uint8_t, int64_t, x)                                                                     \
    X(bool_to_i32, BOOL, I32, uint8_t, int32_t, x)

#define DEFINE_CAST(name, from_element, to_element, from_type, to_type, expression)                                    \
    CPU_TARGET_INLINE void name##_body(const from_type *from, to_type *to, size_t count) {                             \
        size_t i = 0;                                                                                                  \
        for (; i + BLOCK <= count; i += BLOCK) {                                                                       \
            CPU_TARGET_INDEPENDENT                                                                                     \
            for (size_t j = i; j < i + BLOCK; j++) {                                                                   \
                from_type x = from[j];                                                                                 \
                to[j] = (expression);                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < count; i++) {                                                                                       \
            from_type x = from[i];                                                                                     \
            to[i] = (expression);                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    CPU_TARGET_VARIANTS(name, name##_body, (const from_type *from, to_type *to, size_t count), (from, to, count));     \
    static void name##_piece(const void *from, void *to, size_t start, size_t count) {                                 \
        name((const from_type *)from + start, (to_type *)to + start, count);                                           \
    }                                                                                                                  \
    static void name##_piece(const void *from, void *to, size_t start, size_t count);

CAST_LIST(DEFINE_CAST)
DEFINE_CAST(round_to_f16, F32, F32, float, float, through_f16(x))
DEFINE_CAST(round_to_bf16, F32, F32, float, float, through_bf16(x))

typedef void (*piece_function)(const void *from, void *to, size_t start, size_t count);

/* NULL: there is none. */
static piece_function piece_of(enum element through, enum element from, enum element to) {
#define CAST_ENTRY(name, from_element, to_element, from_type, to_type, expression)                                     \
    {ELEMENT_##from_element, ELEMENT_##to_element, name##_piece},
    static const struct {
        enum element from, to;
        piece_function function;
    } casts[] = {CAST_LIST(CAST_ENTRY)};
#undef CAST_ENTRY
    if (to == ELEMENT_F32 && through != ELEMENT_F32) {
        if (from != ELEMENT_F32)
            return NULL;
        return through == ELEMENT_F16 ? round_to_f16_piece : round_to_bf16_piece;
    }
    for (size_t i = 0; i < sizeof casts / sizeof casts[0]; i++)
        if (casts[i].from == from && casts[i].to == to)
            return casts[i].function;
    return NULL;
}

struct cast_job {
    piece_function function;
    const void *x;
    void *y;
    size_t count;
};

static void run_pieces(const void *context, size_t from, size_t to) {
    const struct cast_job *job = context;
    for (size_t piece = from; piece < to; piece++) {
        size_t start = piece * PIECE, left = job->count - start;
        job->function(job->x, job->y, start, left < PIECE ? left : PIECE);
    }
}

static void run(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    size_t count = view_count(outputs), pieces = (count + PIECE - 1) / PIECE;
    struct cast_job job = {piece_of(operation->through, inputs->element, outputs->element), inputs->data, outputs->data,
                           count};
    (void)scratch;
    cpu_parallel_run(run_pieces, &job, pieces, count);
}

operation_function cpu_cast_find(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs) {
    return piece_of(operation->through, inputs->element, outputs->element) ? run : NULL;
}
