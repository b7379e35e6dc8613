/* The CUDA backend on the double: the oracle's numbers in every bucket and both slots, refusals and losses with the
 * right status, and nothing alive at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/cuda/cuda_backend.h"
#include "engine/graph/plan.h"
#include "tests/double/cuda_double.h"
#include "tests/double/cuda_models.h"
#include "tests/fakes/model_run.h"

/* ThreadSanitizer watches every thread of every block: less must do there. */
#ifdef __SANITIZE_THREAD__
enum { MAX_ROWS = 5, IS_SHORT = 1 };
#else
enum { MAX_ROWS = 20, IS_SHORT = 0 };
#endif

static float kept[MAX_ROWS * 10];

static void expect_numbers(int which, struct backend_options options, double tolerance) {
    static const uint32_t counts[] = {1, 3, 4, MAX_ROWS, 2, 15, 16, 17}; /* buckets, and between them */
    size_t tried = IS_SHORT ? 4 : sizeof counts / sizeof *counts;
    struct cuda_models_bench bench;
    cuda_models_reset();
    cuda_models_load(&bench, which, options, MAX_ROWS);
    cuda_models_fill(cuda_models_x, cuda_models_in(&bench, MAX_ROWS, 7), 4);
    for (size_t i = 0; i < 2 * tried; i++) {
        uint32_t rows = counts[i / 2];
        int slot = (int)(i % 2);
        int64_t size = 1 + rows % 7;
        cuda_models_ask(&bench, rows, size);
        EXPECT(cuda_models_run(&bench, slot, rows, size) == WEIR_OK, "%s: %s", bench.about->name, cuda_models_err.text);
        const struct tensor_shape *shape = bench.backend->ops->output_shape(bench.model, slot, 0);
        EXPECT(shape->dims[bench.about->axis] == rows, "%s, %u rows", bench.about->name, rows);
        double error = cuda_models_error(&bench, slot, rows);
        EXPECT(error < tolerance, "%s, %u rows: %g", bench.about->name, rows, error);
    }
    cuda_models_unload(&bench);
    cuda_models_end(cuda_models[which].name);
}

static void every_row_count_gives_the_oracles_numbers(void) {
    for (int which = 0; which < CUDA_MODELS_WIDE; which++)
        for (int invariance = BACKEND_VARIANT; invariance <= (IS_SHORT ? BACKEND_VARIANT : BACKEND_STRICT);
             invariance++)
            if (!cuda_models[which].axis || invariance == BACKEND_VARIANT)
                expect_numbers(which, (struct backend_options){.invariance = (enum backend_invariance)invariance},
                               1e-5);
}

static void an_image_whose_columns_are_too_many_is_cut_the_same_way_everywhere(void) {
    struct cuda_models_bench bench;
    struct cuda_double_config config = cuda_double_defaults();
    config.memory_bytes = (size_t)1 << 30;
    cuda_double_reset(&config);
    cuda_models_load(&bench, CUDA_MODELS_WIDE, (struct backend_options){.invariance = BACKEND_BUCKET}, 2);
    cuda_models_fill(cuda_models_x, CUDA_MODELS_NUMBERS, 9);
    cuda_models_ask(&bench, 2, 0);
    EXPECT(cuda_models_run(&bench, 0, 2, 0) == WEIR_OK, "%s", cuda_models_err.text);
    EXPECT(cuda_models_error(&bench, 0, 2) < 1e-5, "%g", cuda_models_error(&bench, 0, 2));
    struct backend_report report;
    bench.backend->ops->report(bench.model, &report);
    EXPECT(report.invariance_tested && report.invariant, "pieces are the same for every image");
    cuda_models_unload(&bench);
    cuda_models_end("a wide convolution");
}

static void reduced_precisions_stay_within_their_tolerance(void) {
    for (int which = 0; which < CUDA_MODELS_WIDE; which++) {
        expect_numbers(which, (struct backend_options){.precision = BACKEND_TF32}, 5e-3);
        expect_numbers(which, (struct backend_options){.precision = BACKEND_FP16}, 5e-3);
        expect_numbers(which, (struct backend_options){.precision = BACKEND_BF16}, 5e-2);
    }
}

