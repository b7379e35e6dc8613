/* Signatures for the tests of the Open Inference codec. */
#ifndef WEIR_TESTS_UNIT_SERVER_CODEC_V2_MODELS_H
#define WEIR_TESTS_UNIT_SERVER_CODEC_V2_MODELS_H

#include <stdlib.h>

#include "engine/tensor.h"

static inline struct tensor_spec v2_spec(const char *name, enum tensor_dtype dtype, int rank, const int64_t *dims) {
    struct tensor_spec spec = {.name = (char *)name, .dtype = dtype, .shape = {.rank = rank}};
    for (int i = 0; i < rank; i++)
        spec.shape.dims[i] = dims[i];
    if (!tensor_spec_measure(&spec))
        abort();
    return spec;
}
#define V2_SPEC(name, dtype, rank, ...) v2_spec(name, TENSOR_##dtype, rank, (const int64_t[]){__VA_ARGS__})

/* Inputs x float32 [B,2] and n int64 [F,B] (the batch second), flag bool [B]; outputs y float32 [B,3], h float16 [B,1],
 * t int32 [2,B]. */
struct v2_model {
    struct tensor_spec inputs[3], outputs[3];
    struct signature signature;
};

static inline void v2_model_init(struct v2_model *model) {
    model->inputs[0] = V2_SPEC("x", F32, 2, TENSOR_BATCH, 2);
    model->inputs[1] = V2_SPEC("n", I64, 2, TENSOR_FREE(0), TENSOR_BATCH);
    model->inputs[2] = V2_SPEC("flag", BOOL, 1, TENSOR_BATCH);
    model->outputs[0] = V2_SPEC("y", F32, 2, TENSOR_BATCH, 3);
    model->outputs[1] = V2_SPEC("h", F16, 2, TENSOR_BATCH, 1);
    model->outputs[2] = V2_SPEC("t", I32, 2, 2, TENSOR_BATCH);
    model->signature = (struct signature){.inputs = model->inputs,
                                          .outputs = model->outputs,
                                          .input_count = 3,
                                          .output_count = 3,
                                          .free_names = {(char *)"length"},
                                          .free_count = 1};
}

#endif
