#include "tests/double/cuda_models.h"

#include <math.h>
#include <string.h>

#include "engine/device/cuda/cuda_backend.h"
#include "engine/graph/plan.h"
#include "tests/double/cuda_double.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;

void cuda_models_fill(float *values, size_t count, uint32_t seed) {
    uint32_t state = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) * 0x1p-24f - 0.5f;
    }
}

static void node(const char *op, const char *inputs, const char *outputs, const char *attributes) {
    onnx_add_node(&model, (struct onnx_node){op, inputs, outputs, attributes, NULL, NULL});
}

static void weights(const char *name, const char *dims, size_t count) {
    static float values[1 << 16];
    static uint32_t seed;
    cuda_models_fill(values, count, ++seed);
    onnx_add_floats(&model, name, dims, values, count);
}

static void integers(const char *name, const char *dims, const int64_t *values, size_t count) {
    onnx_add_integers(&model, name, dims, values, count);
}

static void write_mlp(void) {
    node("Gemm", "x w1 b1", "h1", NULL);
    node("Relu", "h1", "r1", NULL);
    node("Gemm", "r1 w2 b2", "h2", "transB:i=1");
    node("Tanh", "h2", "r2", NULL);
    node("MatMul", "r2 w3", "h3", NULL);
    node("Add", "h3 b3", "h4", NULL);
    node("Sigmoid", "h4", "r4", NULL);
    node("Gemm", "r4 w5", "h5", "alpha:f=0.5");
    node("Softmax", "h5", "y", "axis:i=1");
    weights("w1", "300,48", 300 * 48);
    weights("b1", "48", 48);
    weights("w2", "32,48", 32 * 48);
    weights("b2", "32", 32);
    weights("w3", "32,20", 32 * 20);
    weights("b3", "20", 20);
    weights("w5", "20,10", 200);
    onnx_add_input(&model, "x", "N,300");
    onnx_add_output(&model, "y", "N,10");
}

static void write_cnn(void) {
    node("Conv", "x w1 b1", "c1", "kernel_shape:l=3,3 pads:l=1,1,1,1");
    node("Relu", "c1", "r1", NULL);
    node("MaxPool", "r1", "p1", "kernel_shape:l=2,2 strides:l=2,2");
    node("Conv", "p1 w2 b2", "c2", "kernel_shape:l=1,1");
    node("Add", "c2 p1", "s2", NULL);
    node("Relu", "s2", "r2", NULL);
    node("Conv", "r2 w3 b3", "c3", "kernel_shape:l=3,3 pads:l=1,1,1,1 group:i=8");
    node("Clip", "c3 low high", "r3", NULL);
    node("Conv", "r3 w4", "c4", "kernel_shape:l=3,3 strides:l=2,2 group:i=2");
    node("GlobalAveragePool", "c4", "p4", NULL);
    node("Flatten", "p4", "f", NULL);
    node("Gemm", "f w5 b5", "y", NULL);
    const float low = 0, high = 6;
    onnx_add_floats(&model, "low", "", &low, 1);
    onnx_add_floats(&model, "high", "", &high, 1);
    weights("w1", "8,3,3,3", 8 * 27);
    weights("b1", "8", 8);
    weights("w2", "8,8,1,1", 64);
    weights("b2", "8", 8);
    weights("w3", "8,1,3,3", 72);
    weights("b3", "8", 8);
    weights("w4", "12,4,3,3", 12 * 36);
    weights("w5", "12,5", 60);
    weights("b5", "5", 5);
    onnx_add_input(&model, "x", "N,3,12,12");
    onnx_add_output(&model, "y", "N,5");
}

static void project(const char *weight, const char *out) {
    char flat[16], heads[16], inputs[32];
    snprintf(flat, sizeof flat, "%s_flat", out);
    snprintf(heads, sizeof heads, "%s_heads", out);
    snprintf(inputs, sizeof inputs, "n %s", weight);
    node("MatMul", inputs, flat, NULL);
    snprintf(inputs, sizeof inputs, "%s split", flat);
    node("Reshape", inputs, heads, NULL);
    node("Transpose", heads, out, out[0] == 'k' ? "perm:l=0,2,3,1" : "perm:l=0,2,1,3");
}

