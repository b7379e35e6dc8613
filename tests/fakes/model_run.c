#include "tests/fakes/model_run.h"

#include <string.h>

#include "engine/device/backend.h"
#include "engine/graph/plan_parts.h"

enum weir_status model_plan(struct onnx_model *model, int opset, struct plan **out, struct weir_error *err) {
    onnx_finish(model, opset);
    return plan_read(model->file.data, model->file.size, -1, out, err);
}

enum weir_status model_run_plan(const struct plan *plan, const float *x, uint32_t rows, int output, float *y,
                                struct weir_error *err) {
    const struct signature *signature = plan_signature(plan);
    struct backend *backend = NULL;
    struct backend_model *loaded = NULL;
    enum weir_status status = backend_cpu_open(NULL, &backend, err);
    if (status == WEIR_OK)
        status = backend->ops->load(backend, plan, rows, &loaded, err);
    if (status == WEIR_OK) {
        memcpy(backend->ops->input(loaded, 0, 0), x, rows * signature->inputs[0].row_bytes);
        status = backend->ops->submit(loaded, 0, rows, err);
    }
    if (status == WEIR_OK)
        status = backend->ops->wait(loaded, 0, err);
    if (status == WEIR_OK)
        memcpy(y, backend->ops->output(loaded, 0, output), rows * signature->outputs[output].row_bytes);
    if (loaded)
        backend->ops->unload(loaded);
    if (backend)
        backend->ops->close(backend);
    return status;
}

enum weir_status model_run(struct onnx_model *model, int opset, const float *x, uint32_t rows, float *y,
                           struct weir_error *err) {
    struct plan *plan;
    enum weir_status status = model_plan(model, opset, &plan, err);
    if (status != WEIR_OK)
        return status;
    status = model_run_plan(plan, x, rows, 0, y, err);
    plan_destroy(plan);
    return status;
}
