/* The controls of the double, for programs that run on a real GPU: there is nothing to reset and nothing to count. */
#include "tests/double/cuda_double.h"

struct cuda_double_config cuda_double_defaults(void) {
    return (struct cuda_double_config){0};
}

void cuda_double_reset(const struct cuda_double_config *config) {
    (void)config;
}

struct cuda_double_counts cuda_double_read(void) {
    return (struct cuda_double_counts){0};
}

unsigned long cuda_double_report(void) {
    return 0;
}
