/* Loading a plan on a GPU: everything that takes memory or time is done here, before the model serves. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_LOAD_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_LOAD_H

#include "engine/device/cuda/cuda_model.h"

/* Plans the buckets' programs and the memory, takes it in one piece, sends the weights up, records the graphs, and
 * tests that rows do not depend on their neighbours where that is promised. The plan keeps its weights: other devices
 * may load it too. Errors: as backend_ops' load, NO_MEMORY with the memory plan, DEVICE_LOST. thread: loader. Owner of
 * *out: the caller; cuda_load_release. */
enum weir_status cuda_load(struct cuda_backend *backend, struct plan *plan, uint32_t max_rows,
                           struct backend_model **out, struct weir_error *err) WEIR_CHECKED;

/* weir_cuda_lacks. */
enum weir_status cuda_load_lacks(struct plan *plan, void (*tell)(void *context, const char *text), void *context,
                                 struct weir_error *err) WEIR_CHECKED;

/* NULL does nothing. A device that is lost keeps what it has until the process ends. */
void cuda_load_release(struct backend_model *model);

#endif
