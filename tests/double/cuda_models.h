/* The models that the CUDA backend is tested with, written with onnx_writer: what each one says about its input, and
 * the plan made of it. */
#ifndef WEIR_TESTS_DOUBLE_CUDA_MODELS_H
#define WEIR_TESTS_DOUBLE_CUDA_MODELS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/device/backend.h"

struct plan;

/* Elements of one row of the input x and of the output y, both float32; S stands for the free size where there is one.
 */
struct cuda_models_case {
    const char *name;
    void (*write)(void);
    int opset;
    size_t in, out; /* of one row; with a free size: of one step of it, and of the row */
    int is_free;    /* one free size */
    int axis;       /* of the batch */
};

/* A perceptron with activations between its layers; a network of convolutions (3x3, 1x1, grouped, depthwise, a
 * residual, pools); one attention block with layer norms; products whose operands broadcast; a model with a free size;
 * one whose batch is its second dimension; a convolution whose columns come in several pieces. */
enum {
    CUDA_MODELS_MLP,
    CUDA_MODELS_CNN,
    CUDA_MODELS_ATTENTION,
    CUDA_MODELS_BROADCAST,
    CUDA_MODELS_FREE,
    CUDA_MODELS_AXIS,
    CUDA_MODELS_WIDE,
    CUDA_MODELS
};
extern const struct cuda_models_case cuda_models[CUDA_MODELS];

/* Plans the model; exits where that fails. Owner: the caller, plan_destroy. One plan at a time: it reads the writer's
 * bytes. */
struct plan *cuda_models_plan(int which);

/* A model with an operator that no GPU kernel has. */
struct plan *cuda_models_unsupported(void);

/* A model whose rows [4] do not stay apart: each loses the mean of the batch. */
struct plan *cuda_models_mixing(void);

/* Numbers in -0.5..0.5, different for each seed. */
void cuda_models_fill(float *values, size_t count, uint32_t seed);

#define EXPECT(condition, ...)                                                                                         \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A plan on the double. */
struct cuda_models_bench {
    struct plan *plan;
    struct backend *backend;
    struct backend_model *model;
    const struct cuda_models_case *about;
};

/* Of the last failure; inputs and the oracle's outputs of the tests. */
enum { CUDA_MODELS_NUMBERS = 1 << 22 };
extern struct weir_error cuda_models_err;
extern float cuda_models_x[CUDA_MODELS_NUMBERS], cuda_models_expected[CUDA_MODELS_NUMBERS];

/* A fresh double. */
void cuda_models_reset(void);

/* Opens device 0 and loads a model; load expects that to work. unload also after a failure. */
enum weir_status cuda_models_try_load(struct cuda_models_bench *bench, int which, struct backend_options options,
                                      uint32_t max_rows);
void cuda_models_load(struct cuda_models_bench *bench, int which, struct backend_options options, uint32_t max_rows);
void cuda_models_unload(struct cuda_models_bench *bench);

/* Sizes of a batch, size being the free one's; and how many numbers it has. */
struct tensor_dims cuda_models_dims(const struct cuda_models_bench *bench, uint32_t rows, int64_t size);
size_t cuda_models_in(const struct cuda_models_bench *bench, uint32_t rows, int64_t size);

/* Begins, fills and submits a slot; run does so with cuda_models_x and waits. */
enum weir_status cuda_models_submit(struct cuda_models_bench *bench, int slot, const struct tensor_dims *dims,
                                    const float *from, size_t count);
enum weir_status cuda_models_run(struct cuda_models_bench *bench, int slot, uint32_t rows, int64_t size);

/* The oracle's outputs for cuda_models_x; and the largest difference of the slot's from them, as a part of the largest
 * number. */
void cuda_models_ask(const struct cuda_models_bench *bench, uint32_t rows, int64_t size);
double cuda_models_error(const struct cuda_models_bench *bench, int slot, uint32_t rows);

/* Expects nothing alive on the double, and no misuse. */
void cuda_models_end(const char *where);

#endif
