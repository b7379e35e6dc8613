/* What the programs of this folder print: one JSON object a line, {"row": name, "value": number, "unit": text}, and
 * with times also "p99" and "min". loadtest/gpu_check.py judges them. thread: one. */
#ifndef WEIR_TESTS_DEVICE_REPORT_H
#define WEIR_TESTS_DEVICE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes, besides 0 and 1. */
enum { REPORT_USAGE = 2, REPORT_NO_DEVICE = 3 };

enum { REPORT_MOST_TIMES = 20000 };

/* Of the clock that never goes back; of this thread's time on a CPU. */
double report_now_us(void);
double report_cpu_us(void);

/* The name is made as by printf. */
void report_row(double value, const char *unit, const char *name, ...) __attribute__((format(printf, 3, 4)));
/* A row whose value is a sentence. */
void report_text(const char *name, const char *text);

/* Median, 99th percentile and least of times[count], which are sorted. */
void report_times(double *times_us, size_t count, const char *name, ...) __attribute__((format(printf, 3, 4)));

/* Ends the program with 1, saying why. */
void report_fail(const char *what, const char *why) __attribute__((noreturn));

/* Ends it with REPORT_NO_DEVICE, on stderr, if there is no usable GPU. */
void report_need_device(void);

/* Stops the program unless the CUDA call worked. */
#define REPORT_CUDA(call)                                                                                              \
    do {                                                                                                               \
        cudaError_t report_code = (call);                                                                              \
        if (report_code != cudaSuccess)                                                                                \
            report_fail(#call, cudaGetErrorName(report_code));                                                         \
    } while (0)

#endif
