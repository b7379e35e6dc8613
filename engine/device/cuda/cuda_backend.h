/* One GPU as a backend, and the module's two functions (weir_cuda.h). */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_BACKEND_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_BACKEND_H

#include "engine/device/cuda/cuda_model.h"
#include "engine/device/cuda/weir_cuda.h"

#endif
