/* The operations: what a program's steps name and the kernels compute. One operation, one kernel signature; the oracle
 * in ref/ has all of them, cpu/ the ones worth doing faster.
 *
 * Inputs and outputs are views; "x", "y" are input 0 and output 0 where nothing else is said. Axes are 0..rank-1, never
 * negative. Shapes were checked when the program was made: a kernel trusts them. NaN stays NaN in every float
 * operation that does not say otherwise. Sources of the formulas: the operator definitions of the ONNX project
 * (docs/Operators.md), of the opset in brackets where they changed. */
#ifndef WEIR_KERNELS_OPERATION_H
#define WEIR_KERNELS_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/view.h"

/* X(name, text): functions of one number. a and b are struct unary's. */
#define UNARY_LIST(X)                                                                                                  \
    X(NONE, "none")                                                                                                    \
    X(RELU, "relu")                                                                                                    \
    X(LEAKY_RELU, "leaky relu") /* x < 0 ? a * x : x */                                                                \
    X(CLIP, "clip")             /* min(max(x, a), b); of integers too, whose bounds are a and b */                     \
    X(SIGMOID, "sigmoid")                                                                                              \
    X(TANH, "tanh")                                                                                                    \
    X(ELU, "elu")                   /* x < 0 ? a * (exp(x) - 1) : x */                                                 \
    X(SELU, "selu")                 /* b * (x <= 0 ? a * (exp(x) - 1) : x) */                                          \
    X(CELU, "celu")                 /* max(0, x) + min(0, a * (exp(x / a) - 1)) */                                     \
    X(HARD_SIGMOID, "hard sigmoid") /* max(0, min(1, a * x + b)) */                                                    \
    X(HARD_SWISH, "hard swish")     /* x * max(0, min(1, x / 6 + 0.5)) */                                              \
    X(SOFTPLUS, "softplus")                                                                                            \
    X(SOFTSIGN, "softsign")                                                                                            \
    X(THRESHOLDED_RELU, "thresholded relu") /* x > a ? x : 0 */                                                        \
    X(SHRINK, "shrink")                     /* a is lambd, b is bias */                                                \
    X(GELU_ERF, "gelu")                     /* x / 2 * (1 + erf(x / sqrt 2)) */                                        \
    X(GELU_TANH, "gelu (tanh)")                                                                                        \
    X(SILU, "silu") /* x * sigmoid(a * x) */                                                                           \
    X(MISH, "mish")                                                                                                    \
    X(ERF, "erf")                                                                                                      \
    X(SQRT, "sqrt")                                                                                                    \
    X(RECIPROCAL, "reciprocal")                                                                                        \
    X(EXP, "exp")                                                                                                      \
    X(LOG, "log")                                                                                                      \
    X(NEGATE, "negate")                                                                                                \
    X(ABSOLUTE, "absolute")                                                                                            \
    X(SIGN, "sign")                                                                                                    \
    X(FLOOR, "floor")                                                                                                  \
    X(CEIL, "ceil")                                                                                                    \
    X(ROUND, "round") /* halves to the even number */                                                                  \
    X(SIN, "sin")                                                                                                      \
    X(COS, "cos")                                                                                                      \
    X(TAN, "tan")                                                                                                      \
    X(ASIN, "asin")                                                                                                    \
    X(ACOS, "acos")                                                                                                    \
    X(ATAN, "atan")                                                                                                    \
    X(SINH, "sinh")                                                                                                    \
    X(COSH, "cosh")                                                                                                    \
    X(ASINH, "asinh")                                                                                                  \
    X(ACOSH, "acosh")                                                                                                  \
    X(ATANH, "atanh")                                                                                                  \
    X(NOT, "not")       /* bool to bool */                                                                             \
    X(IS_NAN, "is nan") /* float to bool */                                                                            \
    X(IS_INF, "is inf") /* float to bool; a: counts -inf if not 0, b: +inf */                                          \
    X(SCALE, "scale")   /* a * x + b */

enum unary_kind {
#define UNARY_ENUM(name, text) UNARY_##name,
    UNARY_LIST(UNARY_ENUM)
#undef UNARY_ENUM
        UNARY_KINDS
};

