#include "kernel_case.h"

#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cuda/cuda.h"

#include "cuda_double.h"

extern "C" {
#include "kernels/element.h"
#include "kernels/ref/ref.h"
/* Not there where the CUDA runtime is the real one. */
__attribute__((weak)) decltype(cuda_double_defaults) cuda_double_defaults;
__attribute__((weak)) decltype(cuda_double_reset) cuda_double_reset;
__attribute__((weak)) decltype(cuda_double_report) cuda_double_report;
}

enum { RED_ZONE_BYTES = 256, RED = 0xA5 };

static struct {
    cudaStream_t stream;
    const char *sentence;
    bool failed;
    unsigned random;
    std::vector<void *> host, device;
    void *pinned; /* of copies, kept from one to the next */
    size_t pinned_bytes;
} state;

void kernel_case_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!state.failed)
        printf("FAIL: %s\n", state.sentence);
    printf("  ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    state.failed = true;
}

/* What the tests cannot do without. */
static void need(cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s: %s\n", state.sentence, what, cudaGetErrorName(error));
    exit(2);
}

cudaStream_t kernel_case_stream(void) {
    return state.stream;
}

size_t kernel_case_random(size_t from, size_t to) {
    state.random = state.random * 1664525u + 1013904223u;
    return from + (state.random >> 8) % (to - from + 1);
}

float kernel_case_random_float(float from, float to) {
    return from + (to - from) * (float)kernel_case_random(0, 0xFFFFFF) / 16777215.0f;
}

void *kernel_case_host(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        exit(2);
    state.host.push_back(memory);
    return memory;
}

static void fill(const struct view *view) {
    for (size_t i = 0, count = view_count(view); i < count; i++)
        if (element_is_float(view->element))
            element_set_number(view, i, (double)kernel_case_random_float(-3.0f, 3.0f));
        else
            element_set_integer(view, i, (int64_t)kernel_case_random(0, 12) - (view->element == ELEMENT_BOOL ? 6 : 5));
}

struct view kernel_case_view(enum element element, std::initializer_list<size_t> dims) {
    struct view view = {};
    view.element = element;
    for (size_t dim : dims)
        view.dims[view.rank++] = dim;
    return kernel_case_like(&view, element);
}

struct view kernel_case_like(const struct view *shape, enum element element) {
    struct view view = *shape;
    view.element = element;
    view.data = kernel_case_host(view_count(&view) * view_element_bytes(element));
    fill(&view);
    return view;
}

static void release_pinned(void) {
    if (state.pinned)
        need(cudaFreeHost(state.pinned), "free");
    state.pinned = NULL;
    state.pinned_bytes = 0;
}

static void *pinned_memory(size_t bytes) {
    if (bytes > state.pinned_bytes) {
        release_pinned();
        need(cudaHostAlloc(&state.pinned, bytes, cudaHostAllocDefault), "pinned memory");
        state.pinned_bytes = bytes;
    }
    return state.pinned;
}

/* Through pinned memory, as asynchronous copies want it. */
static void copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0)
        return;
    void *pinned = pinned_memory(bytes);
    if (kind == cudaMemcpyHostToDevice)
        memcpy(pinned, from, bytes);
    need(cudaMemcpyAsync(kind == cudaMemcpyHostToDevice ? to : pinned, kind == cudaMemcpyHostToDevice ? pinned : from,
                         bytes, kind, state.stream),
         "copy");
    need(cudaStreamSynchronize(state.stream), "wait");
    if (kind == cudaMemcpyDeviceToHost)
        memcpy(to, pinned, bytes);
}

void *kernel_case_upload(const void *data, size_t bytes, size_t misaligned) {
    void *memory;
    need(cudaMalloc(&memory, misaligned + (bytes ? bytes : 1)), "device memory");
    state.device.push_back(memory);
    unsigned char *place = (unsigned char *)memory + misaligned;
    std::vector<unsigned char> zeros;
    if (!data)
        zeros.resize(bytes);
    copy(place, data ? data : zeros.data(), bytes, cudaMemcpyHostToDevice);
    return place;
}

void kernel_case_download(void *data, const void *device, size_t bytes) {
    copy(data, device, bytes, cudaMemcpyDeviceToHost);
}

static void release_device(void) {
    for (void *memory : state.device)
        need(cudaFree(memory), "free");
    state.device.clear();
}

static size_t bytes_of(const struct view *view) {
    return view_count(view) * view_element_bytes(view->element);
}

