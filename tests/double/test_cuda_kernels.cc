/* The kernels that compute: each against the oracle, over many shapes. */
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernel_case.h"
#include "kernels/cuda/cuda.h"

extern "C" {
#include "kernels/half.h"
#include "kernels/ref/ref.h"
}

/* Layernorm and softmax must be as near as this to the oracle; the others are no worse. */
static const float TOLERANCE = 1e-6f;
static const float INFINITE = std::numeric_limits<float>::infinity(), NONE = std::numeric_limits<float>::quiet_NaN();

/* Some of the numbers become those that are easily got wrong. */
static void season(const struct view *view) {
    static const float numbers[] = {0.0f,  -0.0f, NONE, INFINITE, -INFINITE, 1.0f,   -1.0f, 0.5f,
                                    -0.5f, 1.5f,  2.5f, 100.0f,   -100.0f,   1e-30f, 30.0f, -30.0f};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && i < view_count(view); i++)
        ((float *)view->data)[i] = numbers[i];
}

static void unary_floats(void) {
    for (int kind = 0; kind < UNARY_KINDS; kind++) {
        bool is_predicate = kind == UNARY_IS_NAN || kind == UNARY_IS_INF;
        struct view x = kernel_case_view(ELEMENT_F32, {5, 123});
        struct kernel_case made =
            kernel_case_make(OPERATION_UNARY, {x}, {kernel_case_like(&x, is_predicate ? ELEMENT_BOOL : ELEMENT_F32)});
        made.operation.unary = {(enum unary_kind)kind, 0.7f, 1.3f};
        season(&x);
        if (kind == UNARY_NOT)
            continue;
        kernel_case_check(&made, TOLERANCE);
        made.operation.unary = {(enum unary_kind)kind, 1.0f, 0.0f};
        made.in_place = !is_predicate;
        made.misaligned = kind % 2 == 0;
        kernel_case_check(&made, TOLERANCE);
    }
}

static void unary_integers(void) {
    static const enum unary_kind kinds[] = {UNARY_NONE,   UNARY_RELU,     UNARY_CLIP,
                                            UNARY_NEGATE, UNARY_ABSOLUTE, UNARY_SIGN};
    static const enum element elements[] = {ELEMENT_I64, ELEMENT_I32, ELEMENT_I8, ELEMENT_U8};
    for (enum unary_kind kind : kinds)
        for (enum element element : elements) {
            struct view x = kernel_case_view(element, {77});
            struct kernel_case made = kernel_case_make(OPERATION_UNARY, {x}, {kernel_case_like(&x, element)});
            memset(x.data, 0x80, view_element_bytes(element)); /* the least but for the last bytes */
            made.operation.unary = {kind, -2.5f, 3.5f};
            kernel_case_check(&made, 0);
            made.operation.unary = {kind, -INFINITE, 1e30f};
            kernel_case_check(&made, 0);
        }
    struct view condition = kernel_case_view(ELEMENT_BOOL, {99});
    struct kernel_case made =
        kernel_case_make(OPERATION_UNARY, {condition}, {kernel_case_like(&condition, ELEMENT_BOOL)});
    made.operation.unary.kind = UNARY_NOT;
    kernel_case_check(&made, 0);
}

/* Pairs of shapes that broadcast to the third. */
struct shapes {
    int a_rank, b_rank, rank;
    size_t a[5], b[5], y[5];
};

static const struct shapes broadcasts[] = {
    {2, 2, 2, {3, 70}, {3, 70}, {3, 70}},
    {2, 1, 2, {9, 33}, {33}, {9, 33}},
    {2, 2, 2, {9, 33}, {9, 1}, {9, 33}},
    {2, 0, 2, {9, 33}, {}, {9, 33}},
    {0, 2, 2, {}, {4, 5}, {4, 5}},
    {4, 3, 4, {2, 3, 4, 5}, {3, 1, 1}, {2, 3, 4, 5}},
    {4, 4, 4, {2, 1, 4, 1}, {1, 3, 1, 5}, {2, 3, 4, 5}},
    {5, 4, 5, {2, 1, 3, 1, 2}, {4, 3, 6, 1}, {2, 4, 3, 6, 2}},
    {1, 1, 1, {1}, {1}, {1}},
    {2, 2, 2, {0, 4}, {1, 4}, {0, 4}},
    {2, 1, 2, {7, 36}, {36}, {7, 36}},
    {3, 3, 3, {2, 5, 8}, {2, 1, 8}, {2, 5, 8}},
    {3, 2, 3, {2, 5, 8}, {5, 1}, {2, 5, 8}},
};