struct unary {
    enum unary_kind kind;
    float a, b;
};

/* Of two views that broadcast to y by NumPy's rules. Comparisons and AND, OR, XOR give bool. Integers wrap around;
 * integer division truncates, and by zero gives 0. */
#define BINARY_LIST(X)                                                                                                 \
    X(ADD, "add")                                                                                                      \
    X(SUBTRACT, "subtract")                                                                                            \
    X(MULTIPLY, "multiply")                                                                                            \
    X(DIVIDE, "divide")                                                                                                \
    X(POWER, "power") /* y has the element of x; the exponent may have another */                                      \
    X(MINIMUM, "minimum")                                                                                              \
    X(MAXIMUM, "maximum")                                                                                              \
    X(MODULO, "modulo")       /* the sign of the divisor (Python's %) */                                               \
    X(REMAINDER, "remainder") /* the sign of the dividend (C's fmod) */                                                \
    X(PRELU, "prelu")         /* x < 0 ? slope * x : x */                                                              \
    X(EQUAL, "equal")                                                                                                  \
    X(LESS, "less")                                                                                                    \
    X(LESS_EQUAL, "less or equal")                                                                                     \
    X(GREATER, "greater")                                                                                              \
    X(GREATER_EQUAL, "greater or equal")                                                                               \
    X(AND, "and")                                                                                                      \
    X(OR, "or")                                                                                                        \
    X(XOR, "xor")                                                                                                      \
    X(SHIFT_LEFT, "shift left")                                                                                        \
    X(SHIFT_RIGHT, "shift right")

enum binary_kind {
#define BINARY_ENUM(name, text) BINARY_##name,
    BINARY_LIST(BINARY_ENUM)
#undef BINARY_ENUM
        BINARY_KINDS
};

enum reduce_kind {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PRODUCT,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_SUM_SQUARE,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP
};

/* X(name, text, inputs and outputs). [..] is optional. */
#define OPERATION_LIST(X)                                                                                              \
    X(COPY, "copy") /* the same bytes, perhaps under another shape */                                                  \
    X(UNARY, "unary")                                                                                                  \
    X(BINARY, "binary") /* a, b */                                                                                     \
    X(WHERE, "where")   /* condition (bool), a, b: broadcast; any element */                                           \
    X(CAST, "cast")     /* between any two elements; floats to integers truncate and saturate, NaN gives 0 */          \
    X(MATMUL, "matmul") /* a, b, [c]: NumPy's matmul, float; see struct matmul */                                      \
    X(CONV, "conv")     /* x [n,c,spatial], w [m,c/groups,kernel], [b], [sum: added before `then`] */                  \
    X(CONV_TRANSPOSE, "conv transpose") /* x [n,c,spatial], w [c,m/groups,kernel], [b] */                              \
    X(POOL, "pool")                     /* x [n,c,spatial]; MAX may have a second output: I64 flat indices into x */   \
    X(REDUCE, "reduce")                                                                                                \
    X(ARG, "arg") /* ArgMax, ArgMin: y is I64 */                                                                       \
    X(SOFTMAX, "softmax")                                                                                              \
    X(LAYER_NORM, "layer norm")       /* x, scale, [bias]; y, [mean], [inverse deviation] */                           \
    X(BATCH_NORM, "batch norm")       /* x [n,c,...], scale, bias, mean, variance: each [c] */                         \
    X(INSTANCE_NORM, "instance norm") /* x [n,c,...], scale [c], bias [c]; groups of channels together */              \
    X(LRN, "lrn")                                                                                                      \
    X(LP_NORM, "lp norm")                                                                                              \
    X(TRANSPOSE, "transpose")                                                                                          \
    X(SLICE, "slice")                                                                                                  \
    X(CONCAT, "concat") /* any number of inputs */                                                                     \
    X(GATHER, "gather") /* data, indices (I32 or I64; negative ones count from the end) */                             \
    X(GATHER_ELEMENTS, "gather elements")                                                                              \
    X(GATHER_ND, "gather nd")                                                                                          \
    X(SCATTER_ELEMENTS, "scatter elements") /* data, indices, updates */                                               \
    X(SCATTER_ND, "scatter nd")                                                                                        \
    X(EXPAND, "expand") /* x broadcast to y's shape */                                                                 \
    X(TILE, "tile")     /* y[i] = x[i mod dims] */                                                                     \
    X(PAD, "pad")       /* x, [value: a scalar of x's element] */                                                      \
    X(RESIZE, "resize")                                                                                                \
    X(CUMSUM, "cumsum")                                                                                                \
    X(TOPK, "topk")       /* x; values, I64 indices */                                                                 \
    X(ONE_HOT, "one hot") /* indices, values [off, on] of y's element */                                               \
    X(TRILU, "trilu")                                                                                                  \
    X(EINSUM, "einsum")                                                                                                \
    X(QUANTIZE, "quantize")                 /* x (F32), scale, [zero point]; y U8 or I8 */                             \
    X(DEQUANTIZE, "dequantize")             /* x (U8, I8, I32), scale, [zero point]; y F32 */                          \
    X(DYNAMIC_QUANTIZE, "dynamic quantize") /* x; y U8, scale, zero point U8 */                                        \
    X(QLINEAR_MATMUL, "qlinear matmul")     /* a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero */              \
    X(QLINEAR_CONV, "qlinear conv")         /* x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, [b I32] */     \
    X(MATMUL_INTEGER, "matmul integer")     /* a, b, [a_zero], [b_zero]; y I32 */                                      \
    X(CONV_INTEGER, "conv integer")         /* x, w, [x_zero], [w_zero]; y I32 */                                      \
    X(RECURRENT, "recurrent")               /* x, w, r, [b], [sequence lengths I32], [h0], [c0], [p]; [y], [h], [c] */

