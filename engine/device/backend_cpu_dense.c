#include "engine/device/backend_cpu_dense.h"

#include <oneapi/dnnl/dnnl_debug.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/cpu_elementwise.h"

/* Primitives that oneDNN keeps to use again: a new version of a model has the same shapes and then shares the code of
 * the old one. Each is 20 to 60 KiB, so the default of 1024 would hold on to too much after a model is gone. */
enum { PRIMITIVE_CACHE = 256 };

/* OpenMP API 5.0, section 3.2.1. Declared here since its header comes with the compiler, which may be another one than
 * oneDNN was built with. */
void omp_set_num_threads(int threads);

static enum weir_status fail(struct weir_error *err, dnnl_status_t status, const char *what) {
    return weir_fail(err, status == dnnl_out_of_memory ? WEIR_NO_MEMORY : WEIR_DEVICE, "oneDNN: %s failed (%s)", what,
                     dnnl_status2str(status));
}

static const char *isa_text(void) {
    switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
        return "sse4.1";
    case dnnl_cpu_isa_avx:
        return "avx";
    case dnnl_cpu_isa_avx2:
        return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
        return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
        return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
        return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
        return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
        return "avx512_core_amx";
    default:
        return "another instruction set";
    }
}

enum weir_status backend_cpu_device_open(struct backend_cpu_device *device, char *text, size_t size,
                                         struct weir_error *err) {
    memset(device, 0, sizeof *device);
    dnnl_set_primitive_cache_capacity(PRIMITIVE_CACHE);
    dnnl_set_jit_profiling_flags(DNNL_JIT_PROFILE_NONE);
    dnnl_status_t status = dnnl_engine_create(&device->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl_stream_create(&device->stream, device->engine, dnnl_stream_default_flags);
    if (status != dnnl_success) {
        backend_cpu_device_close(device);
        return fail(err, status, "opening the CPU engine");
    }
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, size, "oneDNN %d.%d.%d, %s", version->major, version->minor, version->patch, isa_text());
    return WEIR_OK;
}

void backend_cpu_device_close(struct backend_cpu_device *device) {
    dnnl_stream_destroy(device->stream);
    dnnl_engine_destroy(device->engine);
    memset(device, 0, sizeof *device);
}

void backend_cpu_device_use_threads(int threads) {
    omp_set_num_threads(threads < 1 ? 1 : threads);
}

/* oneDNN's own ReLU and clip turn a NaN into a number, which would hide a broken model or input behind a plausible
 * answer. Those two are therefore done here, on the result while it is in the cache (measured: 0 to 3 % of a model). */
static bool is_post_op(const struct activation *activation) {
    return activation->kind == ACTIVATION_SIGMOID || activation->kind == ACTIVATION_TANH ||
           (activation->kind == ACTIVATION_LEAKY_RELU && activation->low != 0.0f);
}

static dnnl_status_t add_post_op(dnnl_primitive_attr_t attr, const struct activation *activation) {
    dnnl_post_ops_t ops = NULL;
    dnnl_alg_kind_t kind = activation->kind == ACTIVATION_SIGMOID ? dnnl_eltwise_logistic
                           : activation->kind == ACTIVATION_TANH  ? dnnl_eltwise_tanh
                                                                  : dnnl_eltwise_relu;
    float alpha = activation->kind == ACTIVATION_LEAKY_RELU ? activation->low : 0.0f;
    dnnl_status_t status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success)
        status = dnnl_post_ops_append_eltwise(ops, 1.0f, kind, alpha, 0.0f);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(attr, ops);
    dnnl_post_ops_destroy(ops);
    return status;
}

static dnnl_status_t matrix(dnnl_memory_desc_t *desc, size_t rows, size_t cols, dnnl_format_tag_t tag) {
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};
    return dnnl_memory_desc_init_by_tag(desc, 2, dims, dnnl_f32, tag);
}

