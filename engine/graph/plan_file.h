/* The bytes of a model file. */
#ifndef WEIR_ENGINE_GRAPH_PLAN_FILE_H
#define WEIR_ENGINE_GRAPH_PLAN_FILE_H

#include <stddef.h>

#include "engine/status.h"

/* Reads the whole file into a private mapping of its own (not a mapping of the file: one that is cut short under us
 * must not kill the process). Errors: IO, INVALID (no regular file, or empty), TOO_LARGE, NO_MEMORY. thread: loader.
 * Owner of *bytes: the caller, by plan_file_release. */
enum weir_status plan_file_read(const char *path, unsigned char **bytes, size_t *size,
                                struct weir_error *err) WEIR_CHECKED;
void plan_file_release(unsigned char *bytes, size_t size);

/* Opens the directory that the file lies in, -1 if that fails. */
int plan_file_open_directory(const char *path);

#endif
