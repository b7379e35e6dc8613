/* The parts of the CUDA backend by themselves: what its errors mean, what it plans to take, how constants go up, and
 * products in their row-major words. */
#include <math.h>
#include <string.h>

#include "engine/device/cuda/cuda_constants.h"
#include "engine/device/cuda/cuda_errors.h"
#include "engine/device/cuda/cuda_lt.h"
#include "engine/device/cuda/cuda_memory_plan.h"
#include "kernels/half.h"
#include "tests/double/check.h"
#include "tests/double/cuda_models.h"

static struct weir_error err;
static struct cuda_errors errors;

static void errors_that_stay_end_the_process_and_others_do_not(void) {
    static const int staying[] = {46,  214, 220, 226, 700, 702, 709, 710, 714,
                                  715, 716, 717, 718, 719, 721, 810, 911, 999};
    static const int passing[] = {1, 2, 9, 35, 98, 100, 209, 600, 900, 901, 906};
    for (size_t i = 0; i < sizeof staying / sizeof *staying; i++)
        CHECK(cuda_errors_is_sticky((cudaError_t)staying[i]));
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        CHECK(!cuda_errors_is_sticky((cudaError_t)passing[i]));
}

static void a_lost_device_stays_lost(void) {
    struct cuda_errors mine = {0};
    cuda_errors_note(&mine, true);
    CHECK(atomic_load(&mine.state) == BACKEND_DEGRADED);
    cuda_errors_note(&mine, false);
    CHECK(atomic_load(&mine.state) == BACKEND_OK);
    CHECK(cuda_errors_fail(&mine, cudaErrorMemoryAllocation, "here", &err) == WEIR_NO_MEMORY);
    CHECK(!cuda_errors_is_lost(&mine));
    CHECK(cuda_errors_fail(&mine, cudaErrorAssert, "here", &err) == WEIR_DEVICE_LOST);
    CHECK(strstr(err.text, "here: cudaErrorAssert") != NULL);
    cuda_errors_note(&mine, false);
    CHECK(cuda_errors_is_lost(&mine));
}

static void a_product_that_the_device_broke_tells_the_devices_error(void) {
    struct cuda_errors mine = {0};
    CHECK(cuda_errors_fail_lt(&mine, CUBLAS_STATUS_ALLOC_FAILED, "a product", &err) == WEIR_NO_MEMORY);
    CHECK(cuda_errors_fail_lt(&mine, CUBLAS_STATUS_NOT_SUPPORTED, "a product", &err) == WEIR_DEVICE);
    CHECK(strstr(err.text, "a product: cuBLASLt") != NULL && !cuda_errors_is_lost(&mine));
    float *memory = check_device_floats(4);
    cudaStream_t stream = check_stream();
    cuda_double_fail_operation("fill", 1, 719);
    CHECK_OK(cudaMemsetAsync(memory, 0, 4, stream));
    CHECK_ERROR(cudaStreamSynchronize(stream), 719);
    CHECK(cuda_errors_fail_lt(&mine, CUBLAS_STATUS_EXECUTION_FAILED, "a product", &err) == WEIR_DEVICE_LOST);
    CHECK(strstr(err.text, "cudaErrorLaunchFailure") != NULL && cuda_errors_is_lost(&mine));
}

static void the_memory_plan_counts_both_slots_and_a_quarter_to_spare(void) {
    struct cuda_memory_plan plan = {.weights = 10 << 20,
                                    .activations = 4 << 20,
                                    .workspace = 1 << 20,
                                    .graphs = 16,
                                    .in_use = 7 << 20,
                                    .total = 100 << 20};
    size_t bytes;
    char text[320];
    CHECK(cuda_memory_plan_arena(&plan, &bytes) && bytes == 20 << 20);
    plan.free = (26 << 20) + (256 << 10); /* (20 + 1) * 1.25 */
    CHECK(cuda_memory_plan_check(&plan, &err) == WEIR_OK);
    plan.free--;
    CHECK(cuda_memory_plan_check(&plan, &err) == WEIR_NO_MEMORY);
    CHECK(strstr(err.text, "weights 10.0 MiB + 2 x (activations 4.0 MiB + workspace 1.0 MiB) + 16 graphs 1.0 MiB") !=
          NULL);
    CHECK(strstr(cuda_memory_plan_text(&plan, text, sizeof text), "spare 26.2 MiB; free 26.2 of 100.0 MiB") != NULL);
    plan.activations = SIZE_MAX / 2;
    CHECK(!cuda_memory_plan_arena(&plan, &bytes) && cuda_memory_plan_check(&plan, &err) == WEIR_NO_MEMORY);
    CHECK(cuda_memory_plan_align(257) == 512 && cuda_memory_plan_align(SIZE_MAX) == SIZE_MAX);
}