static dnnl_status_t describe(const struct backend_cpu_device *device, const struct backend_cpu_dense *dense,
                              size_t rows, dnnl_primitive_desc_t *out) {
    dnnl_memory_desc_t x, weights, bias, y;
    dnnl_matmul_desc_t desc;
    dnnl_primitive_attr_t attr = NULL;
    size_t height = rows * dense->shape.inner_rows;
    dnnl_status_t status = matrix(&x, height, dense->shape.in, dnnl_ab);
    if (status == dnnl_success)
        status = matrix(&weights, dense->shape.in, dense->shape.out, dnnl_format_tag_any);
    if (status == dnnl_success)
        status = matrix(&bias, 1, dense->shape.out, dnnl_ab);
    if (status == dnnl_success)
        status = matrix(&y, height, dense->shape.out, dnnl_ab);
    if (status == dnnl_success)
        status = dnnl_matmul_desc_init(&desc, &x, &weights, dense->has_bias ? &bias : NULL, &y);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_create(&attr);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && is_post_op(&dense->activation))
        status = add_post_op(attr, &dense->activation);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(out, &desc, attr, device->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

static dnnl_status_t reorder(const struct backend_cpu_device *device, dnnl_memory_t from, dnnl_memory_t to) {
    const dnnl_memory_desc_t *from_desc, *to_desc;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t primitive = NULL;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    dnnl_status_t status = dnnl_memory_get_memory_desc(from, &from_desc);
    if (status == dnnl_success)
        status = dnnl_memory_get_memory_desc(to, &to_desc);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(&desc, from_desc, device->engine, to_desc, device->engine, NULL);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&primitive, desc);
    if (status == dnnl_success)
        status = dnnl_primitive_execute(primitive, device->stream, 2, args);
    if (status == dnnl_success)
        status = dnnl_stream_wait(device->stream);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(desc);
    return status;
}

/* The weights in that layout: those that are there, or packed from `source`, which may itself be a packing. */
static dnnl_status_t pack(const struct backend_cpu_device *device, struct backend_cpu_dense *dense,
                          const dnnl_memory_desc_t *wanted, dnnl_memory_t source, dnnl_memory_t *out) {
    const dnnl_memory_desc_t *known;
    for (int i = 0; i < dense->packing_count; i++)
        if (dnnl_memory_get_memory_desc(dense->packings[i], &known) == dnnl_success &&
            dnnl_memory_desc_equal(known, wanted)) {
            *out = dense->packings[i];
            return dnnl_success;
        }
    if (dense->packing_count == BACKEND_CPU_PACKINGS)
        return dnnl_unimplemented;
    dnnl_memory_t packed = NULL;
    dnnl_status_t status = dnnl_memory_create(&packed, wanted, device->engine, DNNL_MEMORY_ALLOCATE);
    if (status == dnnl_success)
        status = reorder(device, source ? source : dense->packings[0], packed);
    if (status != dnnl_success) {
        dnnl_memory_destroy(packed);
        return status;
    }
    *out = dense->packings[dense->packing_count++] = packed;
    return dnnl_success;
}

static dnnl_status_t copy_bias(const struct backend_cpu_device *device, struct backend_cpu_dense *dense,
                               const float *from) {
    dnnl_memory_desc_t desc;
    void *to = NULL;
    dnnl_status_t status = matrix(&desc, 1, dense->shape.out, dnnl_ab);
    if (status == dnnl_success)
        status = dnnl_memory_create(&dense->bias, &desc, device->engine, DNNL_MEMORY_ALLOCATE);
    if (status == dnnl_success)
        status = dnnl_memory_get_data_handle(dense->bias, &to);
    if (status == dnnl_success)
        memcpy(to, from, dense->shape.out * sizeof *from);
    return status;
}

