/* The products: what they compute, which they refuse, and that misuse is counted. */
#include <cublasLt.h>
#include <math.h>
#include <string.h>

#include "tests/double/check.h"

/* y [N, OUT] = x [N, IN] w [OUT, IN]^T in row-major order is D (OUT x N) = w^T x of column-major matrices. */

struct dense {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t w_layout, x_layout, y_layout;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[4];
    int found_count, rows, in, out;
    float *w, *x, *y, *bias, *workspace;
    size_t workspace_bytes;
    cudaStream_t stream;
};

/* Between -1 and 1, as if at random. */
static float value_at(int i) {
    unsigned x = (unsigned)i * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    return (float)((x ^ x >> 13) >> 8) / (float)(1 << 23) - 1;
}

static float *upload(int count, int seed, cudaStream_t stream) {
    float *host = check_pinned_floats((size_t)count), *device = check_device_floats((size_t)count);
    for (int i = 0; i < count; i++)
        host[i] = value_at(i + seed);
    CHECK_OK(cudaMemcpyAsync(device, host, (size_t)count * sizeof *host, cudaMemcpyHostToDevice, stream));
    return device;
}

static void set_desc(struct dense *dense, cublasLtMatmulDescAttributes_t attribute, const void *in, size_t bytes) {
    CHECK_OK(cublasLtMatmulDescSetAttribute(dense->desc, attribute, in, bytes));
}

static void dense_layouts(struct dense *dense, int rows) {
    dense->rows = rows;
    CHECK_OK(cublasLtMatrixLayoutCreate(&dense->x_layout, CUDA_R_32F, (uint64_t)dense->in, (uint64_t)rows, dense->in));
    CHECK_OK(
        cublasLtMatrixLayoutCreate(&dense->y_layout, CUDA_R_32F, (uint64_t)dense->out, (uint64_t)rows, dense->out));
}