static void write_attention(void) {
    static const int64_t split[] = {0, 0, 4, 4}, join[] = {0, 0, 16};
    const float scale = 0.5f;
    node("LayerNormalization", "x g1 b1", "n", NULL);
    project("wq", "q");
    project("wk", "k");
    project("wv", "v");
    node("MatMul", "q k", "scores", NULL);
    node("Mul", "scores scale", "scaled", NULL);
    node("Softmax", "scaled", "weights", NULL);
    node("MatMul", "weights v", "mixed", NULL);
    node("Transpose", "mixed", "turned", "perm:l=0,2,1,3");
    node("Reshape", "turned join", "joined", NULL);
    node("MatMul", "joined wo", "out", NULL);
    node("Add", "out x", "sum", NULL);
    node("LayerNormalization", "sum g2 b2", "n2", NULL);
    node("MatMul", "n2 w1", "up", NULL);
    node("Add", "up c1", "up_b", NULL);
    node("Erf", "up_b", "e", NULL);
    node("MatMul", "e w2", "down", NULL);
    node("Add", "down sum", "y", NULL);
    integers("split", "4", split, 4);
    integers("join", "3", join, 3);
    onnx_add_floats(&model, "scale", "", &scale, 1);
    weights("wq", "16,16", 256);
    weights("wk", "16,16", 256);
    weights("wv", "16,16", 256);
    weights("wo", "16,16", 256);
    weights("w1", "16,64", 1024);
    weights("w2", "64,16", 1024);
    weights("c1", "64", 64);
    weights("g1", "16", 16);
    weights("b1", "16", 16);
    weights("g2", "16", 16);
    weights("b2", "16", 16);
    onnx_add_input(&model, "x", "N,6,16");
    onnx_add_output(&model, "y", "N,6,16");
}

/* [N,1,3,4] by [2,1,4,3] by [2,5,3,5]: one batch, and a loop around it; with an addend that is no row. */
static void write_broadcast(void) {
    static const int64_t dims[] = {0, 1, 3, 4};
    node("Reshape", "x dims", "x4", NULL);
    node("MatMul", "x4 w1", "a", NULL);
    node("MatMul", "a w2", "b", NULL);
    node("Add", "b w3", "c", NULL);
    node("Transpose", "c", "t", "perm:l=0,1,3,2");
    node("MatMul", "t b", "y", NULL);
    integers("dims", "4", dims, 4);
    weights("w1", "2,4,3", 24);
    weights("w2", "2,3,5", 30);
    weights("w3", "2,3,1", 6);
    onnx_add_input(&model, "x", "N,12");
    onnx_add_output(&model, "y", "N,2,5,5");
}

static void write_free(void) {
    static const int64_t axes[] = {1};
    node("MatMul", "x w1", "h", NULL);
    node("Relu", "h", "r", NULL);
    node("ReduceMean", "r", "m", "axes:l=1 keepdims:i=0");
    node("Gemm", "m w2 b2", "y", NULL);
    integers("axes", "1", axes, 1);
    weights("w1", "4,8", 32);
    weights("w2", "8,3", 24);
    weights("b2", "3", 3);
    onnx_add_input(&model, "x", "N,S,4");
    onnx_add_output(&model, "y", "N,3");
}

static void write_axis(void) {
    node("MatMul", "x w", "h", NULL);
    node("Relu", "h", "y", NULL);
    weights("w", "8,3", 24);
    onnx_add_input(&model, "x", "2,batch,8");
    onnx_add_output(&model, "y", "2,batch,3");
}

static void write_wide(void) {
    node("Conv", "x w b", "c", "kernel_shape:l=3,3 pads:l=1,1,1,1");
    node("MaxPool", "c", "y", "kernel_shape:l=8,8 strides:l=8,8");
    weights("w", "2,64,3,3", 2 * 576);
    weights("b", "2", 2);
    onnx_add_input(&model, "x", "N,64,128,128");
    onnx_add_output(&model, "y", "N,2,16,16");
}

const struct cuda_models_case cuda_models[CUDA_MODELS] = {
    [CUDA_MODELS_MLP] = {"a perceptron", write_mlp, 13, 300, 10, 0, 0},
    [CUDA_MODELS_CNN] = {"a network of convolutions", write_cnn, 13, 3 * 12 * 12, 5, 0, 0},
    [CUDA_MODELS_ATTENTION] = {"an attention block", write_attention, 17, 6 * 16, 6 * 16, 0, 0},
    [CUDA_MODELS_BROADCAST] = {"products that broadcast", write_broadcast, 13, 12, 2 * 5 * 5, 0, 0},
    [CUDA_MODELS_FREE] = {"a model with a free size", write_free, 13, 4, 3, 1, 0},
    [CUDA_MODELS_AXIS] = {"a batch in the second dimension", write_axis, 13, 16, 6, 0, 1},
    [CUDA_MODELS_WIDE] = {"a wide convolution", write_wide, 13, 64 * 128 * 128, 2 * 16 * 16, 0, 0}};

static struct plan *finish(int opset) {
    struct weir_error err;
    struct plan *plan = NULL;
    if (model_plan(&model, opset, &plan, &err) != WEIR_OK) {
        fprintf(stderr, "the model cannot be planned: %s\n", err.text);
        exit(1);
    }
    return plan;
}

struct plan *cuda_models_plan(int which) {
    onnx_begin(&model);
    cuda_models[which].write();
    return finish(cuda_models[which].opset);
}

