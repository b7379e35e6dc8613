/* What CUDA's error codes mean for a server: which ones end the process, and what to tell people. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_ERRORS_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_ERRORS_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/device/backend.h"

/* One device's state. All zero is OK. */
struct cuda_errors {
    int64_t patience_ns; /* cuda_wait's; 0: any */
    atomic_int state;    /* enum backend_state; never leaves LOST */
    atomic_bool told;    /* cause belongs to the first who noticed; it is whole once the state is LOST */
    char cause[160];
};

/* Is the context broken after this code? Source: driver_types.h, "the process must be terminated and relaunched", and
 * the codes that tell of a device that is gone. */
bool cuda_errors_is_sticky(cudaError_t code);

/* Fills err with "what: NAME, text". Returns DEVICE_LOST (and notes the loss) for a sticky code, NO_MEMORY, or DEVICE;
 * the runtime's memory of a code that is not sticky is cleared. thread: any. */
enum weir_status cuda_errors_fail(struct cuda_errors *errors, cudaError_t code, const char *what,
                                  struct weir_error *err);

/* The same for cuBLASLt, whose codes hide those of the runtime. */
enum weir_status cuda_errors_fail_lt(struct cuda_errors *errors, cublasStatus_t code, const char *what,
                                     struct weir_error *err);

/* OK, or the outcome of cuda_errors_fail. */
enum weir_status cuda_errors_check(struct cuda_errors *errors, cudaError_t code, const char *what,
                                   struct weir_error *err) WEIR_CHECKED;

/* Says why no device can be opened, for the codes that the first call gives: no driver, a driver that is too old, the
 * toolkit's stub, no device, no kernel for this one. Returns DEVICE, or NO_MEMORY. */
enum weir_status cuda_errors_explain(cudaError_t code, struct weir_error *err);

/* Notes that the device is lost. The first cause is kept. thread: any. */
void cuda_errors_lose(struct cuda_errors *errors, const char *cause);

bool cuda_errors_is_lost(const struct cuda_errors *errors);
/* Notes how a batch ended; changes nothing once the device is lost. */
void cuda_errors_note(struct cuda_errors *errors, bool failed);

#endif