static struct view view_of(enum element element, int rank, const size_t *dims) {
    struct view view = {};
    view.rank = rank;
    for (int d = 0; d < rank; d++)
        view.dims[d] = dims[d];
    return kernel_case_like(&view, element);
}

static bool compares(int kind) {
    return kind >= BINARY_EQUAL && kind <= BINARY_GREATER_EQUAL;
}

static void check_binary(int kind, enum element element, enum element second) {
    for (const struct shapes &shapes : broadcasts) {
        struct view a = view_of(element, shapes.a_rank, shapes.a), b = view_of(second, shapes.b_rank, shapes.b);
        struct view y = view_of(compares(kind) ? ELEMENT_BOOL : element, shapes.rank, shapes.y);
        struct kernel_case made = kernel_case_make(OPERATION_BINARY, {a, b}, {y});
        made.operation.binary = (enum binary_kind)kind;
        if (element == ELEMENT_F32 && view_count(&a) > 100)
            season(&a);
        kernel_case_check(&made, kind == BINARY_POWER ? 4e-6f : TOLERANCE);
        bool same = kind <= BINARY_PRELU && view_count(&a) == view_count(&y);
        for (int k = 0; same && k < y.rank; k++)
            same = a.rank == y.rank;
        made.in_place = same;
        made.misaligned = true;
        kernel_case_check(&made, kind == BINARY_POWER ? 4e-6f : TOLERANCE);
    }
}

static void binary_floats(void) {
    for (int kind = 0; kind <= BINARY_GREATER_EQUAL; kind++)
        check_binary(kind, ELEMENT_F32, ELEMENT_F32);
    check_binary(BINARY_POWER, ELEMENT_F32, ELEMENT_I64);
    check_binary(BINARY_POWER, ELEMENT_F32, ELEMENT_I32);
    check_binary(BINARY_POWER, ELEMENT_I64, ELEMENT_F32);
    check_binary(BINARY_POWER, ELEMENT_I32, ELEMENT_F32);
}

static void binary_integers(void) {
    static const enum element elements[] = {ELEMENT_I64, ELEMENT_I32, ELEMENT_I8, ELEMENT_U8};
    for (int kind = 0; kind < BINARY_KINDS; kind++)
        for (enum element element : elements)
            if (kind < BINARY_SHIFT_LEFT || element == ELEMENT_U8)
                check_binary(kind, element, element);
    check_binary(BINARY_AND, ELEMENT_BOOL, ELEMENT_BOOL);
    check_binary(BINARY_OR, ELEMENT_BOOL, ELEMENT_BOOL);
    check_binary(BINARY_XOR, ELEMENT_BOOL, ELEMENT_BOOL);
    check_binary(BINARY_EQUAL, ELEMENT_BOOL, ELEMENT_BOOL);
}

static void integer_division(void) {
    struct view a = kernel_case_view(ELEMENT_I64, {6}), b = kernel_case_view(ELEMENT_I64, {6});
    struct view y = kernel_case_like(&a, ELEMENT_I64);
    static const int64_t numbers[6][2] = {{INT64_MIN, -1}, {7, 0}, {-7, 2}, {7, -2}, {INT64_MAX, -1}, {0, 0}};
    static const int64_t expected[6] = {INT64_MIN, 0, -3, -3, -INT64_MAX, 0};
    struct kernel_case made = kernel_case_make(OPERATION_BINARY, {a, b}, {y});
    for (int i = 0; i < 6; i++) {
        ((int64_t *)a.data)[i] = numbers[i][0];
        ((int64_t *)b.data)[i] = numbers[i][1];
    }
    made.operation.binary = BINARY_DIVIDE;
    kernel_case_run(&made);
    KERNEL_CASE_ASSERT(memcmp(y.data, expected, sizeof expected) == 0);
    for (enum binary_kind kind : {BINARY_MODULO, BINARY_REMAINDER, BINARY_POWER}) {
        made.operation.binary = kind;
        kernel_case_check(&made, 0);
    }
}

