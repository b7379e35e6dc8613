/* Reads the input as an ONNX model. Whatever plans is described and, if it is small, run on the CPU: a row must give
 * the same result first and second in its batch, and nothing may be read or written outside the planned memory. usage:
 * fuzz_onnx tests/fuzz/corpus/onnx   (libFuzzer) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/backend.h"
#include "engine/graph/describe.h"
#include "engine/graph/plan_parts.h"
#include "engine/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_RUN_ELEMENTS = 1 << 14 };

static void require(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "fuzz_onnx: %s\n", what);
        abort();
    }
}

static void check_error(const struct weir_error *err) {
    require(err->status > WEIR_OK && err->status < WEIR_STATUS_COUNT, "an error without a status");
    require(err->text[0] != 0, "an error without a text");
    for (const char *text = err->text; *text;) {
        size_t length = utf8_length(text, strlen(text));
        require(length > 0, "an error text is not UTF-8");
        text += length;
    }
}

static bool is_small(const struct plan *plan) {
    size_t sum = plan->program.step_count * 64;
    for (int i = 0; i < plan->program.buffer_count && sum <= MOST_RUN_ELEMENTS; i++)
        sum += plan->program.buffers[i].row_elements;
    return sum <= MOST_RUN_ELEMENTS;
}

static void run(const struct plan *plan) {
    static struct backend *backend;
    struct backend_model *model;
    struct weir_error err;
    const struct tensor_spec *in = &plan->signature.inputs[0];
    if (!backend)
        require(backend_cpu_open(NULL, &backend, &err) == WEIR_OK, "the backend does not open");
    if (backend->ops->load(backend, plan, 2, &model, &err) != WEIR_OK) {
        check_error(&err);
        return;
    }
    float *x = backend->ops->input(model, 0, 0);
    for (size_t i = 0; i < in->row_elements; i++)
        x[i] = x[in->row_elements + i] = (float)((int)(i % 7) - 3) / 2;
    require(backend->ops->submit(model, 0, 2, &err) == WEIR_OK && backend->ops->wait(model, 0, &err) == WEIR_OK,
            "a planned model does not run");
    for (int i = 0; i < plan->signature.output_count; i++) {
        const char *y = backend->ops->output(model, 0, i);
        size_t bytes = plan->signature.outputs[i].row_bytes;
        require(memcmp(y, y + bytes, bytes) == 0, "equal rows give different results");
    }
    backend->ops->unload(model);
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
