/* One GPU as a backend, and the module's two functions (weir_cuda.h). */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_BACKEND_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_BACKEND_H

#include "engine/device/cuda/cuda_model.h"
#include "engine/device/cuda/weir_cuda.h"

/* The state of an open device, for tests and health. thread: any. */
enum cuda_state cuda_backend_state(const struct backend *backend);

#endif