struct plan *cuda_models_unsupported(void) {
    onnx_begin(&model);
    onnx_add_floats(&model, "scale", "", (const float[]){0.5f}, 1);
    onnx_add_floats(&model, "w", "2,2", (const float[]){1, 2, 3, 4}, 4);
    node("QuantizeLinear", "w scale", "weights", NULL);
    node("QuantizeLinear", "x scale", "small", NULL);
    onnx_add_node(&model, (struct onnx_node){"MatMulInteger", "small weights", "sums", NULL, "whole", NULL});
    node("Cast", "sums", "d", "to:i=1");
    node("Exp", "d", "e", NULL);
    node("QuantizeLinear", "e scale", "again", NULL);
    node("MatMulInteger", "again weights", "y", NULL);
    onnx_add_input(&model, "x", "N,2");
    onnx_add_port(&model, 12, "y", 6, "N,2");
    return finish(13);
}

struct plan *cuda_models_mixing(void) {
    onnx_begin(&model);
    node("ReduceMean", "x", "m", "axes:l=0 keepdims:i=1");
    node("Sub", "x m", "y", NULL);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    return finish(13);
}

struct weir_error cuda_models_err;
float cuda_models_x[CUDA_MODELS_NUMBERS], cuda_models_expected[CUDA_MODELS_NUMBERS];

void cuda_models_reset(void) {
    struct cuda_double_config config = cuda_double_defaults();
    cuda_double_reset(&config);
}

enum weir_status cuda_models_try_load(struct cuda_models_bench *bench, int which, struct backend_options options,
                                      uint32_t max_rows) {
    *bench = (struct cuda_models_bench){.plan = cuda_models_plan(which), .about = &cuda_models[which]};
    enum weir_status status = weir_cuda_open(&options, 0, &bench->backend, &cuda_models_err);
    if (status == WEIR_OK)
        status = bench->backend->ops->load(bench->backend, bench->plan, max_rows, &bench->model, &cuda_models_err);
    return status;
}

void cuda_models_unload(struct cuda_models_bench *bench) {
    if (bench->model)
        bench->backend->ops->unload(bench->model);
    if (bench->backend)
        bench->backend->ops->close(bench->backend);
    plan_destroy(bench->plan);
    *bench = (struct cuda_models_bench){0};
}

void cuda_models_load(struct cuda_models_bench *bench, int which, struct backend_options options, uint32_t max_rows) {
    enum weir_status status = cuda_models_try_load(bench, which, options, max_rows);
    EXPECT(status == WEIR_OK, "%s: %s", cuda_models[which].name, cuda_models_err.text);
}

struct tensor_dims cuda_models_dims(const struct cuda_models_bench *bench, uint32_t rows, int64_t size) {
    struct tensor_dims dims = *plan_example(bench->plan);
    dims.rows = rows;
    if (bench->about->is_free)
        dims.free[0] = size;
    return dims;
}

size_t cuda_models_in(const struct cuda_models_bench *bench, uint32_t rows, int64_t size) {
    return bench->about->in * rows * (bench->about->is_free ? (size_t)size : 1);
}

enum weir_status cuda_models_submit(struct cuda_models_bench *bench, int slot, const struct tensor_dims *dims,
                                    const float *from, size_t count) {
    const struct backend_ops *ops = bench->backend->ops;
    enum weir_status status = ops->begin(bench->model, slot, dims, &cuda_models_err);
    if (status != WEIR_OK)
        return status;
    memcpy(ops->input(bench->model, slot, 0), from, count * sizeof *from);
    return ops->submit(bench->model, slot, &cuda_models_err);
}

enum weir_status cuda_models_run(struct cuda_models_bench *bench, int slot, uint32_t rows, int64_t size) {
    struct tensor_dims dims = cuda_models_dims(bench, rows, size);
    enum weir_status status = cuda_models_submit(bench, slot, &dims, cuda_models_x, cuda_models_in(bench, rows, size));
    return status == WEIR_OK ? bench->backend->ops->wait(bench->model, slot, &cuda_models_err) : status;
}

void cuda_models_ask(const struct cuda_models_bench *bench, uint32_t rows, int64_t size) {
    const void *inputs[] = {cuda_models_x};
    void *outputs[] = {cuda_models_expected};
    struct tensor_dims dims = cuda_models_dims(bench, rows, size);
    EXPECT(model_run_oracle(bench->plan, &dims, inputs, outputs, &cuda_models_err) == WEIR_OK, "%s",
           cuda_models_err.text);
}

double cuda_models_error(const struct cuda_models_bench *bench, int slot, uint32_t rows) {
    const float *y = bench->backend->ops->output(bench->model, slot, 0);
    double worst = 0, largest = 0;
    for (size_t i = 0; i < rows * bench->about->out; i++) {
        double difference = fabs((double)y[i] - (double)cuda_models_expected[i]);
        worst = difference >= worst ? difference : isnan(difference) ? INFINITY : worst;
        largest = fabs((double)cuda_models_expected[i]) > largest ? fabs((double)cuda_models_expected[i]) : largest;
    }
    return largest > 0 ? worst / largest : INFINITY;
}

void cuda_models_end(const char *where) {
    struct cuda_double_counts counts = cuda_double_read();
    EXPECT(cuda_double_report() == 0, "%s: something is alive or was misused", where);
    EXPECT(counts.legacy_stream_uses == 0, "%s", where);
}
