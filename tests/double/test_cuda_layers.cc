/* The kernels of recurrent layers, of the first elements of an order, of Einstein's sums, of updates and of
 * quantization, against the oracle. */
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernel_case.h"
#include "kernels/cuda/cuda.h"

extern "C" {
#include "kernels/element.h"
}

enum { STEPS = 4, BATCH = 3, IN = 5 };

/* Small weights, so that no gate is shut. */
static struct view weights(std::initializer_list<size_t> dims) {
    struct view view = kernel_case_view(ELEMENT_F32, dims);
    for (size_t i = 0; i < view_count(&view); i++)
        ((float *)view.data)[i] *= 0.15f;
    return view;
}

static void set_functions(struct recurrent *recurrent) {
    static const enum unary_kind usual[3][3] = {{UNARY_TANH, UNARY_NONE, UNARY_NONE},
                                                {UNARY_SIGMOID, UNARY_TANH, UNARY_NONE},
                                                {UNARY_SIGMOID, UNARY_TANH, UNARY_TANH}};
    for (int direction = 0; direction < 2; direction++)
        for (int i = 0; i < 3; i++)
            recurrent->functions[direction][i].kind = usual[recurrent->kind][i];
}

static struct kernel_case layer(enum recurrent_kind kind, size_t directions, size_t hidden, bool batch_first) {
    size_t gates = (kind == RECURRENT_LSTM ? 4 : kind == RECURRENT_GRU ? 3 : 1) * hidden;
    struct view none = {}, x = batch_first ? kernel_case_view(ELEMENT_F32, {BATCH, STEPS, IN})
                                           : kernel_case_view(ELEMENT_F32, {STEPS, BATCH, IN});
    struct view y = batch_first ? kernel_case_view(ELEMENT_F32, {BATCH, STEPS, directions, hidden})
                                : kernel_case_view(ELEMENT_F32, {STEPS, directions, BATCH, hidden});
    struct view state = batch_first ? kernel_case_view(ELEMENT_F32, {BATCH, directions, hidden})
                                    : kernel_case_view(ELEMENT_F32, {directions, BATCH, hidden});
    struct view after = kernel_case_like(&state, ELEMENT_F32);
    struct kernel_case made = kernel_case_make(
        OPERATION_RECURRENT,
        {x, weights({directions, gates, IN}), weights({directions, gates, hidden}), none, none, none, none, none},
        {y, state, kind == RECURRENT_LSTM ? after : none});
    made.operation.recurrent.kind = kind;
    made.operation.recurrent.directions = (int)directions;
    made.operation.recurrent.batch_first = batch_first;
    set_functions(&made.operation.recurrent);
    return made;
}

/* Everything that may be left out. */
static void add_rest(struct kernel_case *made, size_t directions, size_t hidden) {
    const struct recurrent *recurrent = &made->operation.recurrent;
    struct view lengths = kernel_case_view(ELEMENT_I32, {BATCH});
    const int32_t all[BATCH] = {STEPS, 0, 2};
    memcpy(lengths.data, all, sizeof all);
    made->inputs[3] = weights({directions, 2 * made->inputs[1].dims[1]});
    made->inputs[4] = lengths;
    made->inputs[5] = kernel_case_like(&made->outputs[1], ELEMENT_F32);
    if (recurrent->kind == RECURRENT_LSTM) {
        made->inputs[6] = kernel_case_like(&made->outputs[1], ELEMENT_F32);
        made->inputs[7] = weights({directions, 3 * hidden});
    }
}

static void check_layer(enum recurrent_kind kind, size_t directions, size_t hidden, bool batch_first) {
    struct kernel_case made = layer(kind, directions, hidden, batch_first);
    kernel_case_check(&made, 2e-6f);
    add_rest(&made, directions, hidden);
    made.operation.recurrent.reverse_first = directions == 1;
    made.operation.recurrent.linear_before_reset = hidden == 7;
    made.operation.recurrent.input_forget = hidden == 7;
    made.operation.recurrent.clip = hidden == 7 ? 0.4f : 0.0f;
    kernel_case_check(&made, 2e-6f);
    if (batch_first) {
        made.inputs[4] = {};
        kernel_case_check_rows(&made, kind == RECURRENT_LSTM ? 1u | 1u << 5 | 1u << 6 : 1u | 1u << 5);
    }
    struct kernel_case last = made;
    last.outputs[0] = {};
    kernel_case_check(&last, 2e-6f);
}

static void recurrent_layers(void) {
    for (enum recurrent_kind kind : {RECURRENT_RNN, RECURRENT_GRU, RECURRENT_LSTM})
        for (size_t directions : {1, 2})
            for (size_t hidden : {7, 40})
                check_layer(kind, directions, hidden, hidden == 7);
}