static void nothing_is_allocated_after_load(void) {
    struct cuda_models_bench bench;
    cuda_models_reset();
    cuda_models_load(&bench, CUDA_MODELS_FREE, (struct backend_options){0}, MAX_ROWS);
    struct cuda_double_counts before = cuda_double_read();
    for (int64_t size = 1; size < 50; size++) /* more sizes than are kept */
        EXPECT(cuda_models_run(&bench, (int)size % 2, 3, size) == WEIR_OK, "%s", cuda_models_err.text);
    struct cuda_double_counts after = cuda_double_read();
    EXPECT(after.device_blocks == before.device_blocks && after.pinned_blocks == before.pinned_blocks, "blocks");
    EXPECT(after.graph_execs <= 2 * CUDA_MODEL_PROGRAMS, "%lu graphs are kept", after.graph_execs);
    cuda_models_unload(&bench);
    cuda_models_end("free sizes");
}

static void the_host_never_touches_the_devices_memory(void) {
    struct cuda_double_config config = cuda_double_defaults();
    struct cuda_models_bench bench;
    config.protect = true; /* a touch is a SIGSEGV */
    cuda_double_reset(&config);
    cuda_models_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, 5);
    for (int slot = 0; slot < 2; slot++) {
        EXPECT(cuda_models_run(&bench, slot, 3, 0) == WEIR_OK, "%s", cuda_models_err.text);
        cuda_models_ask(&bench, 3, 0);
        EXPECT(cuda_models_error(&bench, slot, 3) < 1e-5, "slot %d", slot);
    }
    cuda_models_unload(&bench);
    cuda_models_end("protected memory");
}

static void sizes_beyond_what_was_reserved_are_too_large(void) {
    struct cuda_models_bench bench;
    cuda_models_reset();
    cuda_models_load(&bench, CUDA_MODELS_FREE, (struct backend_options){0}, MAX_ROWS);
    struct tensor_dims dims = cuda_models_dims(&bench, MAX_ROWS, 1 << 20);
    EXPECT(bench.backend->ops->begin(bench.model, 0, &dims, &cuda_models_err) == WEIR_TOO_LARGE, "%s",
           cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "reserved"), "%s", cuda_models_err.text);
    EXPECT(cuda_models_run(&bench, 0, 2, 5) == WEIR_OK, "%s", cuda_models_err.text);
    cuda_models_ask(&bench, 2, 5);
    EXPECT(cuda_models_error(&bench, 0, 2) < 1e-5, "after a refusal");
    cuda_models_unload(&bench);
    cuda_models_end("too large");
}

static void one_slot_is_filled_while_the_other_runs(void) {
    struct cuda_models_bench bench;
    cuda_models_reset();
    cuda_models_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, MAX_ROWS);
    struct tensor_dims dims = cuda_models_dims(&bench, 4, 0);
    cuda_double_hang_operation("product", 1);
    EXPECT(cuda_models_submit(&bench, 0, &dims, cuda_models_x, cuda_models_in(&bench, 4, 0)) == WEIR_OK, "%s",
           cuda_models_err.text);
    EXPECT(cuda_models_submit(&bench, 1, &dims, cuda_models_x + 300, cuda_models_in(&bench, 4, 0)) == WEIR_OK, "%s",
           cuda_models_err.text);
    struct cuda_double_counts counts = cuda_double_read();
    EXPECT(counts.overlapping_launches == 0, "each slot has its own graph");
    cuda_double_release();
    EXPECT(bench.backend->ops->wait(bench.model, 0, &cuda_models_err) == WEIR_OK, "%s", cuda_models_err.text);
    EXPECT(bench.backend->ops->wait(bench.model, 1, &cuda_models_err) == WEIR_OK, "%s", cuda_models_err.text);
    cuda_models_ask(&bench, 4, 0);
    EXPECT(cuda_models_error(&bench, 0, 4) < 1e-5, "slot 0");
    memmove(cuda_models_x, cuda_models_x + 300,
            CUDA_MODELS_NUMBERS * sizeof *cuda_models_x - 300 * sizeof *cuda_models_x);
    cuda_models_ask(&bench, 4, 0);
    EXPECT(cuda_models_error(&bench, 1, 4) < 1e-5, "slot 1");
    cuda_models_unload(&bench);
    cuda_models_end("overlap");
}

