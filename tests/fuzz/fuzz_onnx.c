/* Reads the input as an ONNX model. Whatever plans is described and, if it is small, run on the CPU: a row must give
 * the same result first and second in its batch, and nothing may be read or written outside the planned memory. usage:
 * fuzz_onnx tests/fuzz/corpus/onnx   (libFuzzer) */
#include <math.h>

#include "engine/device/backend.h"
#include "engine/graph/describe.h"
#include "engine/graph/plan_parts.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_RUN_ELEMENTS = 1 << 14 };

static void check_error(const struct weir_error *err) {
    require(err->status > WEIR_OK && err->status < WEIR_STATUS_COUNT, "an error without a status");
    require_text(err->text);
}

static bool is_small(const struct plan *plan) {
    size_t sum = plan->example.step_count * 64;
    for (int i = 0; i < plan->example.buffer_count && sum <= MOST_RUN_ELEMENTS; i++)
        sum += plan->example.buffers[i].elements;
    for (size_t i = 0; i < plan->example.step_count && sum <= MOST_RUN_ELEMENTS; i++)
        sum += (size_t)(program_step_flops(&plan->example, &plan->example.steps[i]) / 64);
    return sum <= MOST_RUN_ELEMENTS;
}

/* A tensor as blocks: outer groups of `rows` times `inner` elements. */
struct blocks {
    size_t outer, rows, inner;
};

static struct blocks blocks_of(const struct tensor_shape *shape, int axis) {
    struct blocks blocks = {1, 1, 1};
    for (int i = 0; i < shape->rank; i++)
        *(axis < 0 || i > axis ? &blocks.inner : i < axis ? &blocks.outer : &blocks.rows) *= (size_t)shape->dims[i];
    return blocks;
}

static void put(enum tensor_dtype dtype, char *to, size_t number) {
    float f32 = (float)((int)(number % 7) - 3) / 2;
    double f64 = f32;
    int64_t integer = (int64_t)(number % 3);
    size_t bytes = tensor_dtype_bytes(dtype);
    if (dtype == TENSOR_F32)
        memcpy(to, &f32, bytes);
    else if (dtype == TENSOR_F64)
        memcpy(to, &f64, bytes);
    else if (dtype == TENSOR_BOOL)
        *to = (char)(number % 2);
    else
        memcpy(to, &integer, bytes); /* the low bytes; of the half floats a small number */
}

/* Every row gets the same numbers. */
static void fill(const struct tensor_spec *spec, const struct tensor_dims *dims, char *to) {
    struct tensor_shape whole = tensor_spec_whole(spec, dims);
    struct blocks blocks = blocks_of(&whole, spec->batch_axis);
    size_t bytes = tensor_dtype_bytes(spec->dtype);
    for (size_t o = 0; o < blocks.outer; o++)
        for (size_t row = 0; row < blocks.rows; row++)
            for (size_t i = 0; i < blocks.inner; i++, to += bytes)
                put(spec->dtype, to, o * blocks.inner + i);
}

static bool near(enum tensor_dtype dtype, const char *a, const char *b) {
    float x, y;
    if (memcmp(a, b, tensor_dtype_bytes(dtype)) == 0)
        return true;
    if (dtype != TENSOR_F32)
        return dtype == TENSOR_F16 || dtype == TENSOR_BF16 || dtype == TENSOR_F64; /* rounded from float32 */
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (isnan(x) && isnan(y)) || fabsf(x - y) <= 1e-4f * (1 + fabsf(x));
}

static void compare_rows(const struct tensor_spec *spec, const struct tensor_shape *shape, const char *y) {
    struct blocks blocks = blocks_of(shape, spec->batch_axis);
    size_t bytes = tensor_dtype_bytes(spec->dtype), row_bytes = blocks.inner * bytes;
    for (size_t o = 0; o < blocks.outer; o++)
        for (size_t row = 1; row < blocks.rows; row++)
            for (size_t i = 0; i < blocks.inner; i++) {
                const char *first = y + o * blocks.rows * row_bytes + i * bytes;
                require(near(spec->dtype, first, first + row * row_bytes), "equal rows give different results");
            }
}

static void run(struct plan *plan) {
    static struct backend *backend;
    struct backend_model *model;
    struct weir_error err;
    const struct signature *signature = plan_signature(plan);
    struct tensor_dims dims = *plan_example(plan);
    dims.rows = plan_max_rows(plan) > 1 ? 3 : 1;
    if (!backend)
        require(backend_cpu_open(NULL, &backend, &err) == WEIR_OK, "the backend does not open");
    const struct backend_ops *ops = backend->ops;
    if (ops->load(backend, plan, dims.rows, &model, &err) != WEIR_OK) {
        check_error(&err);
        return;
    }
    if (ops->begin(model, 0, &dims, &err) == WEIR_OK) {
        for (int i = 0; i < signature->input_count; i++)
            fill(&signature->inputs[i], &dims, ops->input(model, 0, i));
        require(ops->submit(model, 0, &err) == WEIR_OK && ops->wait(model, 0, &err) == WEIR_OK,
                "a planned model does not run");
        for (int i = 0; i < signature->output_count; i++)
            compare_rows(&signature->outputs[i], ops->output_shape(model, 0, i), ops->output(model, 0, i));
    } else {
        check_error(&err);
    }
    ops->unload(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct weir_error err;
    struct plan *plan;
    char text[512];
    if (plan_read(data, size, -1, &plan, &err) != WEIR_OK) {
        check_error(&err);
        return 0;
    }
    size_t length = plan_describe(plan, text, sizeof text);
    require(strlen(text) == (length < sizeof text ? length : sizeof text - 1), "the description has another length");
    if (is_small(plan))
        run(plan);
    plan_destroy(plan);
    return 0;
}