static size_t misalignment(const struct kernel_case *given, const struct view *view) {
    return given->misaligned ? view_element_bytes(view->element) : 0;
}

/* The output on the device: its old contents 0xFF (or input 0's), between the red zones. */
static unsigned char *upload_output(const struct kernel_case *given, int k) {
    size_t bytes = bytes_of(&given->outputs[k]);
    std::vector<unsigned char> all(bytes + 2 * RED_ZONE_BYTES, RED);
    memset(all.data() + RED_ZONE_BYTES, 0xFF, bytes);
    if (given->in_place && k == 0)
        memcpy(all.data() + RED_ZONE_BYTES, given->inputs[0].data, bytes);
    return (unsigned char *)kernel_case_upload(all.data(), all.size(), misalignment(given, &given->outputs[k])) +
           RED_ZONE_BYTES;
}

static void download_output(const struct view *output, const unsigned char *device) {
    size_t bytes = bytes_of(output);
    std::vector<unsigned char> all(bytes + 2 * RED_ZONE_BYTES);
    kernel_case_download(all.data(), device - RED_ZONE_BYTES, all.size());
    for (size_t i = 0; i < RED_ZONE_BYTES; i++)
        if (all[i] != RED || all[RED_ZONE_BYTES + bytes + i] != RED) {
            kernel_case_fail("written outside of the output");
            break;
        }
    if (bytes > 0)
        memcpy(output->data, all.data() + RED_ZONE_BYTES, bytes);
}

struct kernel_case kernel_case_make(enum operation_kind kind, std::initializer_list<struct view> inputs,
                                    std::initializer_list<struct view> outputs) {
    struct kernel_case made = {};
    made.operation.kind = kind;
    for (const struct view &view : inputs)
        made.inputs[made.input_count++] = view;
    for (const struct view &view : outputs)
        made.outputs[made.output_count++] = view;
    return made;
}

bool kernel_case_run(const struct kernel_case *given) {
    struct view inputs[KERNEL_CASE_MOST_VIEWS] = {}, outputs[KERNEL_CASE_MOST_VIEWS] = {};
    cuda_launcher launch = cuda_find(&given->operation, given->inputs, given->outputs);
    size_t scratch_bytes = cuda_scratch_bytes(&given->operation, given->inputs, given->outputs);
    if (!launch) {
        kernel_case_fail("no kernel for %s", operation_text(given->operation.kind));
        return false;
    }
    memcpy(inputs, given->inputs, sizeof inputs);
    memcpy(outputs, given->outputs, sizeof outputs);
    for (int k = 0; k < given->output_count; k++)
        outputs[k].data = outputs[k].data ? upload_output(given, k) : NULL;
    for (int k = 0; k < given->input_count; k++)
        if (inputs[k].data)
            inputs[k].data = given->in_place && k == 0 ? outputs[0].data
                                                       : kernel_case_upload(inputs[k].data, bytes_of(&inputs[k]),
                                                                            misalignment(given, &inputs[k]));
    void *scratch = scratch_bytes ? kernel_case_upload(NULL, scratch_bytes, 0) : NULL;
    cudaError_t error = launch(&given->operation, inputs, outputs, scratch, state.stream);
    if (error != cudaSuccess)
        kernel_case_fail("launch of %s: %s", operation_text(given->operation.kind), cudaGetErrorName(error));
    need(cudaStreamSynchronize(state.stream), "wait");
    for (int k = 0; k < given->output_count; k++)
        if (outputs[k].data)
            download_output(&given->outputs[k], (const unsigned char *)outputs[k].data);
    release_device();
    return error == cudaSuccess;
}

/* One line about a view that differs. */
static void tell(const struct kernel_case *given, const struct view *y, const char *what, double is, double expected) {
    const struct view *x = &given->inputs[0];
    char dims[128] = "";
    for (int d = 0, at = 0; d < x->rank; d++)
        at += snprintf(dims + at, sizeof dims - (size_t)at, "%s%zu", d ? "," : "", x->dims[d]);
    kernel_case_fail("%s of [%s], element %d: %s: %.9g, not %.9g", operation_text(given->operation.kind), dims,
                     (int)y->element, what, is, expected);
}