static void free_sizes_get_more_but_leave_half_of_the_memory(void) {
    struct cuda_memory_plan plan = {.activations = 16 << 20, .staging = 1 << 20, .free = (size_t)8 << 30};
    struct cuda_memory_plan small = plan, none = plan, little = {.activations = 4096, .free = 30 << 20};
    cuda_memory_plan_reserve(&plan);
    CHECK(plan.activations == 128 << 20 && plan.staging == 8 << 20);
    small.free = 256 << 20;
    cuda_memory_plan_reserve(&small); /* 2 x 64 MiB and a quarter is more than half, 2 x 32 MiB is not */
    CHECK(small.activations == 32 << 20);
    cuda_memory_plan_reserve(&little);
    CHECK(little.activations == 8 << 20 && little.staging == 4 << 20);
    none.free = 1 << 20;
    cuda_memory_plan_reserve(&none);
    CHECK(none.activations == 16 << 20);
    struct cuda_memory_plan large = {.activations = 4096, .free = (size_t)15 << 30, .total = (size_t)16 << 30};
    cuda_memory_plan_reserve(&large);
    CHECK(large.activations == 512 << 20 && large.staging == 64 << 20);
}

/* Copies up or down through pinned memory, in a stream of its own. */
static void send_up(void *to, const void *from, size_t bytes) {
    float *pinned = check_pinned_floats(bytes / sizeof(float) + 1);
    cudaStream_t stream = check_stream();
    memcpy(pinned, from, bytes);
    CHECK_OK(cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
}

static void fetch(void *to, const void *from, size_t bytes) {
    float *pinned = check_pinned_floats(bytes / sizeof(float) + 1);
    cudaStream_t stream = check_stream();
    CHECK_OK(cudaMemcpyAsync(pinned, from, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK_OK(cudaStreamSynchronize(stream));
    memcpy(to, pinned, bytes);
}

/* More than one trip through the bounce buffer, from an odd address, and what was sent stays as it is. */
static void constants_go_up_in_pieces_and_are_converted(void) {
    enum { COUNT = 1000, BOUNCE_FLOATS = 64 };
    static unsigned char file[COUNT * sizeof(float) + 1];
    float values[COUNT], back[COUNT];
    uint16_t half[COUNT];
    struct cuda_constants list = {0};
    cuda_models_fill(values, COUNT, 3);
    memcpy(file + 1, values, sizeof values);
    const struct graph_constant constant = {.dtype = TENSOR_F32, .elements = COUNT, .bytes = file + 1};
    const struct cuda_bounce bounce = {(unsigned char *)check_pinned_floats(BOUNCE_FLOATS),
                                       BOUNCE_FLOATS * sizeof(float), check_stream(), &errors};
    CHECK(cuda_constants_want(&list, &constant, CUDA_FORM_PLAIN) &&
          cuda_constants_want(&list, &constant, CUDA_FORM_F16));
    CHECK(cuda_constants_want(&list, &constant, CUDA_FORM_PLAIN) && list.count == 2);
    CHECK(list.items[1].offset == 4096 && list.bytes == 4096 + 2048);
    unsigned char *memory = (unsigned char *)check_device_floats(list.bytes / sizeof(float));
    CHECK(cuda_constants_upload(&list, memory, &bounce, &err) == WEIR_OK);
    fetch(back, memory, sizeof back);
    fetch(half, memory + 4096, sizeof half);
    CHECK(memcmp(back, values, sizeof back) == 0);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(half[i] == half_from_float(values[i]));
    unsigned long copies = cuda_double_calls("cudaMemcpyAsync");
    CHECK(cuda_constants_upload(&list, memory, &bounce, &err) == WEIR_OK);
    CHECK(cuda_double_calls("cudaMemcpyAsync") == copies);
    cuda_constants_release(&list);
    check_clean();
}

static void a_constant_that_was_let_go_cannot_be_sent_up(void) {
    struct cuda_constants list = {0};
    const struct graph_constant constant = {.dtype = TENSOR_F32, .elements = 4};
    const struct cuda_bounce bounce = {(unsigned char *)check_pinned_floats(64), 256, check_stream(), &errors};
    CHECK(cuda_constants_want(&list, &constant, CUDA_FORM_PLAIN));
    unsigned char *memory = (unsigned char *)check_device_floats(64);
    CHECK(cuda_constants_upload(&list, memory, &bounce, &err) == WEIR_UNSUPPORTED);
    cuda_constants_release(&list);
    check_clean();
}

enum { ROWS = 5, COLS = 7, INNER = 9, PRODUCTS = 3, PITCH = 8 };

static float at(const float *matrix, size_t rows, size_t cols, bool transposed, size_t row, size_t col) {
    return transposed ? matrix[col * rows + row] : matrix[row * cols + col];
}

/* Compares a product of this shape with plain loops. */
static void expect_product(struct cuda_lt *lt, const struct cuda_lt_product *product) {
    enum { X = 256, W = 256, Y = 256 };
    float host[X + W + Y], *device = check_device_floats(X + W + Y), *bias = check_device_floats(64);
    float *workspace = check_device_floats(1024), bias_host[COLS];
    cudaStream_t stream = check_stream();
    struct cuda_lt_plan plan = {0};
    cuda_models_fill(host, X + W + Y, 7);
    cuda_models_fill(bias_host, COLS, 8);
    send_up(device, host, (X + W + Y) * sizeof *host);
    send_up(bias, bias_host, sizeof bias_host);
    const struct cuda_lt_operands operands = {.x = device,
                                              .w = device + X,
                                              .bias = bias,
                                              .y = device + X + W,
                                              .workspace = workspace,
                                              .workspace_bytes = 4096,
                                              .stream = stream};
    float before[Y];
    memcpy(before, host + X + W, sizeof before);
    CHECK(cuda_lt_prepare(lt, product, bias, &plan, &err) == WEIR_OK);
    CHECK(cuda_lt_run(lt, &plan, &operands, &err) == WEIR_OK);
    CHECK_OK(cudaStreamSynchronize(stream));
    float y[Y];
    fetch(y, device + X + W, sizeof y);
    for (size_t i = 0; i < product->count * ROWS * COLS; i++) {
        size_t which = i / (ROWS * COLS), row = i / COLS % ROWS, col = i % COLS;
        size_t to = which * product->y_step + row * product->y_pitch + col;
        double sum = 0;
        for (size_t k = 0; k < INNER; k++)
            sum += (double)at(host + which * product->x_step, ROWS, INNER, product->x_transposed, row, k) *
                   (double)at(host + X + which * product->w_step, INNER, COLS, product->w_transposed, k, col);
        sum = product->alpha * sum + product->beta * before[to] + (product->bias ? bias_host[col] : 0);
        sum = product->relu && sum < 0 ? 0 : sum;
        CHECK(fabs(sum - y[to]) < 1e-5);
    }
    cuda_lt_release(&plan);
}

static void products_are_what_their_row_major_words_say(void) {
    for (int form = 0; form < 32; form++) {
        const struct cuda_lt_product product = {.rows = ROWS,
                                                .cols = COLS,
                                                .inner = INNER,
                                                .x_transposed = form & 1,
                                                .w_transposed = form & 2,
                                                .y_pitch = form & 4 ? PITCH : COLS,
                                                .count = form & 8 ? PRODUCTS : 1,
                                                .x_step = ROWS * INNER,
                                                .w_step = form & 16 ? 0 : INNER * COLS,
                                                .y_step = ROWS * PITCH,
                                                .alpha = form & 4 ? 0.5f : 1,
                                                .beta = form & 16 ? 2 : 0,
                                                .bias = form & 1,
                                                .relu = form & 2,
                                                .alignment_bytes = CUDA_ALIGNMENT};
        struct cuda_lt lt = {.errors = &errors};
        CHECK(cuda_lt_open(&lt, 4096, false, &err) == WEIR_OK);
        expect_product(&lt, &product);
        cuda_lt_close(&lt);
        check_clean();
    }
}

static const struct check_test tests[] = {
#define TEST(name)                                                                                                     \
    { #name, name }
    TEST(errors_that_stay_end_the_process_and_others_do_not),
    TEST(a_lost_device_stays_lost),
    TEST(a_product_that_the_device_broke_tells_the_devices_error),
    TEST(the_memory_plan_counts_both_slots_and_a_quarter_to_spare),
    TEST(free_sizes_get_more_but_leave_half_of_the_memory),
    TEST(constants_go_up_in_pieces_and_are_converted),
    TEST(a_constant_that_was_let_go_cannot_be_sent_up),
    TEST(products_are_what_their_row_major_words_say),
#undef TEST
    {NULL, NULL}};
static const struct check_bug bugs[] = {{NULL, NULL, 0, NULL}};

int main(int argc, char **argv) {
    return check_main(argc, argv, tests, bugs);
}
