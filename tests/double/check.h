/* For the double's own tests, plain programs (Criterion does not start under ThreadSanitizer): a list of named tests,
 * each with a fresh double; and planted bugs, each run in a process of its own that has to be caught. */
#ifndef WEIR_TESTS_DOUBLE_CHECK_H
#define WEIR_TESTS_DOUBLE_CHECK_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/double/cuda_double.h"

/* What a planted bug comes to in this build. FOUND_QUIETLY: the child sees it itself (a count, a wrong value) and exits
 * with CHECK_CAUGHT. */
enum { CHECK_CAUGHT = 42 };
enum { IN_PLAIN = 1, IN_ASAN = 2, IN_TSAN = 4, IN_ALL = 7 };

struct check_test {
    const char *sentence;
    void (*run)(void);
};

/* A bug: found in the builds of `where` (elsewhere it is not run), with `text` on stderr, or NULL: the child exits with
 * CHECK_CAUGHT. */
struct check_bug {
    const char *sentence;
    void (*run)(void);
    int where;
    const char *text;
};

/* main of a test program. Both lists end with a NULL sentence. */
int check_main(int argc, char **argv, const struct check_test *tests, const struct check_bug *bugs);

/* Fails the test, naming the place. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            check_failed(__FILE__, __LINE__, #condition);                                                              \
    } while (0)
/* The call returns exactly this error. */
#define CHECK_ERROR(call, error)                                                                                       \
    do {                                                                                                               \
        int check_got = (int)(call);                                                                                   \
        if (check_got != (int)(error))                                                                                 \
            check_failed_error(__FILE__, __LINE__, #call, check_got);                                                  \
    } while (0)
#define CHECK_OK(call) CHECK_ERROR(call, 0)

void check_failed(const char *file, int line, const char *condition);
void check_failed_error(const char *file, int line, const char *call, int error);

/* Small helpers that fail the test if CUDA does. */
cudaStream_t check_stream(void);
float *check_device_floats(size_t count);
float *check_pinned_floats(size_t count);
/* Frees what tests made by these, then expects nothing alive and no misuse. */
void check_clean(void);

#endif
