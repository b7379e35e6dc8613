#include "engine/device/backend.h"
#include "engine/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "engine/clock.h"
#include "engine/device/backend_cpu_model.h"
#include "engine/graph/plan.h"

/* The least time that a load may spend on row counts that have not been asked for. */
enum { SPARE_PREPARE_NS = 8 * CLOCK_NS_PER_MS };

struct backend_cpu {
    struct backend backend;
    struct backend_options options;
};

static enum weir_status prepare(struct backend_model *model, uint32_t rows, struct weir_error *err) {
    struct tensor_dims dims = *plan_example(model->plan);
    dims.rows = rows;
    return backend_cpu_model_begin(model, &dims, err);
}

/* First what every model meets (full and half batches, a single row; the full ones decide how weights are packed), then
 * as many others as the time allows. */
static enum weir_status prepare_most(struct backend_model *model, int64_t start_ns, struct weir_error *err) {
    uint32_t max = model->max_rows;
    if (prepare(model, max, err) != WEIR_OK || prepare(model, (max + 1) / 2, err) != WEIR_OK ||
        prepare(model, 1, err) != WEIR_OK)
        return err->status;
    if (model->options.invariance == BACKEND_STRICT && backend_cpu_model_prove_strict(model, err) != WEIR_OK)
        return err->status;
    int64_t now_ns = clock_now_ns(), taken_ns = now_ns - start_ns;
    int64_t until_ns = now_ns + (taken_ns > SPARE_PREPARE_NS ? taken_ns : SPARE_PREPARE_NS);
    for (uint32_t rows = 2; rows < max && clock_now_ns() < until_ns; rows++)
        if (prepare(model, rows, err) != WEIR_OK)
            return err->status;
    return WEIR_OK;
}

static void unload(struct backend_model *model) {
    if (!model)
        return;
    backend_cpu_model_release(model);
    backend_cpu_dnnl_close(&model->device);
    free(model);
}

static bool has_rows_inside(const struct tensor_spec *specs, int count) {
    for (int i = 0; i < count; i++)
        if (specs[i].batch_axis > 0)
            return true;
    return false;
}

static enum weir_status check_options(const struct backend_model *model, struct weir_error *err) {
    const struct signature *signature = plan_signature(model->plan);
    if (model->options.invariance != BACKEND_VARIANT && (has_rows_inside(signature->inputs, signature->input_count) ||
                                                         has_rows_inside(signature->outputs, signature->output_count)))
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "invariance bucket and strict need the batch to be the first dimension of every tensor");
    return WEIR_OK;
}

static enum weir_status load(struct backend *backend, struct plan *plan, uint32_t max_rows, struct backend_model **out,
                             struct weir_error *err) {
    struct weir_error local;
    char text[sizeof backend->description];
    int64_t start_ns = clock_now_ns();
    struct backend_model *model = max_rows > 0 && max_rows < UINT32_MAX ? calloc(1, sizeof *model) : NULL;
    err = err ? err : &local;
    if (!model)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a model of %u rows", max_rows);
    model->options = ((struct backend_cpu *)backend)->options;
    model->plan = plan;
    model->max_rows = max_rows;
    model->constants.device = &model->device;
    model->constants.plan = plan;
    enum weir_status status = WEIR_OK;
    if (!backend_cpu_model_init(model))
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for a model");
    if (status == WEIR_OK)
        status = check_options(model, err);
    if (status == WEIR_OK)
        status = backend_cpu_dnnl_open(&model->device, text, sizeof text, err);
    if (status == WEIR_OK)
        status = prepare_most(model, start_ns, err);
    if (status == WEIR_OK)
        *out = model;
    else
        unload(model);
    return status;
}

static enum weir_status begin(struct backend_model *model, int slot, const struct tensor_dims *dims,
                              struct weir_error *err) {
    struct weir_error local;
    (void)slot;
    return backend_cpu_model_begin(model, dims, err ? err : &local);
}

static void *input(struct backend_model *model, int slot, int index) {
    (void)slot;
    return model->inputs.data[index];
}

static const void *output(struct backend_model *model, int slot, int index) {
    (void)slot;
    return model->outputs.data[index];
}