enum weir_status backend_cpu_dense_pack(const struct backend_cpu_device *device, const struct program_step *step,
                                        size_t rows, struct backend_cpu_dense *dense, struct weir_error *err) {
    dnnl_memory_desc_t plain;
    dnnl_memory_t source = NULL, packed;
    dnnl_primitive_desc_t desc = NULL;
    memset(dense, 0, sizeof *dense);
    dense->shape = step->dense;
    dense->activation = step->activation;
    dense->has_bias = step->dense.bias;
    dnnl_status_t status = describe(device, dense, rows, &desc);
    if (status == dnnl_success)
        status = matrix(&plain, dense->shape.in, dense->shape.out, dnnl_ab);
    if (status == dnnl_success)
        status = dnnl_memory_create(&source, &plain, device->engine, step->dense.weights);
    if (status == dnnl_success)
        status = pack(device, dense, dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0), source, &packed);
    if (status == dnnl_success && dense->has_bias)
        status = copy_bias(device, dense, step->dense.bias);
    dnnl_primitive_desc_destroy(desc);
    dnnl_memory_destroy(source);
    dense->shape.weights = dense->shape.bias = NULL;
    return status == dnnl_success ? WEIR_OK : fail(err, status, "packing weights");
}

void backend_cpu_dense_release(struct backend_cpu_dense *dense) {
    for (int i = 0; i < dense->packing_count; i++)
        dnnl_memory_destroy(dense->packings[i]);
    dnnl_memory_destroy(dense->bias);
    memset(dense, 0, sizeof *dense);
}

enum weir_status backend_cpu_dense_prepare(const struct backend_cpu_device *device, struct backend_cpu_dense *dense,
                                           const struct backend_cpu_dense_place *place,
                                           struct backend_cpu_dense_run *run, struct weir_error *err) {
    dnnl_primitive_desc_t desc = NULL;
    union { /* oneDNN takes a pointer to changeable memory for what it only reads */
        const float *given;
        void *taken;
    } x = {place->x};
    memset(run, 0, sizeof *run);
    run->bias = dense->bias;
    run->result = place->y;
    run->result_elements = place->rows * dense->shape.inner_rows * dense->shape.out;
    dnnl_status_t status = describe(device, dense, place->rows, &desc);
    if (status == dnnl_success)
        status = pack(device, dense, dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0), NULL, &run->weights);
    if (status == dnnl_success)
        status = dnnl_primitive_create(&run->primitive, desc);
    if (status == dnnl_success)
        status = dnnl_memory_create(&run->x, dnnl_primitive_desc_query_md(desc, dnnl_query_src_md, 0), device->engine,
                                    x.taken);
    if (status == dnnl_success)
        status = dnnl_memory_create(&run->y, dnnl_primitive_desc_query_md(desc, dnnl_query_dst_md, 0), device->engine,
                                    place->y);
    if (status == dnnl_success) {
        const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
        if (dnnl_memory_desc_get_size(scratch) > 0)
            status = dnnl_memory_create(&run->scratch, scratch, device->engine, DNNL_MEMORY_ALLOCATE);
    }
    dnnl_primitive_desc_destroy(desc);
    return status == dnnl_success ? WEIR_OK : fail(err, status, "making a matmul primitive");
}

enum weir_status backend_cpu_dense_execute(const struct backend_cpu_device *device,
                                           const struct backend_cpu_dense *dense,
                                           const struct backend_cpu_dense_run *run, struct weir_error *err) {
    dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, run->x}, {DNNL_ARG_WEIGHTS, run->weights}, {DNNL_ARG_DST, run->y}};
    int count = 3;
    if (run->bias)
        args[count++] = (dnnl_exec_arg_t){DNNL_ARG_BIAS, run->bias};
    if (run->scratch)
        args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, run->scratch};
    dnnl_status_t status = dnnl_primitive_execute(run->primitive, device->stream, count, args);
    if (status != dnnl_success)
        return fail(err, status, "a matmul");
    if (!is_post_op(&dense->activation))
        cpu_elementwise_activate(&dense->activation, run->result, run->result, run->result_elements);
    return WEIR_OK;
}

void backend_cpu_dense_run_release(struct backend_cpu_dense_run *run) {
    dnnl_primitive_destroy(run->primitive);
    dnnl_memory_destroy(run->x);
    dnnl_memory_destroy(run->y);
    dnnl_memory_destroy(run->scratch);
    memset(run, 0, sizeof *run);
}
