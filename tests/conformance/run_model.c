/* Runs rows through a model on the CPU backend. usage: run_model MODEL [MAX_ROWS] <rows >outputs
 * Rows are raw float32, as are the outputs: all rows of the first output, then all of the second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/backend.h"
#include "engine/graph/describe.h"
#include "engine/graph/plan.h"

static float *read_all(size_t *bytes) {
    size_t capacity = 1 << 16;
    char *memory = malloc(capacity);
    *bytes = 0;
    for (size_t n; memory && (n = fread(memory + *bytes, 1, capacity - *bytes, stdin)) > 0;) {
        *bytes += n;
        if (*bytes == capacity)
            memory = realloc(memory, capacity *= 2);
    }
    return (float *)(void *)memory;
}

static int fail(const struct weir_error *err) {
    fprintf(stderr, "%s: %s\n", weir_status_text(err->status), err->text);
    return 1;
}

int main(int argc, char **argv) {
    struct weir_error err;
    struct plan *plan;
    struct backend *backend;
    struct backend_model *model;
    char text[16384];
    size_t bytes;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: run_model MODEL [MAX_ROWS] <rows >outputs\n");
        return 2;
    }
    uint32_t max_rows = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 32;
    const struct backend_options options = {0};
    if (plan_load(argv[1], &plan, &err) != WEIR_OK || backend_cpu_open(&options, &backend, &err) != WEIR_OK ||
        backend->ops->load(backend, plan, max_rows, &model, &err) != WEIR_OK)
        return fail(&err);
    plan_describe(plan, text, sizeof text);
    fputs(text, stderr);
    const struct signature *signature = plan_signature(plan);
    float *rows = read_all(&bytes);
    size_t row_bytes = signature->inputs[0].row_bytes, count = bytes / row_bytes;
    for (int i = 0; rows && i < signature->output_count; i++)
        for (size_t at = 0; at < count; at += max_rows) {
            size_t n = count - at < max_rows ? count - at : max_rows;
            memcpy(backend->ops->input(model, 0, 0), (char *)rows + at * row_bytes, n * row_bytes);
            if (backend->ops->submit(model, 0, (uint32_t)n, &err) != WEIR_OK ||
                backend->ops->wait(model, 0, &err) != WEIR_OK)
                return fail(&err);
            fwrite(backend->ops->output(model, 0, i), signature->outputs[i].row_bytes, n, stdout);
        }
    free(rows);
    backend->ops->unload(model);
    backend->ops->close(backend);
    plan_destroy(plan);
    return 0;
}