static void where_and_copy(void) {
    for (int element = 0; element < ELEMENT_COUNT; element++) {
        enum element of = (enum element)element;
        struct kernel_case made = kernel_case_make(
            OPERATION_WHERE,
            {kernel_case_view(ELEMENT_BOOL, {3, 1, 4}), kernel_case_view(of, {2, 1, 5, 4}), kernel_case_view(of, {1})},
            {kernel_case_view(of, {2, 3, 5, 4})});
        kernel_case_check(&made, 0);
        struct kernel_case copies =
            kernel_case_make(OPERATION_COPY, {kernel_case_view(of, {6, 7})}, {kernel_case_view(of, {42})});
        kernel_case_check(&copies, 0);
    }
}

/* Numbers that casts saturate, round or lose. */
static void season_cast(const struct view *x) {
    static const double numbers[] = {0,
                                     -0.0,
                                     0.5,
                                     -0.5,
                                     1.5,
                                     2.9,
                                     -2.9,
                                     127,
                                     128,
                                     255,
                                     256,
                                     -128,
                                     -129,
                                     300,
                                     65519.9,
                                     65520,
                                     65504,
                                     2147483647.0,
                                     2147483648.0,
                                     -2147483649.0,
                                     1e10,
                                     -1e10,
                                     1e19,
                                     -1e19,
                                     1e300,
                                     -1e300,
                                     5.9e-8,
                                     2.9e-8,
                                     6.1e-5,
                                     1.0009765625,
                                     1.00048828125,
                                     1.000488281250001,
                                     1.0014648437499999,
                                     1e-40,
                                     (double)NONE,
                                     (double)INFINITE,
                                     (double)-INFINITE,
                                     3.3895314e38};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (x->element == ELEMENT_F64)
            ((double *)x->data)[i] = numbers[i];
        else if (x->element == ELEMENT_F32)
            ((float *)x->data)[i] = (float)numbers[i];
        else if (x->element == ELEMENT_F16)
            ((uint16_t *)x->data)[i] = half_from_double(numbers[i]);
        else if (x->element == ELEMENT_BF16)
            ((uint16_t *)x->data)[i] = half_bfloat16_from_double(numbers[i]);
    if (x->element == ELEMENT_I64) {
        static const int64_t integers[] = {INT64_MIN, INT64_MAX, 16777217, 9007199254740993, -129, 256, 65535, 1 << 30};
        memcpy(x->data, integers, sizeof integers);
    }
}

static void casts(void) {
    for (int from = 0; from < ELEMENT_COUNT; from++)
        for (int to = 0; to < ELEMENT_COUNT; to++) {
            struct view x = kernel_case_view((enum element)from, {5, 60});
            struct kernel_case made = kernel_case_make(OPERATION_CAST, {x}, {kernel_case_like(&x, (enum element)to)});
            season_cast(&x);
            made.operation.through = ELEMENT_F32;
            kernel_case_check(&made, 0);
            if (to != ELEMENT_F32)
                continue;
            made.operation.through = ELEMENT_F16;
            kernel_case_check(&made, 0);
            made.operation.through = ELEMENT_BF16;
            kernel_case_check(&made, 0);
        }
}

static void check_softmax(struct softmax softmax, struct view x) {
    struct kernel_case made = kernel_case_make(OPERATION_SOFTMAX, {x}, {kernel_case_like(&x, ELEMENT_F32)});
    made.operation.softmax = softmax;
    kernel_case_check(&made, TOLERANCE);
}

static void softmaxes(void) {
    static const size_t lengths[] = {1, 2, 31, 32, 33, 127, 128, 129, 256, 257, 1000, 5001};
    for (bool log_of : {false, true})
        for (size_t length : lengths) {
            check_softmax({1, false, log_of, false}, kernel_case_view(ELEMENT_F32, {3, length}));
            check_softmax({0, false, log_of, false}, kernel_case_view(ELEMENT_F32, {length, 3}));
        }
    check_softmax({1, false, false, false}, kernel_case_view(ELEMENT_F32, {2, 5, 3, 2}));
    check_softmax({1, true, false, false}, kernel_case_view(ELEMENT_F32, {2, 5, 3, 2}));
    check_softmax({2, false, false, true}, kernel_case_view(ELEMENT_F32, {2, 5, 70}));
    check_softmax({1, false, false, true}, kernel_case_view(ELEMENT_F32, {2, 70, 3}));
    check_softmax({1, false, false, false}, kernel_case_view(ELEMENT_F32, {0, 3}));
    struct view masked = kernel_case_view(ELEMENT_F32, {4, 40});
    float *x = (float *)masked.data;
    for (int i = 0; i < 40; i++) {
        x[i] = i < 20 ? x[i] : -INFINITE; /* row 0 in part, row 1 whole */
        x[40 + i] = -INFINITE;
    }
    x[2 * 40 + 7] = NONE;
    x[3 * 40 + 8] = 1e30f;
    check_softmax({1, false, false, false}, masked);
    check_softmax({1, false, true, false}, masked);
}