static void a_row_has_the_same_bits_for_every_batch_size_in_strict(void) {
    struct cuda_models_bench bench;
    struct backend_report report;
    cuda_models_reset();
    cuda_models_load(&bench, CUDA_MODELS_MLP, (struct backend_options){.invariance = BACKEND_STRICT}, MAX_ROWS);
    bench.backend->ops->report(bench.model, &report);
    EXPECT(report.invariance_tested && report.invariant, "the self-test");
    EXPECT(strstr(report.memory, "workspace 32.0 MiB"), "%s", report.memory);
    EXPECT(cuda_models_run(&bench, 0, MAX_ROWS, 0) == WEIR_OK, "%s", cuda_models_err.text);
    memcpy(kept, bench.backend->ops->output(bench.model, 0, 0), MAX_ROWS * bench.about->out * sizeof *kept);
    for (uint32_t rows = 1; rows < MAX_ROWS; rows++) {
        EXPECT(cuda_models_run(&bench, 1, rows, 0) == WEIR_OK, "%s", cuda_models_err.text);
        EXPECT(memcmp(kept, bench.backend->ops->output(bench.model, 1, 0), rows * bench.about->out * sizeof *kept) == 0,
               "%u rows", rows);
    }
    cuda_models_unload(&bench);
    cuda_models_end("strict");
}

static void the_self_test_sees_rows_that_are_not_apart(void) {
    struct cuda_models_bench bench = {.plan = cuda_models_mixing()};
    struct backend_report report;
    cuda_models_reset();
    for (int invariance = BACKEND_BUCKET; invariance <= BACKEND_STRICT; invariance++) {
        const struct backend_options options = {.invariance = (enum backend_invariance)invariance};
        EXPECT(weir_cuda_open(&options, 0, &bench.backend, &cuda_models_err) == WEIR_OK, "%s", cuda_models_err.text);
        enum weir_status status =
            bench.backend->ops->load(bench.backend, bench.plan, 4, &bench.model, &cuda_models_err);
        EXPECT(status == (invariance == BACKEND_STRICT ? WEIR_DEVICE : WEIR_OK), "%s", cuda_models_err.text);
        if (status == WEIR_OK) {
            bench.backend->ops->report(bench.model, &report);
            EXPECT(report.invariance_tested && !report.invariant, "the self-test");
            bench.backend->ops->unload(bench.model);
            bench.model = NULL;
        }
        bench.backend->ops->close(bench.backend);
    }
    EXPECT(strstr(cuda_models_err.text, "strict"), "%s", cuda_models_err.text);
    plan_destroy(bench.plan);
    cuda_models_end("the self-test");
}

static void rows_inside_cannot_be_filled_up(void) {
    struct cuda_models_bench bench;
    cuda_models_reset();
    EXPECT(cuda_models_try_load(&bench, CUDA_MODELS_AXIS, (struct backend_options){.invariance = BACKEND_STRICT}, 8) ==
               WEIR_UNSUPPORTED,
           "%s", cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "first dimension"), "%s", cuda_models_err.text);
    cuda_models_unload(&bench);
    cuda_models_end("rows inside");
}

static void a_sticky_error_loses_the_device_for_good(void) {
    struct cuda_models_bench bench;
    cuda_models_reset();
    cuda_models_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, MAX_ROWS);
    EXPECT(bench.backend->ops->state(bench.backend) == BACKEND_OK, "at first");
    cuda_double_fail_operation("product", 2, 700);
    EXPECT(cuda_models_run(&bench, 0, 4, 0) == WEIR_DEVICE_LOST, "%s", cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "cudaErrorIllegalAddress"), "%s", cuda_models_err.text);
    EXPECT(bench.backend->ops->state(bench.backend) == BACKEND_LOST, "after it");
    EXPECT(cuda_models_run(&bench, 1, 4, 0) == WEIR_DEVICE_LOST, "%s", cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "is lost") && strstr(cuda_models_err.text, "cudaErrorIllegalAddress"),
           "the first cause is told again: %s", cuda_models_err.text);
    cuda_models_unload(&bench);
}

