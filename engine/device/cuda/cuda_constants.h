/* Constants on the device: which ones a program needs and in which form, and their upload. Two lists: the model's,
 * shared by the programs of all sizes, and each program's own. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_CONSTANTS_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_CONSTANTS_H

#include "engine/device/cuda/cuda_errors.h"
#include "engine/graph/graph.h"

enum cuda_form { CUDA_FORM_PLAIN, CUDA_FORM_F16, CUDA_FORM_BF16 };

/* One constant in one form. */
struct cuda_constant {
    const struct graph_constant *constant;
    enum cuda_form form;
    size_t bytes, offset; /* in the list's memory */
    bool uploaded;
};

/* All zero is empty. */
struct cuda_constants {
    struct cuda_constant *items;
    size_t count, capacity;
    size_t bytes;                /* of all, each at a multiple of CUDA_ALIGNMENT */
    const unsigned char *memory; /* on the device; NULL: not taken yet */
};

/* Pinned memory through which everything goes up. */
struct cuda_bounce {
    unsigned char *memory;
    size_t bytes; /* a multiple of 16 */
    cudaStream_t stream;
    struct cuda_errors *errors;
};

/* The constant's item, NULL: it is not in the list. */
const struct cuda_constant *cuda_constants_find(const struct cuda_constants *constants,
                                                const struct graph_constant *constant, enum cuda_form form);

/* Adds the constant unless it is there. Returns false when out of memory. */
bool cuda_constants_want(struct cuda_constants *constants, const struct graph_constant *constant, enum cuda_form form);

/* Sends up all that is not there yet to memory, which has constants->bytes, and waits. float32 numbers are converted on
 * the way where the form says so. Errors: UNSUPPORTED (the plan has let go of the elements), DEVICE, DEVICE_LOST. */
enum weir_status cuda_constants_upload(struct cuda_constants *constants, unsigned char *memory,
                                       const struct cuda_bounce *bounce, struct weir_error *err) WEIR_CHECKED;

void cuda_constants_release(struct cuda_constants *constants);

#endif