/* Equal ones, NaN and infinities among them. */
static void season(const struct view *x) {
    for (size_t i = 0; i < view_count(x); i++)
        if (element_is_float(x->element) && i % 11 == 3)
            element_set_number(x, i, i % 2 ? (double)NAN : i % 3 ? (double)INFINITY : 0.0);
        else if (element_is_float(x->element) && i % 5 == 1)
            element_set_number(x, i, 1.0);
}

static void check_topk(enum element element, int axis, size_t k, struct view x, bool largest) {
    struct view y = x;
    season(&x);
    y.dims[axis] = k;
    struct view values = kernel_case_like(&y, element), places = kernel_case_like(&y, ELEMENT_I64), none = {};
    struct kernel_case made = kernel_case_make(OPERATION_TOPK, {x}, {values, places});
    made.operation.topk.axis = axis;
    made.operation.topk.largest = largest;
    kernel_case_check(&made, 0);
    made.outputs[0] = none;
    kernel_case_check(&made, 0);
    made.outputs[0] = values;
    made.outputs[1] = none;
    kernel_case_check(&made, 0);
    if (axis > 0)
        kernel_case_check_rows(&made, 1);
}

static void first_elements(void) {
    for (enum element element : {ELEMENT_F32, ELEMENT_I64, ELEMENT_I32})
        for (bool largest : {false, true}) {
            check_topk(element, 1, 3, kernel_case_view(element, {4, 9, 2}), largest);
            check_topk(element, 0, 4, kernel_case_view(element, {4, 3}), largest);
            check_topk(element, 1, 5, kernel_case_view(element, {2, 300}), largest);
            check_topk(element, 1, 0, kernel_case_view(element, {2, 4}), largest);
        }
}

/* The labels of the inputs, then those of the output. */
static void check_einsum(std::initializer_list<const char *> labels, std::initializer_list<struct view> inputs,
                         struct view y) {
    struct kernel_case made = kernel_case_make(OPERATION_EINSUM, inputs, {y});
    struct einsum *einsum = &made.operation.einsum;
    einsum->term_count = (int)inputs.size();
    int term = 0;
    for (const char *text : labels) {
        for (int d = 0; text[d]; d++) {
            int label = text[d] - 'a';
            (term < einsum->term_count ? einsum->inputs[term] : einsum->output)[d] = (signed char)label;
            einsum->label_count = label < einsum->label_count ? einsum->label_count : label + 1;
        }
        term++;
    }
    kernel_case_check(&made, 3e-6f);
}

static void sums(void) {
    struct view matrix = kernel_case_view(ELEMENT_F32, {3, 4}), square = kernel_case_view(ELEMENT_F32, {2, 5, 5});
    check_einsum({"ab", "a"}, {matrix}, kernel_case_view(ELEMENT_F32, {3}));
    check_einsum({"ab", ""}, {matrix}, kernel_case_view(ELEMENT_F32, {}));
    check_einsum({"abb", "ab"}, {square}, kernel_case_view(ELEMENT_F32, {2, 5}));
    check_einsum({"abb", "a"}, {square}, kernel_case_view(ELEMENT_F32, {2}));
    check_einsum({"ab", "bc", "cd", "da"},
                 {matrix, kernel_case_view(ELEMENT_F32, {4, 2}), kernel_case_view(ELEMENT_F32, {2, 6})},
                 kernel_case_view(ELEMENT_F32, {6, 3}));
    check_einsum({"ab", "cb", "ac"}, {kernel_case_view(ELEMENT_F32, {3, 1}), kernel_case_view(ELEMENT_F32, {5, 4})},
                 kernel_case_view(ELEMENT_F32, {3, 5}));
    check_einsum({"ab", "b"}, {kernel_case_view(ELEMENT_F32, {0, 4})}, kernel_case_view(ELEMENT_F32, {4}));
}

/* Some are negative, some out of range, many the same. */
static struct view indices_for(size_t size, enum element element, std::initializer_list<size_t> dims) {
    struct view indices = kernel_case_view(element, dims);
    for (size_t i = 0; i < view_count(&indices); i++)
        element_set_integer(&indices, i, (int64_t)kernel_case_random(0, 2 * size + 3) - (int64_t)size - 2);
    return indices;
}