static void compare(const struct kernel_case *given, const struct view *is, const struct view *expected,
                    float tolerance) {
    size_t bytes = view_element_bytes(is->element);
    for (size_t i = 0, count = view_count(is); i < count; i++) {
        if (memcmp((char *)is->data + i * bytes, (char *)expected->data + i * bytes, bytes) == 0)
            continue;
        double a = element_number(is, i), b = element_number(expected, i);
        bool is_close = std::isnan(a) && std::isnan(b);
        if (element_is_float(is->element) && tolerance > 0)
            is_close = is_close || a == b || fabs(a - b) <= (double)tolerance * fmax(1.0, fabs(b));
        if (is_close)
            continue;
        char what[32];
        snprintf(what, sizeof what, "number %zu", i);
        tell(given, is, what, a, b);
        return;
    }
}

void kernel_case_check(const struct kernel_case *given, float tolerance) {
    struct kernel_case oracle = *given;
    for (int k = 0; k < given->output_count; k++)
        if (given->outputs[k].data)
            oracle.outputs[k] = kernel_case_like(&given->outputs[k], given->outputs[k].element);
    void *scratch = kernel_case_host(ref_scratch_bytes(&given->operation, given->inputs, given->outputs) + 64);
    ref_find(given->operation.kind)(&given->operation, given->inputs, oracle.outputs, scratch);
    if (!kernel_case_run(given))
        return;
    for (int k = 0; k < given->output_count; k++)
        if (given->outputs[k].data)
            compare(given, &given->outputs[k], &oracle.outputs[k], tolerance);
}

void kernel_case_check_rows(const struct kernel_case *given, unsigned batched) {
    size_t rows = given->outputs[0].dims[0];
    if (!kernel_case_run(given))
        return;
    for (size_t row = 0; row < rows; row++) {
        struct kernel_case alone = *given;
        for (int k = 0; k < given->input_count; k++)
            if (batched >> k & 1) {
                alone.inputs[k].dims[0] = 1;
                alone.inputs[k].data = (char *)given->inputs[k].data + row * bytes_of(&alone.inputs[k]);
            }
        alone.output_count = 1;
        alone.outputs[0].dims[0] = 1;
        alone.outputs[0].data = kernel_case_host(bytes_of(&alone.outputs[0]));
        if (!kernel_case_run(&alone))
            return;
        if (memcmp(alone.outputs[0].data, (char *)given->outputs[0].data + row * bytes_of(&alone.outputs[0]),
                   bytes_of(&alone.outputs[0])) != 0)
            kernel_case_fail("%s: row %zu has other bits alone than among %zu", operation_text(given->operation.kind),
                             row, rows);
    }
}

static bool run_test(const struct kernel_case_test *test) {
    state.sentence = test->sentence;
    state.failed = false;
    state.random = 1;
    test->run();
    release_device();
    for (void *memory : state.host)
        free(memory);
    state.host.clear();
    if (!state.failed)
        printf("ok: %s\n", test->sentence);
    fflush(stdout);
    return !state.failed;
}

static bool is_wanted(const struct kernel_case_test *test, const char *word) {
    return !word || strstr(test->sentence, word);
}

static size_t run_tests(const struct kernel_case_test *tests, size_t count, const char *word) {
    size_t good = 0;
    state.sentence = "start";
    need(cudaSetDevice(0), "device");
    need(cudaStreamCreateWithFlags(&state.stream, cudaStreamNonBlocking), "stream");
    for (size_t i = 0; i < count; i++)
        if (is_wanted(&tests[i], word))
            good += run_test(&tests[i]);
    need(cudaStreamDestroy(state.stream), "stream");
    release_pinned();
    if (cuda_double_report && cuda_double_report() != 0) {
        printf("FAIL: nothing is left over or misused\n");
        return 0;
    }
    return good;
}

int kernel_case_main(const struct kernel_case_test *tests, size_t count, const char *word) {
    int devices = 0, orders = cuda_double_reset ? 3 : 1;
    size_t good = 0, all = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no device\n");
        return 3;
    }
    for (int order = 0; order < orders; order++) {
        if (cuda_double_reset) {
            struct cuda_double_config config = cuda_double_defaults();
            config.fiber_order = order;
            cuda_double_reset(&config);
            printf("threads of a block in order %d\n", order);
        }
        good += run_tests(tests, count, word);
        for (size_t i = 0; i < count; i++)
            all += is_wanted(&tests[i], word);
    }
    printf("%zu passed, %zu failed\n", good, all - good);
    return good == all && all > 0 ? 0 : 1;
}