static void layer_norms(void) {
    static const size_t lengths[] = {1, 5, 64, 257, 768, 4100};
    for (size_t length : lengths)
        for (bool whole : {false, true}) {
            struct view scale = kernel_case_view(ELEMENT_F32, {length}), none = {};
            struct kernel_case made = kernel_case_make(OPERATION_LAYER_NORM,
                                                       {kernel_case_view(ELEMENT_F32, {3, 2, length}), scale,
                                                        whole ? kernel_case_like(&scale, ELEMENT_F32) : none},
                                                       {kernel_case_view(ELEMENT_F32, {3, 2, length}),
                                                        whole ? kernel_case_view(ELEMENT_F32, {3, 2, 1}) : none,
                                                        whole ? kernel_case_view(ELEMENT_F32, {3, 2, 1}) : none});
            made.operation.norm.axis = 2;
            made.operation.norm.epsilon = 1e-5f;
            if (length == 1) /* the deviation is 0: its inverse is not near 1 */
                made.operation.norm.epsilon = 1;
            kernel_case_check(&made, TOLERANCE);
        }
}

static void channel_norms(void) {
    static const size_t channels[] = {1, 6, 12};
    for (size_t c : channels)
        for (size_t groups : {(size_t)0, (size_t)1, c}) {
            struct view x = kernel_case_view(ELEMENT_F32, {2, c, 5, 9}), variance = kernel_case_view(ELEMENT_F32, {c});
            struct kernel_case made =
                kernel_case_make(OPERATION_INSTANCE_NORM,
                                 {x, kernel_case_view(ELEMENT_F32, {c}), kernel_case_view(ELEMENT_F32, {c}),
                                  kernel_case_view(ELEMENT_F32, {c}), variance},
                                 {kernel_case_like(&x, ELEMENT_F32)});
            made.operation.norm.groups = groups;
            made.operation.norm.epsilon = 1e-5f;
            for (size_t i = 0; i < c; i++)
                ((float *)variance.data)[i] = kernel_case_random_float(0.1f, 2.0f);
            kernel_case_check(&made, TOLERANCE);
            made.operation.kind = OPERATION_BATCH_NORM;
            kernel_case_check(&made, TOLERANCE);
            made.operation.kind = OPERATION_LRN;
            made.operation.norm.alpha = 0.3f;
            made.operation.norm.beta = 0.75f;
            made.operation.norm.bias = 1;
            for (int64_t size : {1, 2, 5}) {
                made.operation.norm.size = size;
                kernel_case_check(&made, TOLERANCE);
            }
        }
    for (int axis = 0; axis < 3; axis++)
        for (int64_t p : {1, 2}) {
            struct view x = kernel_case_view(ELEMENT_F32, {3, 70, 5});
            struct kernel_case made = kernel_case_make(OPERATION_LP_NORM, {x}, {kernel_case_like(&x, ELEMENT_F32)});
            made.operation.norm.axis = axis;
            made.operation.norm.size = p;
            memset(x.data, 0, 5 * sizeof(float));
            kernel_case_check(&made, TOLERANCE);
        }
}

static struct kernel_case reduction(enum reduce_kind kind, struct view x, uint32_t axes) {
    struct view y = {};
    for (int d = 0; d < x.rank; d++)
        if (!(axes >> d & 1))
            y.dims[y.rank++] = x.dims[d];
    struct kernel_case made = kernel_case_make(OPERATION_REDUCE, {x}, {kernel_case_like(&y, x.element)});
    made.operation.reduce.kind = kind;
    made.operation.reduce.axes = axes;
    return made;
}