static void an_error_that_passes_fails_one_batch(void) {
    struct cuda_models_bench bench;
    cuda_models_reset();
    cuda_models_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, MAX_ROWS);
    cuda_double_fail_call("cudaGraphLaunch", 1, 1);
    EXPECT(cuda_models_run(&bench, 0, 4, 0) == WEIR_DEVICE, "%s", cuda_models_err.text);
    EXPECT(bench.backend->ops->state(bench.backend) == BACKEND_DEGRADED, "after it");
    EXPECT(cuda_models_run(&bench, 0, 4, 0) == WEIR_OK, "%s", cuda_models_err.text);
    EXPECT(bench.backend->ops->state(bench.backend) == BACKEND_OK, "after a good one");
    cuda_models_unload(&bench);
    cuda_models_end("a failed launch");
}

static void a_loss_that_comes_of_an_error_tells_that_error(void) {
    struct cuda_models_bench bench;
    cuda_models_reset();
    cuda_models_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, MAX_ROWS);
    cuda_double_fail_call("cudaGraphLaunch", 1, 2);
    cuda_double_fail_call("cudaStreamSynchronize", 1, 1);
    EXPECT(cuda_models_run(&bench, 0, 4, 0) == WEIR_DEVICE_LOST, "%s", cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "starting a batch: cudaErrorMemoryAllocation") &&
               strstr(cuda_models_err.text, "then its stream: cudaErrorInvalidValue"),
           "%s", cuda_models_err.text);
    cuda_models_unload(&bench);
}

static void a_device_that_hangs_while_it_loads_is_lost(void) {
    static const struct {
        const char *operation;
        unsigned long nth;
    } hangs[] = {{"copy to device", 1}, {"product", 1}, {"product", 9}};
    for (size_t i = 0; i < sizeof hangs / sizeof *hangs; i++) {
        struct cuda_models_bench bench;
        const struct backend_options options = {.patience_ns = 20000000, .invariance = BACKEND_BUCKET};
        cuda_models_reset();
        cuda_double_hang_operation(hangs[i].operation, hangs[i].nth);
        EXPECT(cuda_models_try_load(&bench, CUDA_MODELS_MLP, options, MAX_ROWS) == WEIR_DEVICE_LOST, "%zu: %s", i,
               cuda_models_err.text);
        EXPECT(strstr(cuda_models_err.text, "the device hangs, it has not ended this within 20 ms"), "%zu: %s", i,
               cuda_models_err.text);
        cuda_models_unload(&bench);
        cuda_double_release();
    }
}

static void a_model_that_does_not_fit_is_refused_with_its_plan(void) {
    struct cuda_double_config config = cuda_double_defaults();
    struct cuda_models_bench bench;
    config.memory_bytes = 60 << 20;
    cuda_double_reset(&config);
    EXPECT(cuda_models_try_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, MAX_ROWS) == WEIR_NO_MEMORY, "%s",
           cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "weights 0.1 MiB + 2 x (activations") &&
               strstr(cuda_models_err.text, "workspace 32.0 MiB") && strstr(cuda_models_err.text, "of 60.0 MiB"),
           "%s", cuda_models_err.text);
    cuda_models_unload(&bench);
    cuda_models_end("a refusal");
    cuda_models_reset();
    cuda_double_fail_call("cudaMalloc", 2, 2); /* somebody else took it: the first is the open's */
    EXPECT(cuda_models_try_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, MAX_ROWS) == WEIR_NO_MEMORY, "%s",
           cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "weights 0.1 MiB"), "%s", cuda_models_err.text);
    cuda_models_unload(&bench);
    cuda_models_end("out of memory");
    cuda_models_reset();
    cuda_double_fail_call("cudaHostAlloc", 1, 2);
    EXPECT(cuda_models_try_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, MAX_ROWS) == WEIR_NO_MEMORY, "%s",
           cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "weights 0.1 MiB") && strstr(cuda_models_err.text, "MiB of pinned memory"),
           "%s", cuda_models_err.text);
    cuda_models_unload(&bench);
    cuda_models_end("out of pinned memory");
}

