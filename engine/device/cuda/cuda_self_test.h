/* Does a row give the same bits wherever it stands and whoever is beside it? Promised by `bucket` and `strict`, and
 * tried on the device itself. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_SELF_TEST_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_SELF_TEST_H

#include "engine/device/cuda/cuda_model.h"

/* Runs a probe row among others, in several places of every bucket, and notes the result in the model. Errors: DEVICE
 * (`strict`, and bits differ), NO_MEMORY, DEVICE_LOST. thread: loader. */
enum weir_status cuda_self_test_run(struct backend_model *model, struct weir_error *err) WEIR_CHECKED;

#endif
