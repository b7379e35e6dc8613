#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/device/cuda_module.h"
#include "tests/conformance/run_network.h"

enum { MOST_RUNS = 1 << 20 };

enum weir_status network_read(struct network *network, struct weir_error *err) {
    if (network->plan)
        return WEIR_OK;
    int64_t began = clock_now_ns();
    enum weir_status status = plan_load(network->path, &network->plan, err);
    network->load_ns = clock_now_ns() - began;
    return status;
}

static bool settle(int64_t *size, int64_t wanted) {
    if (*size >= 0 && *size != wanted)
        return false;
    *size = wanted;
    return true;
}

enum weir_status network_dims(const struct network *network, struct tensor_dims *dims, struct weir_error *err) {
    const struct signature *signature = plan_signature(network->plan);
    int64_t rows = -1;
    *dims = (struct tensor_dims){.free_count = signature->free_count};
    for (int i = 0; i < TENSOR_MAX_FREE; i++)
        dims->free[i] = -1;
    if (network->input_count != signature->input_count)
        return weir_fail(err, WEIR_INVALID, "the model has %d inputs, not %d", signature->input_count,
                         network->input_count);
    for (int i = 0; i < signature->input_count; i++) {
        const struct tensor_spec *spec = &signature->inputs[i];
        const struct network_input *input = &network->inputs[i];
        char wanted[160], got[160];
        bool fits = spec->dtype == input->dtype && spec->shape.rank == input->shape.rank;
        for (int d = 0; fits && d < spec->shape.rank; d++) {
            int64_t declared = spec->shape.dims[d], size = input->shape.dims[d];
            if (declared == TENSOR_BATCH)
                fits = settle(&rows, size);
            else if (declared < 0)
                fits = settle(&dims->free[-2 - declared], size);
            else
                fits = declared == size;
        }
        if (!fits)
            return weir_fail(err, WEIR_INVALID, "input %d '%.64s' is %s %s, not %s %s", i, spec->name,
                             tensor_dtype_text(spec->dtype), tensor_shape_text(&spec->shape, wanted, sizeof wanted),
                             tensor_dtype_text(input->dtype), tensor_shape_text(&input->shape, got, sizeof got));
    }
    dims->rows = rows < 0 ? 1 : (uint32_t)rows;
    if (dims->rows > plan_max_rows(network->plan))
        return weir_fail(err, WEIR_TOO_LARGE, "%u rows: the model takes %u at a time: %s", dims->rows,
                         plan_max_rows(network->plan), plan_max_rows_reason(network->plan));
    return WEIR_OK;
}

static enum weir_status open_backend(struct network *network, struct weir_error *err) {
    const struct cuda_module_options module = {.path = network->module, .allow_simulated = true};
    return network->module[0] ? cuda_module_open(&module, &network->options, 0, &network->backend, err)
                              : backend_cpu_open(&network->options, &network->backend, err);
}

static enum weir_status load(struct network *network, uint32_t rows, struct weir_error *err) {
    if (network->model)
        return WEIR_OK;
    int64_t began = clock_now_ns();
    if (!network->backend && open_backend(network, err) != WEIR_OK)
        return err->status;
    uint32_t most = network->max_rows > rows ? network->max_rows : rows;
    enum weir_status status = network->backend->ops->load(network->backend, network->plan, most, &network->model, err);
    network->load_ns += clock_now_ns() - began;
    return status;
}

static enum weir_status compute(struct network *network, const struct tensor_dims *dims, struct weir_error *err) {
    const struct backend_ops *ops = network->backend->ops;
    if (ops->begin(network->model, 0, dims, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < network->input_count; i++)
        if (network->inputs[i].bytes > 0)
            memcpy(ops->input(network->model, 0, i), network->inputs[i].data, network->inputs[i].bytes);
    if (ops->submit(network->model, 0, err) != WEIR_OK || ops->wait(network->model, 0, err) != WEIR_OK)
        return err->status;
    return WEIR_OK;
}

enum weir_status network_run(struct network *network, network_output_function output, void *context,
                             struct weir_error *err) {
    struct tensor_dims dims;
    if (network_read(network, err) != WEIR_OK || network_dims(network, &dims, err) != WEIR_OK)
        return err->status;
    if (network->by_oracle)
        return network_oracle_run(network, &dims, output, context, err);
    if (load(network, dims.rows, err) != WEIR_OK || compute(network, &dims, err) != WEIR_OK)
        return err->status;
    const struct signature *signature = plan_signature(network->plan);
    const struct backend_ops *ops = network->backend->ops;
    for (int i = 0; i < signature->output_count; i++)
        if (!output(context, i, signature->outputs[i].dtype, ops->output_shape(network->model, 0, i),
                    ops->output(network->model, 0, i)))
            return weir_fail(err, WEIR_IO, "output %d could not be written", i);
    return WEIR_OK;
}

static int by_size(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

enum weir_status network_measure(struct network *network, double seconds, uint64_t *runs, int64_t *median_ns,
                                 struct weir_error *err) {
    struct tensor_dims dims;
    enum weir_status status = WEIR_OK;
    size_t count = 0, capacity = 4096;
    if (network_read(network, err) != WEIR_OK || network_dims(network, &dims, err) != WEIR_OK ||
        load(network, dims.rows, err) != WEIR_OK || compute(network, &dims, err) != WEIR_OK)
        return err->status;
    int64_t *times = malloc(capacity * sizeof *times), *grown;
    int64_t began = clock_now_ns(), last = began, end = began + (int64_t)(seconds * 1e9);
    while (times && (count == 0 || last < end) && count < MOST_RUNS) {
        status = compute(network, &dims, err);
        if (status != WEIR_OK)
            goto out;
        int64_t now = clock_now_ns();
        times[count++] = now - last;
        if (count == capacity) {
            grown = realloc(times, 2 * capacity * sizeof *times);
            if (!grown)
                break;
            times = grown;
            capacity *= 2;
        }
        last = clock_now_ns();
    }
    if (!times) {
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for the times");
        goto out;
    }
    qsort(times, count, sizeof *times, by_size);
    *runs = count;
    *median_ns = times[count / 2];
out:
    free(times);
    return status;
}

void network_close(struct network *network) {
    if (network->model)
        network->backend->ops->unload(network->model);
    if (network->backend)
        network->backend->ops->close(network->backend);
    plan_destroy(network->plan);
    network->model = NULL;
    network->backend = NULL;
    network->plan = NULL;
}

void network_drop_inputs(struct network *network) {
    for (int i = 0; i < network->input_count; i++)
        free(network->inputs[i].data);
    network->input_count = 0;
}