enum operation_kind {
#define OPERATION_ENUM(name, text) OPERATION_##name,
    OPERATION_LIST(OPERATION_ENUM)
#undef OPERATION_ENUM
        OPERATION_KINDS
};

/* y = then(alpha * A * B + beta * c); A and B are the inputs, their last two dimensions exchanged where transpose_*
 * says so. Leading dimensions broadcast; an input of rank 1 is a row (a) or a column (b), as in NumPy. c broadcasts to
 * y. */
struct matmul {
    bool transpose_a, transpose_b;
    float alpha, beta;
};

enum { OPERATION_MAX_SPATIAL = 3 };

/* Convolutions and pools over 1 to 3 spatial dimensions. The output's size is in its view. */
struct window {
    int spatial;
    size_t kernel[OPERATION_MAX_SPATIAL];
    size_t strides[OPERATION_MAX_SPATIAL];
    size_t dilations[OPERATION_MAX_SPATIAL];
    size_t pads[OPERATION_MAX_SPATIAL];     /* before the first element; may differ from the end's */
    size_t pads_end[OPERATION_MAX_SPATIAL]; /* behind the last, as counted by an average that counts padding */
    size_t groups;
};

enum pool_kind { POOL_MAX, POOL_AVERAGE, POOL_LP };

struct pool {
    enum pool_kind kind;
    bool count_padding; /* AVERAGE */
    bool column_major;  /* MAX: indices as storage_order 1 wants them */
    int64_t p;          /* LP */
    struct window window;
};

struct reduce {
    enum reduce_kind kind;
    uint32_t axes; /* bit i: dimension i of x is reduced; y has the others, in order (or as 1) */
};

struct arg {
    int axis;
    bool min, last; /* last: of equal elements the last one */
};

/* Normalizes dims[axis], or dims[axis..rank) together where `flat` (opset < 13). */
struct softmax {
    int axis;
    bool flat, log, hard;
};

struct norm {
    int axis;      /* LAYER_NORM: the first normalized dimension; LP_NORM: the dimension */
    size_t groups; /* INSTANCE_NORM: 0: every channel is a group (scale and bias by channel in any case) */
    float epsilon;
    float alpha, beta, bias; /* LRN */
    int64_t size;            /* LRN: window; LP_NORM: p, 1 or 2 */
};

/* Dimension i of y is dimension order[i] of x. */
struct transpose {
    int order[VIEW_MAX_RANK];
};