static void check_scatter(enum element element, enum element of_index, int reduction) {
    auto set = [reduction](struct kernel_case *made, int axis) {
        made->operation.gather.axis = axis;
        made->operation.gather.reduction = (enum scatter_reduction)reduction;
        made->misaligned = axis == 1;
        kernel_case_check(made, 1e-6f);
    };
    for (int axis = 0; axis < 3; axis++) {
        struct kernel_case made =
            kernel_case_make(OPERATION_SCATTER_ELEMENTS,
                             {kernel_case_view(element, {4, 6, 5}), indices_for(4, of_index, {3, 5, 4}),
                              kernel_case_view(element, {3, 5, 4})},
                             {kernel_case_view(element, {4, 6, 5})});
        set(&made, axis);
    }
    struct kernel_case made =
        kernel_case_make(OPERATION_SCATTER_ND,
                         {kernel_case_view(element, {3, 4, 5, 6}), indices_for(3, of_index, {2, 7, 2}),
                          kernel_case_view(element, {2, 7, 5, 6})},
                         {kernel_case_view(element, {3, 4, 5, 6})});
    set(&made, 0);
    made = kernel_case_make(
        OPERATION_SCATTER_ND,
        {kernel_case_view(element, {5}), indices_for(5, of_index, {9, 1}), kernel_case_view(element, {9})},
        {kernel_case_view(element, {5})});
    set(&made, 0);
    made.inputs[1] = kernel_case_view(of_index, {0, 1});
    made.inputs[2] = kernel_case_view(element, {0});
    set(&made, 0);
}

static void updates(void) {
    for (enum element element : {ELEMENT_F32, ELEMENT_I64, ELEMENT_I32, ELEMENT_I8, ELEMENT_U8})
        for (int reduction = SCATTER_SET; reduction <= SCATTER_MIN; reduction++)
            check_scatter(element, reduction % 2 ? ELEMENT_I32 : ELEMENT_I64, reduction);
    for (enum element element : {ELEMENT_F16, ELEMENT_F64, ELEMENT_BOOL})
        check_scatter(element, ELEMENT_I64, SCATTER_SET);
    struct view half = kernel_case_view(ELEMENT_F16, {3});
    struct kernel_case sum = kernel_case_make(OPERATION_SCATTER_ND, {half, half, half}, {half});
    sum.operation.gather.reduction = SCATTER_ADD;
    KERNEL_CASE_ASSERT(cuda_find(&sum.operation, sum.inputs, sum.outputs) == NULL);
}

/* Positive, so that nothing is divided by 0. */
static struct view scales(std::initializer_list<size_t> dims) {
    struct view view = kernel_case_view(ELEMENT_F32, dims);
    for (size_t i = 0; i < view_count(&view); i++)
        ((float *)view.data)[i] = kernel_case_random_float(0.005f, 0.1f);
    return view;
}

static void quantization(void) {
    struct view none = {};
    for (enum element element : {ELEMENT_U8, ELEMENT_I8})
        for (int axis = -1; axis < 3; axis++)
            for (bool zero : {false, true}) {
                struct view x = kernel_case_view(ELEMENT_F32, {4, 4, 4}), small = kernel_case_like(&x, element);
                struct view scale = axis < 0 ? scales({}) : scales({4});
                struct kernel_case made = kernel_case_make(OPERATION_QUANTIZE, {x, scale, none}, {small});
                ((float *)x.data)[7] = NAN;
                ((float *)x.data)[9] = INFINITY;
                made.inputs[2] = zero ? kernel_case_like(&scale, element) : none;
                made.operation.axis = axis < 0 ? 1 : axis;
                kernel_case_check(&made, 0);
                made.operation.kind = OPERATION_DEQUANTIZE;
                made.inputs[0] = kernel_case_like(&x, element);
                made.outputs[0] = x;
                kernel_case_check(&made, 0);
            }
    struct view x = kernel_case_view(ELEMENT_F32, {3, 700}), small = kernel_case_like(&x, ELEMENT_U8);
    struct view wide = kernel_case_view(ELEMENT_I32, {3, 7}), scale = scales({});
    struct kernel_case made =
        kernel_case_make(OPERATION_DEQUANTIZE, {wide, scale, none}, {kernel_case_like(&wide, ELEMENT_F32)});
    kernel_case_check(&made, 0);
    made = kernel_case_make(OPERATION_DYNAMIC_QUANTIZE, {x}, {small, scales({}), kernel_case_view(ELEMENT_U8, {})});
    kernel_case_check(&made, 0);
    memset(x.data, 0, view_count(&x) * sizeof(float));
    kernel_case_check(&made, 0);
    made.outputs[1] = made.outputs[2] = none;
    kernel_case_check(&made, 0);
}

static const struct kernel_case_test tests[] = {
    {"RNN, GRU and LSTM agree in both directions, with and without their optional inputs", recurrent_layers},
    {"the first elements of an order are found, NaN the greatest, equal ones in their order", first_elements},
    {"updates come in order, whatever they do with what is there", updates},
    {"numbers become 8-bit integers and come back bit for bit as the oracle's", quantization},
    {"Einstein's sums take diagonals, repeat what has size 1, and give 0 for nothing", sums},
};

int main(int argc, char **argv) {
    return kernel_case_main(tests, sizeof tests / sizeof *tests, argc > 1 ? argv[1] : NULL);
}
