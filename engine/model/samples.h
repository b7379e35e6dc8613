/* The known samples of a version: inputs, and the outputs that the offline evaluation gave for them. They lie in the
 * directory samples/ beside model.onnx, as input.NAME.npy and output.NAME.npy for every input and output of the model.
 *
 * The first dimension of a file is its rows, wherever the model has its batch dimension; all files have as many. A
 * tensor without a batch dimension is there as a whole. NAME is the tensor's name with '/', '%' and control characters
 * written as %XX ('input.a%2Fb.npy' is "a/b"); other bytes may be written so too. Beside them only `tolerance`, files
 * that begin with README, and hidden ones may lie there.
 *
 * `tolerance` has a line `NAME ABSOLUTE RELATIVE` for an output (NAME as in file names, spaces as %20), or
 * `* ABSOLUTE RELATIVE` for all others; # begins a comment line. */
#ifndef WEIR_ENGINE_MODEL_SAMPLES_H
#define WEIR_ENGINE_MODEL_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/device/backend.h"
#include "engine/job.h"
#include "engine/status.h"
#include "engine/tensor.h"

/* Bounds of all files of a version together, and of their rows. */
enum { SAMPLES_MOST_BYTES = 256 << 20, SAMPLES_MOST_ROWS = 65536 };

/* An element may be off by absolute + relative * the largest magnitude of the expected row. */
struct samples_tolerance {
    double absolute, relative;
};

struct samples {
    struct tensor_dims dims;   /* rows: how many samples there are; and their free sizes */
    struct job_tensor *inputs; /* in the signature's order, as a job of these dims has them */
    struct job_tensor *outputs;
    struct samples_tolerance *tolerances; /* one an output; absolute < 0: not given */
    int input_count, output_count;
    char *
        *output_files; /* of samples_load_inputs: the name of each output's file, NULL where there is none; else NULL */
};

/* Reads the samples of the version in a directory. No directory samples/ is OK with *out NULL. Errors, naming the file:
 * INVALID (missing, of no input or output, not an array, another type or shape than expected, a faulty tolerance),
 * UNSUPPORTED, TOO_LARGE, IO, NO_MEMORY. thread: loader. Owner of *out: the caller, samples_destroy. */
enum weir_status samples_load(const char *version_directory, const struct signature *signature, struct samples **out,
                              struct weir_error *err) WEIR_CHECKED;

/* The same of a directory that holds the files themselves. */
enum weir_status samples_load_from(const char *directory, const struct signature *signature, struct samples **out,
                                   struct weir_error *err) WEIR_CHECKED;

/* The inputs alone: what outputs' files hold is not looked at, and there may be none. Likewise, and NOT_FOUND where the
 * directory is not there. */
enum weir_status samples_load_inputs(const char *directory, const struct signature *signature, struct samples **out,
                                     struct weir_error *err) WEIR_CHECKED;

/* The tensor's name as it stands in a file's name, cut if there is no room for it. Returns text. */
const char *samples_file_name(const char *name, char *text, size_t size);

/* Writes the file of an output, under the name that it has or a new one. tensor: rows of samples->dims, or one where
 * the output has no batch dimension. A kill at any moment leaves the old file or the new one. Errors, naming the file:
 * IO, INVALID (the output's name is too long for a file's). */
enum weir_status samples_write_output(const char *directory, const struct signature *signature,
                                      const struct samples *samples, int output, struct weir_error *err) WEIR_CHECKED;

/* NULL is none. */
void samples_destroy(struct samples *samples);

/* What an output may be off by: as the samples say, otherwise by its type and the precision of the device. Integers and
 * bool are exact. */
struct samples_tolerance samples_allow(const struct samples *samples, int output, enum tensor_dtype dtype,
                                       enum backend_precision precision);

#endif
