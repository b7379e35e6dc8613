/* Waits that end: of the loader, and where a program is made for new sizes. The wait for a batch itself is looked at by
 * the engine (engine_status) and may block. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_WAIT_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_WAIT_H

#include "engine/device/cuda/cuda_errors.h"

/* Waits until all that was sent to the stream is done, in short sleeps. cudaErrorNotReady: it was not after patience_ns
 * (0: any time). thread: any; the device is the thread's. */
cudaError_t cuda_wait_code(cudaStream_t stream, int64_t patience_ns);

/* The same for errors->patience_ns. what: for the text. Errors: as cuda_errors_fail; DEVICE_LOST: the time is over. */
enum weir_status cuda_wait(struct cuda_errors *errors, cudaStream_t stream, const char *what,
                           struct weir_error *err) WEIR_CHECKED;

#endif
