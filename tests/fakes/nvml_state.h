/* The NVML double (tests/double/nvml_double.h) as a test changes it: the same library that the code under test opens.
 * Its path is the macro NVML_DOUBLE. */
#ifndef WEIR_TESTS_FAKES_NVML_STATE_H
#define WEIR_TESTS_FAKES_NVML_STATE_H

#include <dlfcn.h>
#include <stdlib.h>

#include "tests/double/nvml_double.h"

static inline struct nvml_double *nvml_state(void) {
    struct nvml_double *(*state)(void);
    void *library = dlopen(NVML_DOUBLE, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        abort();
    *(void **)&state = dlsym(library, "nvml_double");
    return state();
}

#endif