static const struct tensor_shape *output_shape(struct backend_model *model, int slot, int index) {
    (void)slot;
    return &model->output_shapes[index];
}

static enum weir_status submit(struct backend_model *model, int slot, struct weir_error *err) {
    (void)slot;
    (void)err; /* what goes wrong is told by wait */
    model->result = backend_cpu_model_run(model, &model->error);
    return WEIR_OK;
}

static enum weir_status wait_for(struct backend_model *model, int slot, struct weir_error *err) {
    (void)slot;
    if (model->result != WEIR_OK)
        return weir_fail(err, model->result, "%s", model->error.text);
    return WEIR_OK;
}

static void close_backend(struct backend *backend) {
    free(backend);
}

/* The processor's own name for itself. Source: CPUID leaves 0x80000002 to 0x80000004. */
static void read_processor_name(char name[49]) {
    name[0] = 0;
#if defined(__x86_64__)
    unsigned words[12];
    if ((unsigned)__get_cpuid_max(0x80000000, NULL) < 0x80000004)
        return;
    for (unsigned i = 0; i < 3; i++)
        __cpuid(0x80000002 + i, words[i * 4], words[i * 4 + 1], words[i * 4 + 2], words[i * 4 + 3]);
    memcpy(name, words, sizeof words);
    name[48] = 0;
    size_t used = strlen(name), blanks = strspn(name, " ");
    memmove(name, name + blanks, used - blanks + 1);
    for (used -= blanks; used > 0 && name[used - 1] == ' ';)
        name[--used] = 0;
#endif
}

static enum weir_status check_precision(enum backend_precision precision, struct weir_error *err) {
    if (precision == BACKEND_TF32 || precision == BACKEND_FP16)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "precision tf32 and fp16 are for GPUs: the CPU has fp32, bf16 and int8");
    if (precision == BACKEND_BF16 && !backend_cpu_dnnl_has_bf16())
        return weir_fail(err, WEIR_UNSUPPORTED, "precision bf16: this processor has no bfloat16 instructions");
    return WEIR_OK;
}

enum weir_status backend_cpu_open(const struct backend_options *options, struct backend **out, struct weir_error *err) {
    static const struct backend_ops ops = {.name = "cpu",
                                           .load = load,
                                           .unload = unload,
                                           .begin = begin,
                                           .input = input,
                                           .output = output,
                                           .output_shape = output_shape,
                                           .submit = submit,
                                           .wait = wait_for,
                                           .wait_loading = wait_for,
                                           .close = close_backend};
    struct backend_cpu_device device;
    char library[64], processor[49];
    if (check_precision(options ? options->precision : BACKEND_FP32, err) != WEIR_OK)
        return WEIR_UNSUPPORTED;
    if (backend_cpu_dnnl_open(&device, library, sizeof library, err) != WEIR_OK)
        return WEIR_DEVICE;
    backend_cpu_dnnl_close(&device);
    struct backend_cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return weir_fail(err, WEIR_DEVICE, "no memory for the CPU backend");
    cpu->backend.ops = &ops;
    cpu->backend.slot_count = 1;
    if (options)
        cpu->options = *options;
    int threads = cpu->options.threads > 1 ? cpu->options.threads : 1;
    cpu->options.threads = threads;
    if (cpu->options.batch_bytes == 0)
        cpu->options.batch_bytes = memory_available() / 2;
    static const char *const precisions[BACKEND_PRECISIONS] = {[BACKEND_FP32] = "",
                                                               [BACKEND_BF16] = ", bf16",
                                                               [BACKEND_INT8] = ", int8",
                                                               [BACKEND_TF32] = ", tf32",
                                                               [BACKEND_FP16] = ", fp16"};
    static const char *const invariances[] = {
        [BACKEND_VARIANT] = "", [BACKEND_BUCKET] = ", buckets", [BACKEND_STRICT] = ", strict"};
    read_processor_name(processor);
    snprintf(cpu->backend.description, sizeof cpu->backend.description, "%.40s%s%.40s, %d thread%s%s%s", processor,
             processor[0] ? ", " : "", library, threads % 10000, threads == 1 ? "" : "s",
             precisions[cpu->options.precision], invariances[cpu->options.invariance]);
    *out = &cpu->backend;
    return WEIR_OK;
}
