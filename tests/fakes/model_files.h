/* Model files on disk for tests: the model y = x W + b of two inputs and two outputs, b telling versions apart. */
#ifndef WEIR_TESTS_FAKES_MODEL_FILES_H
#define WEIR_TESTS_FAKES_MODEL_FILES_H

/* Makes the directory, temp_dir.h's, and returns its path. */
const char *model_files_make(void);
void model_files_remove(void);

/* Writes DIRECTORY/NAME/model.onnx: y0 = x0 + x1 + version, y1 = x0 - x1. Returns the file's path (overwritten by the
 * next call). batch is the batch dimension as written: "N", "1". */
const char *model_files_version(const char *name, int version, const char *batch);

/* Writes DIRECTORY/NAME/model.onnx whose rows do not stay apart: y [N,2] = x [N,2] - the mean of x over the batch. */
const char *model_files_mixing(const char *name);

/* Writes DIRECTORY/NAME/model.onnx of a free dimension: y [N,1] = the sum of x [N,S]. */
const char *model_files_free(const char *name);

/* Writes DIRECTORY/NAME/model.onnx whose output is not finite: y [N,2] = log(x - 100). */
const char *model_files_non_finite(const char *name);

/* Writes one known sample beside the version: x = (1, 2), y = (3 + version, -1). */
void model_files_samples(const char *name, int version);

/* Removes DIRECTORY/NAME. */
void model_files_delete(const char *name);

/* Writes DIRECTORY/NAME/model.onnx with these bytes. */
const char *model_files_broken(const char *name, const char *bytes);

#endif