static void reductions(void) {
    static const enum reduce_kind kinds[] = {REDUCE_SUM,     REDUCE_MEAN,       REDUCE_MAX, REDUCE_MIN,
                                             REDUCE_PRODUCT, REDUCE_L1,         REDUCE_L2,  REDUCE_SUM_SQUARE,
                                             REDUCE_LOG_SUM, REDUCE_LOG_SUM_EXP};
    for (enum reduce_kind kind : kinds) {
        for (uint32_t axes = 0; axes < 16; axes++) {
            struct kernel_case made = reduction(kind, kernel_case_view(ELEMENT_F32, {3, 4, 5, 7}), axes);
            kernel_case_check(&made, TOLERANCE);
            made = reduction(kind, kernel_case_view(ELEMENT_F32, {2, 1, 9, 33}), axes);
            kernel_case_check(&made, TOLERANCE);
        }
        struct view x = kernel_case_view(ELEMENT_F32, {3, 3001});
        ((float *)x.data)[3001 + 700] = NONE;
        ((float *)x.data)[6002 + 700] = kind == REDUCE_PRODUCT ? 0 : INFINITE;
        struct kernel_case made = reduction(kind, x, 2);
        kernel_case_check(&made, TOLERANCE);
        made = reduction(kind, kernel_case_view(ELEMENT_F32, {3, 0, 2}), 2);
        kernel_case_check(&made, TOLERANCE);
    }
    for (enum reduce_kind kind : kinds)
        for (enum element element : {ELEMENT_I64, ELEMENT_I32, ELEMENT_I8, ELEMENT_U8})
            for (uint32_t axes = 0; axes < 8; axes++) {
                struct kernel_case made = reduction(kind, kernel_case_view(element, {3, 70, 5}), axes);
                kernel_case_check(&made, 0);
            }
}

static void args(void) {
    for (enum element element : {ELEMENT_F32, ELEMENT_I64, ELEMENT_I32})
        for (int axis = 0; axis < 3; axis++)
            for (int choice = 0; choice < 4; choice++)
                for (size_t length : {3, 300}) {
                    struct view x = kernel_case_view(
                        element, {axis == 0 ? length : 2, axis == 1 ? length : 3, axis == 2 ? length : 4});
                    struct view y = x;
                    if (element == ELEMENT_F32)
                        for (size_t i = 0; i < view_count(&x); i++) /* many are equal; some rows have NaN */
                            ((float *)x.data)[i] = i == 7 || i == 11 ? NONE : floorf(((float *)x.data)[i]);
                    y.dims[axis] = 1;
                    struct kernel_case made = kernel_case_make(OPERATION_ARG, {x}, {kernel_case_like(&y, ELEMENT_I64)});
                    made.operation.arg = {axis, (choice & 1) != 0, (choice & 2) != 0};
                    kernel_case_check(&made, 0);
                }
}

/* More rows than a grid has blocks: a block's rows must not get into each other's way. */
static void many_rows(void) {
    enum { ROWS = 2200, LENGTH = 64 };
    struct view x = kernel_case_view(ELEMENT_I32, {ROWS, LENGTH});
    struct kernel_case made = kernel_case_make(OPERATION_ARG, {x}, {kernel_case_view(ELEMENT_I64, {ROWS, 1})});
    made.operation.arg = {1, false, false};
    kernel_case_check(&made, 0);
}

static void cumsums(void) {
    for (enum element element : {ELEMENT_F32, ELEMENT_I64, ELEMENT_I32})
        for (int axis = 0; axis < 3; axis++)
            for (int choice = 0; choice < 4; choice++) {
                struct view x = kernel_case_view(element, {4, 70, 3});
                struct kernel_case made = kernel_case_make(OPERATION_CUMSUM, {x}, {kernel_case_like(&x, element)});
                made.operation.cumsum = {axis, (choice & 1) != 0, (choice & 2) != 0};
                kernel_case_check(&made, TOLERANCE);
            }
}

