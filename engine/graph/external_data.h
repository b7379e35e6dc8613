/* Tensor bytes that an ONNX model keeps in other files, which must lie beneath the model's directory. */
#ifndef WEIR_ENGINE_GRAPH_EXTERNAL_DATA_H
#define WEIR_ENGINE_GRAPH_EXTERNAL_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

/* Where the bytes of a tensor are, as the model says it. */
struct external_data {
    const char *tensor;   /* its name, for the error text */
    const char *location; /* may hold NUL bytes, hence its size */
    size_t location_size;
    uint64_t offset_bytes;
    uint64_t length_bytes; /* UINT64_MAX: to the end of the file */
};

/* Opens the file and checks that it holds exactly size bytes where data says, so that memory is taken only for bytes
 * that exist. No symbolic link is followed; nothing outside the directory is opened. Errors, naming tensor and
 * location: INVALID (location refused, size differs), UNSUPPORTED (the kernel lacks openat2), IO. Owner of *file: the
 * caller. */
enum weir_status external_data_open(int directory, const struct external_data *data, size_t size, int *file,
                                    struct weir_error *err) WEIR_CHECKED;

/* Reads those bytes into memory. Errors: IO, also for a file that has become shorter. */
enum weir_status external_data_read(int file, const struct external_data *data, void *memory, size_t size,
                                    struct weir_error *err) WEIR_CHECKED;

#endif