static void an_operator_that_the_device_lacks_is_named(void) {
    struct cuda_models_bench bench = {.plan = cuda_models_unsupported()};
    const struct backend_options options = {0};
    cuda_models_reset();
    EXPECT(weir_cuda_open(&options, 0, &bench.backend, &cuda_models_err) == WEIR_OK, "%s", cuda_models_err.text);
    EXPECT(bench.backend->ops->load(bench.backend, bench.plan, 4, &bench.model, &cuda_models_err) == WEIR_UNSUPPORTED,
           "%s", cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, "'whole' (MatMulInteger") && strstr(cuda_models_err.text, "no kernel"), "%s",
           cuda_models_err.text);
    cuda_models_unload(&bench);
    cuda_models_end("unsupported");
}

static void count_lacking(void *context, const char *text) {
    int *count = context;
    EXPECT(strstr(text, "MatMulInteger") && strstr(text, "no kernel"), "%s", text);
    ++*count;
}

static void all_that_a_gpu_lacks_is_told_where_there_is_none(void) {
    struct cuda_double_config config = cuda_double_defaults();
    struct plan *plan = cuda_models_unsupported();
    int count = 0;
    config.driver_version = 0;
    cuda_double_reset(&config);
    EXPECT(weir_cuda_lacks(plan, count_lacking, &count, &cuda_models_err) == WEIR_OK, "%s", cuda_models_err.text);
    EXPECT(count == 2, "%d", count);
    EXPECT(cuda_double_calls("*") == 0, "%lu calls of CUDA", cuda_double_calls("*"));
    plan_destroy(plan);
}

static void expect_refusal(struct cuda_double_config config, int device, enum weir_status status, const char *text) {
    const struct backend_options options = {0};
    struct backend *backend = NULL;
    cuda_double_reset(&config);
    EXPECT(weir_cuda_open(&options, device, &backend, &cuda_models_err) == status, "%s", cuda_models_err.text);
    EXPECT(strstr(cuda_models_err.text, text), "%s", cuda_models_err.text);
    EXPECT(!backend, "no backend after a refusal");
}

static void a_device_that_cannot_be_used_is_refused_with_the_reason(void) {
    struct cuda_double_config config = cuda_double_defaults();
    expect_refusal(config, 1, WEIR_NOT_FOUND, "no GPU 1: the driver sees 1");
    config.devices = 0;
    expect_refusal(config, 0, WEIR_DEVICE, "sees no device");
    config = cuda_double_defaults();
    config.driver_version = 0;
    expect_refusal(config, 0, WEIR_DEVICE, "no NVIDIA driver");
    config.driver_version = 12040;
    expect_refusal(config, 0, WEIR_DEVICE, "it knows CUDA 12.4, and CUDA 13.0 is needed");
    config = cuda_double_defaults();
    config.initial_error = 34;
    expect_refusal(config, 0, WEIR_DEVICE, "stub");
    config.initial_error = 209;
    expect_refusal(config, 0, WEIR_DEVICE, "no kernel image");
}

/* One turn of the sweep: load, three batches, unload. */
static enum weir_status turn(int which) {
    struct cuda_models_bench bench;
    enum weir_status status =
        cuda_models_try_load(&bench, which, (struct backend_options){.invariance = BACKEND_BUCKET}, 5);
    for (int i = 0; i < 3 && status == WEIR_OK; i++)
        status = cuda_models_run(&bench, i % 2, 1 + (uint32_t)i * 2, 1 + i);
    if (status != WEIR_OK)
        EXPECT(cuda_models_err.text[0], "a failure has a reason");
    cuda_models_unload(&bench);
    return status;
}

/* What calls of one function do when each of them fails in turn. Frees that fail leave what they should have freed:
 * those are left out. */
static unsigned long sweep(int which, const char *function, int error, enum weir_status expected_status) {
    struct cuda_double_config small = cuda_double_defaults();
    unsigned long failures = 0;
    small.major = 8; /* its workspace is small, and so is what it reserves: a turn takes less time */
    small.memory_bytes = 48 << 20;
    for (unsigned long nth = 1;; nth += IS_SHORT ? 13 : 1) {
        cuda_double_reset(&small);
        cuda_double_fail_call(function, nth, error);
        enum weir_status status = turn(which);
        if (cuda_double_calls(function) < nth)
            return failures;
        EXPECT(status == expected_status || status == WEIR_OK, "%s %lu: %s", function, nth, cuda_models_err.text);
        failures += status != WEIR_OK;
        cuda_models_end(function);
    }
}

