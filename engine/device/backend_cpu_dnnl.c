#include "engine/device/backend_cpu_dnnl.h"

#include <oneapi/dnnl/dnnl_debug.h>
#include <stdio.h>
#include <string.h>

/* Primitives that oneDNN keeps to use again: a new version of a model has the same shapes and then shares the code of
 * the old one. Each is 20 to 60 KiB, so the default of 1024 would hold on to too much after a model is gone. */
enum { PRIMITIVE_CACHE = 256 };

/* OpenMP API 5.0, section 3.2.1. Declared here since its header comes with the compiler, which may be another one than
 * oneDNN was built with. */
void omp_set_num_threads(int threads);

enum weir_status backend_cpu_dnnl_fail(struct weir_error *err, dnnl_status_t status, const char *what) {
    return weir_fail(err, status == dnnl_out_of_memory ? WEIR_NO_MEMORY : WEIR_DEVICE, "oneDNN: %s failed (%s)", what,
                     dnnl_status2str(status));
}

bool backend_cpu_dnnl_declines(dnnl_status_t status) {
    return status == dnnl_unimplemented || status == dnnl_invalid_arguments;
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

bool backend_cpu_dnnl_has_bf16(void) {
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    return isa == dnnl_cpu_isa_avx512_core_bf16 || isa == dnnl_cpu_isa_avx512_core_amx;
}

bool backend_cpu_dnnl_has_avx512(void) {
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

enum weir_status backend_cpu_dnnl_open(struct backend_cpu_device *device, char *text, size_t size,
                                       struct weir_error *err) {
    memset(device, 0, sizeof *device);
    dnnl_set_primitive_cache_capacity(PRIMITIVE_CACHE);
    dnnl_set_jit_profiling_flags(DNNL_JIT_PROFILE_NONE);
    dnnl_status_t status = dnnl_engine_create(&device->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl_stream_create(&device->stream, device->engine, dnnl_stream_default_flags);
    if (status != dnnl_success) {
        backend_cpu_dnnl_close(device);
        return backend_cpu_dnnl_fail(err, status, "opening the CPU engine");
    }
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, size, "oneDNN %d.%d.%d, %s", version->major, version->minor, version->patch, isa_text());
    return WEIR_OK;
}

void backend_cpu_dnnl_close(struct backend_cpu_device *device) {
    dnnl_stream_destroy(device->stream);
    dnnl_engine_destroy(device->engine);
    memset(device, 0, sizeof *device);
}

void backend_cpu_dnnl_use_threads(int threads) {
    omp_set_num_threads(threads < 1 ? 1 : threads);
}

void backend_cpu_dnnl_plain(dnnl_memory_desc_t *desc, int rank, const size_t *dims) {
    dnnl_dims_t sizes = {1}, strides = {1};
    for (int i = 0; i < rank; i++)
        sizes[i] = (dnnl_dim_t)dims[i];
    dnnl_dim_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= sizes[i] > 0 ? sizes[i] : 1;
    }
    if (dnnl_memory_desc_init_by_strides(desc, rank > 0 ? rank : 1, sizes, dnnl_f32, strides) != dnnl_success)
        memset(desc, 0, sizeof *desc);
}

void backend_cpu_dnnl_any(dnnl_memory_desc_t *desc) {
    dnnl_dims_t dims;
    memcpy(dims, desc->dims, sizeof dims);
    dnnl_data_type_t type = desc->data_type;
    if (dnnl_memory_desc_init_by_tag(desc, desc->ndims, dims, type, dnnl_format_tag_any) != dnnl_success)
        memset(desc, 0, sizeof *desc);
}

bool backend_cpu_dnnl_is_padded(const dnnl_memory_desc_t *desc) {
    return memcmp(desc->dims, desc->padded_dims, (size_t)desc->ndims * sizeof *desc->dims) != 0;
}

bool backend_cpu_dnnl_is_flat(const dnnl_memory_desc_t *desc) {
    if (desc->format_kind != dnnl_blocked || desc->extra.flags != 0 || backend_cpu_dnnl_is_padded(desc))
        return false;
    const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;
    if (blocking->inner_nblks > 1)
        return false;
    int blocked = blocking->inner_nblks == 1 ? (int)blocking->inner_idxs[0] : -1;
    dnnl_dim_t stride = 1;
    for (int i = desc->ndims - 1; i >= 0; i--) {
        dnnl_dim_t outer = desc->dims[i];
        if (i == blocked) { /* its blocks must follow one another */
            if (stride != 1)
                return false;
            stride = blocking->inner_blks[0];
            outer /= stride;
        }
        if (outer != 1 && blocking->strides[i] != stride)
            return false;
        stride *= outer;
    }
    return true;
}

bool backend_cpu_dnnl_blocks(const dnnl_memory_desc_t *desc, struct view *out) {
    const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;
    if (desc->format_kind != dnnl_blocked || desc->extra.flags != 0 || desc->ndims < 3 || desc->ndims > 5 ||
        desc->data_type != dnnl_f32 || blocking->inner_nblks > 1 ||
        (blocking->inner_nblks == 1 && blocking->inner_idxs[0] != 1))
        return false;
    dnnl_dim_t block = blocking->inner_nblks == 1 ? blocking->inner_blks[0] : desc->padded_dims[1];
    memset(out, 0, sizeof *out);
    out->element = ELEMENT_F32;
    out->rank = desc->ndims + 1;
    out->dims[0] = (size_t)desc->padded_dims[0];
    out->dims[1] = (size_t)(desc->padded_dims[1] / block);
    for (int i = 2; i < desc->ndims; i++)
        out->dims[i] = (size_t)desc->padded_dims[i];
    out->dims[desc->ndims] = (size_t)block;
    dnnl_dim_t stride = block;
    for (int i = desc->ndims - 1; i >= 0; i--) {
        bool whole = i == 1 && blocking->inner_nblks == 0; /* one block of all channels: their stride is 1 */
        if (out->dims[i] != 1 && !whole && blocking->strides[i] != stride)
            return false;
        if (whole && block != 1 && blocking->strides[i] != 1)
            return false;
        stride *= (dnnl_dim_t)out->dims[i];
    }
    return true;
}

bool backend_cpu_dnnl_is_same(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b) {
    struct view a_blocks, b_blocks;
    if (dnnl_memory_desc_equal(a, b))
        return true;
    if (a->data_type != b->data_type)
        return false;
    if (backend_cpu_dnnl_is_flat(a) && backend_cpu_dnnl_is_flat(b))
        return true;
    /* the strides of dimensions of one element may differ */
    return a->ndims == b->ndims && memcmp(a->dims, b->dims, (size_t)a->ndims * sizeof *a->dims) == 0 &&
           backend_cpu_dnnl_blocks(a, &a_blocks) && backend_cpu_dnnl_blocks(b, &b_blocks) &&
           memcmp(a_blocks.dims, b_blocks.dims, (size_t)a_blocks.rank * sizeof *a_blocks.dims) == 0;
}

dnnl_status_t backend_cpu_dnnl_reorder(const struct backend_cpu_device *device, dnnl_memory_t from, dnnl_memory_t to) {
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

/* oneDNN's functions for ours. Its ReLU and clip turn a NaN into a number, which would hide a broken model or input
 * behind a plausible answer: those run by themselves, on the result while it is in the cache (measured: 0 to 3 % of a
 * model of dense layers). The ones here were tried with NaN. */
static bool find_unary(const struct unary *unary, dnnl_alg_kind_t *kind, float *alpha) {
    *alpha = 0;
    switch (unary->kind) {
    case UNARY_LEAKY_RELU:
        *kind = dnnl_eltwise_relu;
        *alpha = unary->a;
        return unary->a != 0;
    case UNARY_SIGMOID:
        *kind = dnnl_eltwise_logistic;
        return true;
    case UNARY_TANH:
        *kind = dnnl_eltwise_tanh;
        return true;
    case UNARY_ELU:
        *kind = dnnl_eltwise_elu;
        *alpha = unary->a;
        return true;
    case UNARY_GELU_ERF:
        *kind = dnnl_eltwise_gelu_erf;
        return true;
    case UNARY_GELU_TANH:
        *kind = dnnl_eltwise_gelu_tanh;
        return true;
    case UNARY_SILU:
        *kind = dnnl_eltwise_swish;
        *alpha = unary->a;
        return true;
    case UNARY_HARD_SWISH:
        *kind = dnnl_eltwise_hardswish;
        return true;
    default:
        return false;
    }
}

bool backend_cpu_dnnl_has_unary(const struct unary *unary) {
    dnnl_alg_kind_t kind;
    float alpha;
    return find_unary(unary, &kind, &alpha);
}

dnnl_status_t backend_cpu_dnnl_attributes(const struct backend_cpu_attributes *wanted, dnnl_primitive_attr_t *out,
                                          bool *then_done) {
    dnnl_post_ops_t ops = NULL;
    dnnl_alg_kind_t kind;
    float alpha;
    *out = NULL;
    *then_done = !wanted->then || wanted->then->kind == UNARY_NONE;
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && wanted->scale != 1)
        status = dnnl_primitive_attr_set_output_scales(*out, 1, 0, &wanted->scale);
    if (status == dnnl_success)
        status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success && wanted->sum)
        status = dnnl_post_ops_append_sum(ops, 1);
    if (status == dnnl_success && !*then_done && find_unary(wanted->then, &kind, &alpha)) {
        status = dnnl_post_ops_append_eltwise(ops, 1, kind, alpha, 0);
        *then_done = true;
    }
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*out, ops);
    dnnl_post_ops_destroy(ops);
    if (status != dnnl_success) {
        dnnl_primitive_attr_destroy(*out);
        *out = NULL;
    }
    return status;
}

bool backend_cpu_dnnl_is_slow(dnnl_primitive_desc_t desc) {
    const char *name = "";
    return dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&name) != dnnl_success ||
           strncmp(name, "ref", 3) == 0;
}