static void conversions(void) {
    enum { COUNT = 70000 }; /* more than one turn of a small grid; 16-bit patterns all occur */
    float *x = (float *)kernel_case_host(COUNT * sizeof *x);
    uint16_t *y = (uint16_t *)kernel_case_host(COUNT * sizeof *y);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t bits = i * 61681u;
        memcpy(&x[i], &bits, sizeof bits);
    }
    float *device = (float *)kernel_case_upload(x, COUNT * sizeof *x, 0);
    void *to = kernel_case_upload(NULL, COUNT * sizeof *y, 0);
    for (bool brain : {false, true}) {
        cudaError_t error = brain ? cuda_to_bf16(device, to, COUNT, kernel_case_stream())
                                  : cuda_to_f16(device, to, COUNT, kernel_case_stream());
        KERNEL_CASE_ASSERT(error == cudaSuccess);
        kernel_case_download(y, to, COUNT * sizeof *y);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint16_t expected = brain ? half_bfloat16_from_float(x[i]) : half_from_float(x[i]);
            float back = brain ? half_bfloat16_to_float(y[i]) : half_to_float(y[i]);
            if (y[i] != expected && !(std::isnan(back) && std::isnan(x[i])))
                return kernel_case_fail("%.9g becomes %04x, not %04x", (double)x[i], y[i], expected);
        }
    }
    struct unary relu = {UNARY_RELU, 0, 0};
    KERNEL_CASE_ASSERT(cuda_apply(&relu, device, COUNT, kernel_case_stream()) == cudaSuccess);
    KERNEL_CASE_ASSERT(cuda_apply(&relu, device, 0, kernel_case_stream()) == cudaSuccess);
    float *after = (float *)kernel_case_host(COUNT * sizeof *after);
    kernel_case_download(after, device, COUNT * sizeof *after);
    for (uint32_t i = 0; i < COUNT; i++)
        if (after[i] != (x[i] < 0 ? 0 : x[i]) && !std::isnan(x[i]))
            return kernel_case_fail("relu of %.9g is %.9g", (double)x[i], (double)after[i]);
}

static void rows_alone(void) {
    struct view x = kernel_case_view(ELEMENT_F32, {5, 3, 300}), scale = kernel_case_view(ELEMENT_F32, {300});
    struct view none = {}, y = kernel_case_like(&x, ELEMENT_F32), channels = kernel_case_view(ELEMENT_F32, {3});
    struct kernel_case made = kernel_case_make(OPERATION_SOFTMAX, {x}, {y});
    made.operation.softmax = {2, false, false, false};
    kernel_case_check_rows(&made, 1);
    struct view short_rows = kernel_case_view(ELEMENT_F32, {20, 77});
    struct kernel_case short_made =
        kernel_case_make(OPERATION_SOFTMAX, {short_rows}, {kernel_case_like(&short_rows, ELEMENT_F32)});
    short_made.operation.softmax.axis = 1;
    kernel_case_check_rows(&short_made, 1);
    made.operation.softmax = {1, false, true, false};
    kernel_case_check_rows(&made, 1);
    made = kernel_case_make(OPERATION_LAYER_NORM, {x, scale, scale}, {y, none, none});
    made.operation.norm.axis = 2;
    kernel_case_check_rows(&made, 1);
    made = kernel_case_make(OPERATION_INSTANCE_NORM, {x, channels, channels}, {y});
    kernel_case_check_rows(&made, 1);
    made = kernel_case_make(OPERATION_LP_NORM, {x}, {y});
    made.operation.norm.axis = made.operation.norm.size = 2;
    kernel_case_check_rows(&made, 1);
    for (uint32_t axes : {2u, 4u, 6u}) {
        made = reduction(REDUCE_MEAN, x, axes);
        kernel_case_check_rows(&made, 1);
    }
    made = kernel_case_make(OPERATION_UNARY, {x}, {y});
    made.operation.unary.kind = UNARY_GELU_ERF;
    kernel_case_check_rows(&made, 1);
}

static const struct kernel_case_test tests[] = {
    {"every function of one float is within 1e-6, keeps NaN and works in place", unary_floats},
    {"functions of integers are exact and clip at bounds that do not fit", unary_integers},
    {"operations of two floats are within 1e-6 over all kinds of broadcasting", binary_floats},
    {"operations of two integers and bools are exact over all kinds of broadcasting", binary_integers},
    {"integer division truncates, wraps around, and by zero gives 0", integer_division},
    {"where and copy move elements of every width", where_and_copy},
    {"casts between any two elements round, saturate and wrap around as the oracle does", casts},
    {"softmax is within 1e-6 for rows of any length, along any axis, masked or not", softmaxes},
    {"layer norm is within 1e-6 for rows of any length, with and without its bias and statistics", layer_norms},
    {"batch, instance, group, local response and lp norms are within 1e-6", channel_norms},
    {"reductions over any axes are within 1e-6 and keep NaN", reductions},
    {"argmax and argmin find the first, or the last, of equal elements, and NaN first", args},
    {"more rows than a grid has blocks do not get into each other's way", many_rows},
    {"cumulative sums run both ways, with and without their own element", cumsums},
    {"conversions to the 16-bit floats round as the CPU's do", conversions},
    {"a row alone has the bits that it has among others", rows_alone},
};

int main(int argc, char **argv) {
    return kernel_case_main(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