static void every_call_that_fails_ends_in_a_clean_refusal(void) {
    static const struct {
        const char *function;
        int error;
        enum weir_status status;
    } calls[] = {{"cudaMalloc", 2, WEIR_NO_MEMORY},
                 {"cudaHostAlloc", 2, WEIR_NO_MEMORY},
                 {"cudaStreamCreateWithFlags", 1, WEIR_DEVICE},
                 {"cudaEventCreateWithFlags", 1, WEIR_DEVICE},
                 {"cudaMemcpyAsync", 1, WEIR_DEVICE},
                 {"cudaStreamBeginCapture", 1, WEIR_DEVICE},
                 {"cudaGraphInstantiate", 2, WEIR_NO_MEMORY},
                 {"cudaGraphUpload", 1, WEIR_DEVICE},
                 {"cudaGraphLaunch", 1, WEIR_DEVICE},
                 {"cudaEventRecord", 1, WEIR_DEVICE},
                 {"cudaEventQuery", 1, WEIR_DEVICE},
                 {"cudaMemGetInfo", 1, WEIR_DEVICE},
                 {"cudaSetDevice", 1, WEIR_DEVICE},
                 {"cudaLaunchKernel", 9, WEIR_DEVICE},
                 {"cublasLtCreate", 1, WEIR_DEVICE},
                 {"cublasLtMatmulDescCreate", 3, WEIR_NO_MEMORY},
                 {"cublasLtMatrixLayoutCreate", 3, WEIR_NO_MEMORY},
                 {"cublasLtMatmulAlgoGetHeuristic", 14, WEIR_DEVICE},
                 {"cublasLtMatmul", 13, WEIR_DEVICE}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        unsigned long failures = 0;
        failures += sweep(CUDA_MODELS_MLP, calls[i].function, calls[i].error, calls[i].status);
        failures += sweep(CUDA_MODELS_FREE, calls[i].function, calls[i].error, calls[i].status);
        EXPECT(failures > 0, "%s is called", calls[i].function);
    }
}

int main(void) {
    static const struct {
        const char *sentence;
        void (*test)(void);
    } tests[] = {
#define TEST(name) {#name, name}
        TEST(every_row_count_gives_the_oracles_numbers),
        TEST(an_image_whose_columns_are_too_many_is_cut_the_same_way_everywhere),
        TEST(reduced_precisions_stay_within_their_tolerance),
        TEST(nothing_is_allocated_after_load),
        TEST(the_host_never_touches_the_devices_memory),
        TEST(sizes_beyond_what_was_reserved_are_too_large),
        TEST(one_slot_is_filled_while_the_other_runs),
        TEST(a_row_has_the_same_bits_for_every_batch_size_in_strict),
        TEST(the_self_test_sees_rows_that_are_not_apart),
        TEST(rows_inside_cannot_be_filled_up),
        TEST(a_sticky_error_loses_the_device_for_good),
        TEST(an_error_that_passes_fails_one_batch),
        TEST(a_loss_that_comes_of_an_error_tells_that_error),
        TEST(a_device_that_hangs_while_it_loads_is_lost),
        TEST(a_model_that_does_not_fit_is_refused_with_its_plan),
        TEST(an_operator_that_the_device_lacks_is_named),
        TEST(all_that_a_gpu_lacks_is_told_where_there_is_none),
        TEST(a_device_that_cannot_be_used_is_refused_with_the_reason),
        TEST(every_call_that_fails_ends_in_a_clean_refusal),
#undef TEST
    };
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (IS_SHORT && tests[i].test == an_image_whose_columns_are_too_many_is_cut_the_same_way_everywhere)
            continue;
        tests[i].test();
        printf("ok: %s\n", tests[i].sentence);
        fflush(stdout);
    }
    return 0;
}