static void dense_open(struct dense *dense, int rows, int in, int out, cublasComputeType_t compute) {
    *dense = (struct dense){.in = in, .out = out, .workspace_bytes = 1 << 20, .stream = check_stream()};
    CHECK_OK(cublasLtCreate(&dense->handle));
    CHECK_OK(cublasLtMatmulDescCreate(&dense->desc, compute, CUDA_R_32F));
    CHECK_OK(cublasLtMatmulPreferenceCreate(&dense->preference));
    CHECK_OK(cublasLtMatrixLayoutCreate(&dense->w_layout, CUDA_R_32F, (uint64_t)in, (uint64_t)out, in));
    dense_layouts(dense, rows);
    dense->w = upload(in * out, 0, dense->stream);
    dense->x = upload(rows * in, 5, dense->stream);
    dense->bias = upload(out, 9, dense->stream);
    dense->y = check_device_floats((size_t)(rows * out));
    dense->workspace = check_device_floats(dense->workspace_bytes / sizeof(float));
    cublasOperation_t transposed = CUBLAS_OP_T;
    set_desc(dense, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    CHECK_OK(cublasLtMatmulPreferenceSetAttribute(dense->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &(uint64_t){dense->workspace_bytes}, sizeof(uint64_t)));
}

static void dense_epilogue(struct dense *dense, cublasLtEpilogue_t epilogue) {
    set_desc(dense, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    set_desc(dense, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &dense->bias, sizeof dense->bias);
}

static void dense_mask(struct dense *dense, uint32_t mask) {
    CHECK_OK(cublasLtMatmulPreferenceSetAttribute(dense->preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &mask,
                                                  sizeof mask));
}

static cublasStatus_t dense_choose(struct dense *dense) {
    return cublasLtMatmulAlgoGetHeuristic(dense->handle, dense->desc, dense->w_layout, dense->x_layout, dense->y_layout,
                                          dense->y_layout, dense->preference, 4, dense->found, &dense->found_count);
}

static cublasStatus_t dense_run(struct dense *dense, int choice) {
    float one = 1, zero = 0;
    return cublasLtMatmul(dense->handle, dense->desc, &one, dense->w, dense->w_layout, dense->x, dense->x_layout, &zero,
                          dense->y, dense->y_layout, dense->y, dense->y_layout, &dense->found[choice].algo,
                          dense->workspace, dense->workspace_bytes, dense->stream);
}

static const float *dense_fetch(struct dense *dense) {
    size_t count = (size_t)(dense->rows * dense->out);
    float *host = check_pinned_floats(count);
    CHECK_OK(cudaMemcpyAsync(host, dense->y, count * sizeof *host, cudaMemcpyDeviceToHost, dense->stream));
    CHECK_OK(cudaStreamSynchronize(dense->stream));
    return host;
}

static void dense_close(struct dense *dense) {
    CHECK_OK(cublasLtMatrixLayoutDestroy(dense->w_layout));
    CHECK_OK(cublasLtMatrixLayoutDestroy(dense->x_layout));
    CHECK_OK(cublasLtMatrixLayoutDestroy(dense->y_layout));
    CHECK_OK(cublasLtMatmulPreferenceDestroy(dense->preference));
    CHECK_OK(cublasLtMatmulDescDestroy(dense->desc));
    CHECK_OK(cublasLtDestroy(dense->handle));
}

/* Relative Frobenius error against float64; finish: the epilogue, NULL for none. */
static double error_of(const struct dense *dense, const float *y, double (*finish)(double)) {
    double wrong = 0, all = 0;
    for (int row = 0; row < dense->rows; row++) {
        for (int col = 0; col < dense->out; col++) {
            double sum = 0;
            for (int k = 0; k < dense->in; k++)
                sum += (double)value_at(row * dense->in + k + 5) * (double)value_at(col * dense->in + k);
            if (finish != NULL)
                sum = finish(sum + (double)value_at(col + 9));
            double difference = (double)y[row * dense->out + col] - sum;
            wrong += difference * difference;
            all += sum * sum;
        }
    }
    return sqrt(wrong / all);
}

static double as_it_is(double x) {
    return x;
}

static double relu(double x) {
    return x > 0 ? x : 0;
}

static double gelu_tanh(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static void products_are_right_with_each_epilogue(void) {
    static const struct {
        cublasLtEpilogue_t epilogue;
        double (*finish)(double);
    } cases[] = {{CUBLASLT_EPILOGUE_DEFAULT, NULL},
                 {CUBLASLT_EPILOGUE_BIAS, as_it_is},
                 {CUBLASLT_EPILOGUE_RELU_BIAS, relu},
                 {CUBLASLT_EPILOGUE_GELU_BIAS, gelu_tanh}};
    struct dense dense;
    dense_open(&dense, 6, 300, 20, CUBLAS_COMPUTE_32F);
    for (int i = 0; i < 4; i++) {
        dense_epilogue(&dense, cases[i].epilogue);
        CHECK_OK(dense_choose(&dense));
        CHECK(dense.found_count == 3 && dense.found[0].workspaceSize == 4 * 6 * 20 * sizeof(float));
        for (int choice = 0; choice < 3; choice++) {
            CHECK_OK(dense_run(&dense, choice));
            CHECK(error_of(&dense, dense_fetch(&dense), cases[i].finish) < 1e-6);
        }
    }
    CHECK(cuda_double_read().products == 12);
    dense_close(&dense);
    check_clean();
}

static void reduced_precision_is_as_coarse_as_it_should_be(void) {
    static const struct {
        cublasComputeType_t compute;
        double least, most;
    } cases[] = {{CUBLAS_COMPUTE_32F, 0, 1e-6},
                 {CUBLAS_COMPUTE_32F_FAST_TF32, 5e-5, 1e-3},
                 {CUBLAS_COMPUTE_32F_FAST_16F, 5e-5, 1e-3},
                 {CUBLAS_COMPUTE_32F_FAST_16BF, 5e-4, 1e-2}};
    for (int i = 0; i < 4; i++) {
        struct dense dense;
        dense_open(&dense, 20, 100, 20, cases[i].compute);
        CHECK_OK(dense_choose(&dense));
        CHECK_OK(dense_run(&dense, 0));
        double error = error_of(&dense, dense_fetch(&dense), NULL);
        CHECK(error >= cases[i].least && error < cases[i].most);
        dense_close(&dense);
        check_clean();
    }
}

/* The same row alone and among 40: the first algorithm's bits differ, unless split-K is masked out. */
static void split_k_changes_bits_unless_masked_out(void) {
    for (int masked = 0; masked < 2; masked++) {
        float first[2][20];
        for (int many = 0; many < 2; many++) {
            struct dense dense;
            dense_open(&dense, many ? 40 : 1, 300, 20, CUBLAS_COMPUTE_32F);
            dense_mask(&dense, masked ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_MASK);
            CHECK_OK(dense_choose(&dense));
            uint32_t splits = 0;
            CHECK_OK(cublasLtMatmulAlgoConfigGetAttribute(&dense.found[0].algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
                                                          &splits, sizeof splits, NULL));
            CHECK(splits == (many || masked ? 1 : 4));
            CHECK_OK(dense_run(&dense, 0));
            memcpy(first[many], dense_fetch(&dense), sizeof first[many]);
            dense_close(&dense);
            check_clean();
        }
        CHECK((memcmp(first[0], first[1], sizeof first[0]) == 0) == (masked != 0));
    }
}

static void algorithms_belong_to_their_shape(void) {
    struct dense dense;
    dense_open(&dense, 40, 300, 20, CUBLAS_COMPUTE_32F);
    CHECK_OK(dense_choose(&dense));
    CHECK(dense.found_count == 2);
    cublasLtMatmulHeuristicResult_t result;
    CHECK_OK(cublasLtMatrixLayoutDestroy(dense.x_layout));
    CHECK_OK(cublasLtMatrixLayoutDestroy(dense.y_layout));
    dense_layouts(&dense, 8);
    CHECK_ERROR(cublasLtMatmulAlgoCheck(dense.handle, dense.desc, dense.w_layout, dense.x_layout, dense.y_layout,
                                        dense.y_layout, &dense.found[0].algo, &result),
                CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK_ERROR(dense_run(&dense, 0), CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(cuda_double_read().foreign_algorithms == 1);
    CHECK_OK(cublasLtMatmulAlgoCheck(dense.handle, dense.desc, dense.w_layout, dense.x_layout, dense.y_layout,
                                     dense.y_layout, &dense.found[1].algo, &result));
    CHECK_OK(dense_run(&dense, 1));
    CHECK(error_of(&dense, dense_fetch(&dense), NULL) < 1e-6);
    dense_close(&dense);
}

static void wrong_operands_are_refused_and_counted(void) {
    struct dense dense;
    dense_open(&dense, 6, 300, 20, CUBLAS_COMPUTE_32F);
    CHECK_OK(dense_choose(&dense));
    dense.workspace_bytes = 100;
    CHECK_ERROR(dense_run(&dense, 0), CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cuda_double_read().small_workspaces == 1);
    dense.workspace_bytes = 1 << 20;
    dense.x += 1;
    CHECK_ERROR(dense_run(&dense, 0), CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(cuda_double_read().misaligned_operands == 1);
    dense.x += 299;
    CHECK_ERROR(dense_run(&dense, 0), CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cuda_double_read().out_of_bounds == 1);
    dense_close(&dense);
}

/* alpha A B + beta C over two batches of half precision, A shared by both. */
static void batches_of_half_precision_are_summed(void) {
    enum { M = 8, N = 8, K = 16 };
    static const unsigned short one = 0x3c00, two = 0x4000;
    cudaStream_t stream = check_stream();
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count;
    unsigned short *halves = (unsigned short *)check_pinned_floats(K * N);
    void *device = check_device_floats(K * N);
    float *y = check_device_floats(2 * M * N), *host = check_pinned_floats(2 * M * N);
    for (int i = 0; i < 2 * K * N; i++)
        halves[i] = i < K * N ? one : two;
    for (int i = 0; i < 2 * M * N; i++)
        host[i] = 100;
    CHECK_OK(cudaMemcpyAsync(device, halves, 2 * K * N * sizeof one, cudaMemcpyHostToDevice, stream));
    CHECK_OK(cudaMemcpyAsync(y, host, 2 * M * N * sizeof *y, cudaMemcpyHostToDevice, stream));
    CHECK_OK(cublasLtCreate(&handle));
    CHECK_OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK_OK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK_OK(cublasLtMatrixLayoutCreate(&a, CUDA_R_16F, M, K, M));
    CHECK_OK(cublasLtMatrixLayoutCreate(&b, CUDA_R_16F, K, N, K));
    CHECK_OK(cublasLtMatrixLayoutCreate(&d, CUDA_R_32F, M, N, M));
    cublasLtMatrixLayout_t layouts[] = {a, b, d};
    int64_t strides[] = {0, K * N, M * N};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &(int32_t){2}, 4));
        CHECK_OK(cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &strides[i],
                                                  sizeof strides[i]));
    }
    CHECK_OK(cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, d, d, preference, 1, &found, &count));
    float alpha = 0.5f, beta = 0.25f;
    CHECK_OK(
        cublasLtMatmul(handle, desc, &alpha, device, a, device, b, &beta, y, d, y, d, &found.algo, NULL, 0, stream));
    CHECK_OK(cudaMemcpyAsync(host, y, 2 * M * N * sizeof *y, cudaMemcpyDeviceToHost, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 2 * M * N; i++)
        CHECK(host[i] == (i < M * N ? 0.5f * 16 : 0.5f * 32) + 25);
    for (int i = 0; i < 3; i++)
        CHECK_OK(cublasLtMatrixLayoutDestroy(layouts[i]));
    CHECK_OK(cublasLtMatmulPreferenceDestroy(preference));
    CHECK_OK(cublasLtMatmulDescDestroy(desc));
    CHECK_OK(cublasLtDestroy(handle));
    check_clean();
}

static void products_are_captured(void) {
    struct dense dense;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    dense_open(&dense, 6, 300, 20, CUBLAS_COMPUTE_32F);
    CHECK_OK(dense_choose(&dense));
    CHECK_OK(cudaStreamBeginCapture(dense.stream, cudaStreamCaptureModeThreadLocal));
    CHECK_OK(dense_run(&dense, 0));
    CHECK_OK(cudaStreamEndCapture(dense.stream, &graph));
    CHECK_OK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_OK(cudaGraphLaunch(exec, dense.stream));
    CHECK(error_of(&dense, dense_fetch(&dense), NULL) < 1e-6);
    CHECK_OK(cudaGraphExecDestroy(exec));
    CHECK_OK(cudaGraphDestroy(graph));
    dense_close(&dense);
    check_clean();
}

static void without_a_device_there_is_no_handle(void) {
    struct cuda_double_config config = cuda_double_defaults();
    cublasLtHandle_t handle = NULL;
    config.driver_version = 0;
    cuda_double_reset(&config);
    CHECK_ERROR(cublasLtCreate(&handle), CUBLAS_STATUS_NOT_INITIALIZED);
    cuda_double_reset(NULL);
    cuda_double_fail_call("cublasLtCreate", 1, CUBLAS_STATUS_ALLOC_FAILED);
    CHECK_ERROR(cublasLtCreate(&handle), CUBLAS_STATUS_ALLOC_FAILED);
    CHECK(handle == NULL && cuda_double_read().product_objects == 0);
}

/* A product whose result another stream reads without waiting. */
static void does_not_wait(void) {
    struct dense dense;
    dense_open(&dense, 6, 300, 20, CUBLAS_COMPUTE_32F);
    CHECK_OK(dense_choose(&dense));
    CHECK_OK(cudaStreamSynchronize(dense.stream));
    CHECK_OK(dense_run(&dense, 0));
    dense.stream = check_stream();
    (void)dense_fetch(&dense);
}

int main(int argc, char **argv) {
    static const struct check_test tests[] = {
        {"a product is right with each epilogue and algorithm", products_are_right_with_each_epilogue},
        {"reduced precision is as coarse as it should be", reduced_precision_is_as_coarse_as_it_should_be},
        {"split-K changes bits unless it is masked out", split_k_changes_bits_unless_masked_out},
        {"an algorithm belongs to its shape, or says that it does not", algorithms_belong_to_their_shape},
        {"wrong operands are refused and counted", wrong_operands_are_refused_and_counted},
        {"batches of half precision are summed in float32", batches_of_half_precision_are_summed},
        {"a product is captured like a kernel", products_are_captured},
        {"without a device there is no handle", without_a_device_there_is_no_handle},
        {NULL, NULL},
    };
    static const struct check_bug bugs[] = {
        {"a product read by a stream that waits for nothing races", does_not_wait, IN_TSAN, "data race"},
        {NULL, NULL, 0, NULL},
    };
    return check_main(argc, argv, tests, bugs);
}
