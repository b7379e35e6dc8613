/* What the module weir_cuda.so and the server agree on: three functions, found by name. The module has its own copy of
 * what it uses of engine/ and kernels/; plans, errors and options go across, so both must lay them out alike. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_WEIR_CUDA_H
#define WEIR_ENGINE_DEVICE_CUDA_WEIR_CUDA_H

#include "engine/device/backend.h"
#include "engine/graph/plan_parts.h"

#define WEIR_CUDA_EXPORT __attribute__((visibility("default")))

/* Counted up when the meaning of something changes that its size does not show. */
enum { WEIR_CUDA_ABI = 2 };

/* One number for the layout of all that goes across. FNV-1a over the sizes. */
static inline uint64_t weir_cuda_layout(void) {
    const size_t sizes[] = {WEIR_CUDA_ABI,
                            sizeof(struct backend_options),
                            sizeof(struct backend),
                            sizeof(struct backend_ops),
                            sizeof(struct backend_report),
                            sizeof(struct plan),
                            sizeof(struct graph),
                            sizeof(struct graph_node),
                            sizeof(struct graph_value),
                            sizeof(struct graph_attribute),
                            sizeof(struct graph_constant),
                            sizeof(struct program),
                            sizeof(struct operation),
                            sizeof(struct tensor_spec),
                            sizeof(struct weir_error),
                            BACKEND_PRECISIONS,
                            WEIR_STATUS_COUNT,
                            OPERATION_KINDS,
                            UNARY_KINDS};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        hash = (hash ^ sizes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* weir_cuda_layout as the module was built with. */
WEIR_CUDA_EXPORT uint64_t weir_cuda_abi(void);

/* Opens the device of that number. Errors: NOT_FOUND (there are fewer devices), UNSUPPORTED (the options ask for what
 * this device lacks), DEVICE (the text says why: no driver, driver too old, stub library, no device, no kernel image).
 * Owner of *out: the caller. thread: any. */
WEIR_CUDA_EXPORT enum weir_status weir_cuda_open(const struct backend_options *options, int device,
                                                 struct backend **out, struct weir_error *err) WEIR_CHECKED;

/* Is called with each step that no GPU can run, in the words of the refusal: node, operator, opset, shape. */
typedef void (*weir_cuda_lack)(void *context, const char *text);

/* What loading the plan would be refused for, all of it, by the chooser that loads: for the plan's example sizes, in
 * float32. Needs no GPU and no driver. Errors: those of plan_make_program; NO_MEMORY. thread: any. */
WEIR_CUDA_EXPORT enum weir_status weir_cuda_lacks(struct plan *plan, weir_cuda_lack tell, void *context,
                                                  struct weir_error *err) WEIR_CHECKED;

#endif
