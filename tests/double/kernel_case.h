/* Runs CUDA kernels on views in host memory and compares them with the oracle. The programs that use it link with the
 * double, or with the CUDA runtime on a machine with a GPU. Outputs lie between red zones that must stay as they were,
 * inputs end where their memory does. thread: one. */
#ifndef WEIR_TESTS_DOUBLE_KERNEL_CASE_H
#define WEIR_TESTS_DOUBLE_KERNEL_CASE_H

#include <cuda_runtime_api.h>

#include <initializer_list>

extern "C" {
#include "kernels/operation.h"
#include "kernels/view.h"
}

/* A test: its sentence, and what it does. */
struct kernel_case_test {
    const char *sentence;
    void (*run)(void);
};

/* Runs the tests whose sentence holds the word (NULL: all), prints each sentence with its result, and what the double
 * counted. Returns the exit code: 0, 1 a test failed, 3 there is no device. With the double, each test runs once for
 * every order of a block's threads. */
int kernel_case_main(const struct kernel_case_test *tests, size_t count, const char *word);

/* The test goes on, but has failed. */
void kernel_case_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define KERNEL_CASE_ASSERT(condition)                                                                                  \
    ((condition) ? (void)0 : kernel_case_fail("%s:%d: %s", __FILE__, __LINE__, #condition))

/* The stream of all launches. */
cudaStream_t kernel_case_stream(void);

/* from <= result <= to */
size_t kernel_case_random(size_t from, size_t to);
float kernel_case_random_float(float from, float to);

/* A view with its own memory, until the test ends. Filled with random numbers: floats in -3..3, integers small ones of
 * both signs, bools. */
struct view kernel_case_view(enum element element, std::initializer_list<size_t> dims);
struct view kernel_case_like(const struct view *shape, enum element element);

/* Memory of the test, until it ends. */
void *kernel_case_host(size_t bytes);
/* A copy on the device; NULL gives zeros. misaligned: begins this many bytes behind a multiple of 256. */
void *kernel_case_upload(const void *data, size_t bytes, size_t misaligned);
void kernel_case_download(void *data, const void *device, size_t bytes);

enum { KERNEL_CASE_MOST_VIEWS = 40 };

struct kernel_case {
    struct operation operation;
    int input_count, output_count;
    struct view inputs[KERNEL_CASE_MOST_VIEWS], outputs[KERNEL_CASE_MOST_VIEWS]; /* in host memory */
    bool misaligned; /* each view begins one of its elements behind a multiple of 256 bytes */
    bool in_place;   /* output 0 is input 0's memory */
};

struct kernel_case kernel_case_make(enum operation_kind kind, std::initializer_list<struct view> inputs,
                                    std::initializer_list<struct view> outputs);

/* Runs the kernel that cuda_find gives; the results are in the outputs' memory. false: there is none, or it failed. */
bool kernel_case_run(const struct kernel_case *given);

/* Runs it and the oracle. tolerance: of each number, times its size where that is above 1; 0: the same bits, but for
 * NaN. */
void kernel_case_check(const struct kernel_case *given, float tolerance);

/* Each row (index of dimension 0 of the output and of the inputs whose bit is set in batched) alone has the bits that
 * it has among the others. */
void kernel_case_check_rows(const struct kernel_case *given, unsigned batched);

#endif