/* y[i] = x[start + i * step] in each dimension. */
struct slice {
    int64_t start[VIEW_MAX_RANK], step[VIEW_MAX_RANK];
};

/* What an update does with the element that is there. */
enum scatter_reduction { SCATTER_SET, SCATTER_ADD, SCATTER_MULTIPLY, SCATTER_MAX, SCATTER_MIN };

struct gather {
    int axis;
    int batch_dims;                   /* GATHER_ND */
    enum scatter_reduction reduction; /* SCATTER_* */
};

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

/* before: elements in front of each dimension; negative ones are cut off. */
struct pad {
    enum pad_mode mode;
    int64_t before[VIEW_MAX_RANK];
};

enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
enum resize_coordinates {
    RESIZE_HALF_PIXEL,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_TF_HALF_PIXEL_FOR_NN,
    RESIZE_TF_CROP,
    RESIZE_HALF_PIXEL_SYMMETRIC
};
enum resize_rounding { RESIZE_PREFER_FLOOR, RESIZE_PREFER_CEIL, RESIZE_FLOOR, RESIZE_CEIL };

struct resize {
    enum resize_mode mode;
    enum resize_coordinates coordinates;
    enum resize_rounding rounding;
    float scales[VIEW_MAX_RANK];
    float roi_start[VIEW_MAX_RANK], roi_end[VIEW_MAX_RANK]; /* TF_CROP */
    float extrapolation;                                    /* TF_CROP: outside x */
    float cubic_a;
    bool exclude_outside;
};

struct cumsum {
    int axis;
    bool exclusive, reverse;
};

struct topk {
    int axis;
    bool largest;
};

struct trilu {
    int64_t k;
    bool upper;
};

enum { OPERATION_MAX_LABELS = 26, OPERATION_MAX_TERMS = 4 };

/* Einstein's sum: labels are numbers 0..label_count-1, one for each dimension of each input and of the output. */
struct einsum {
    int term_count; /* inputs */
    int label_count;
    signed char inputs[OPERATION_MAX_TERMS][VIEW_MAX_RANK];
    signed char output[VIEW_MAX_RANK];
};

enum recurrent_kind { RECURRENT_RNN, RECURRENT_GRU, RECURRENT_LSTM };

/* Functions by direction: LSTM f, g, h; GRU f, g; RNN f. Layout and gate order as ONNX has them (LSTM i o f c, GRU z r
 * h). */
struct recurrent {
    enum recurrent_kind kind;
    bool reverse_first; /* direction 0 runs backwards */
    int directions;     /* 2: the second one runs backwards */
    bool linear_before_reset, input_forget, batch_first;
    float clip; /* 0: none */
    struct unary functions[2][3];
};

/* What to do. `then` is applied to the results of MATMUL and CONV alone. */
struct operation {
    enum operation_kind kind;
    struct unary then;
    union {
        struct unary unary;
        enum binary_kind binary;
        enum element through; /* CAST: F16, BF16: a float result is rounded to that precision; else F32 */
        struct matmul matmul;
        struct window window; /* CONV, CONV_TRANSPOSE, QLINEAR_CONV, CONV_INTEGER */
        struct pool pool;
        struct reduce reduce;
        struct arg arg;
        struct softmax softmax;
        struct norm norm;
        struct transpose transpose;
        struct slice slice;
        int axis; /* CONCAT, ONE_HOT, QUANTIZE, DEQUANTIZE: of scale and zero point where they are lists */
        struct gather gather;
        struct pad pad;
        struct resize resize;
        struct cumsum cumsum;
        struct topk topk;
        struct trilu trilu;
        struct einsum einsum;
        struct recurrent recurrent;
    };
};

/* Computes the outputs. scratch is as large as the kernel's own *_scratch_bytes says, 64-byte aligned. y may be x (the
 * same address) for UNARY and, where the shapes are equal, for BINARY; otherwise nothing overlaps. thread: any; no
 * state is kept. */
typedef void (*operation_function)(const struct operation *operation, const struct view *inputs,
                                   const struct view *outputs, void *scratch);

const char *operation_text(enum operation_kind kind);
const char *operation_unary_text(enum unary_kind kind);
const char *operation_binary_text(enum binary_kind kind);

#endif
