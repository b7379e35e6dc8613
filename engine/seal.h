/* The seal of a version: a manifest that says which files it consists of, so that half a copy is not taken for whole
 * (engine/model/manifest.h). */
#ifndef WEIR_ENGINE_SEAL_H
#define WEIR_ENGINE_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

/* Writes the manifest of a version directory, in place of an older one. *bytes: what its files hold. Errors, naming the
 * directory: INVALID (no model.onnx in it, or what manifest_seal refuses), NOT_FOUND, TOO_LARGE, IO, NO_MEMORY. */
enum weir_status seal_write(const char *directory, uint64_t *bytes, struct weir_error *err) WEIR_CHECKED;

/* Compares sizes and hashes of all files with the manifest. Errors, naming the directory: NOT_FOUND (no manifest),
 * those of manifest_verify. */
enum weir_status seal_check(const char *directory, uint64_t *bytes, struct weir_error *err) WEIR_CHECKED;

/* What the manifest's sizes say: " (sealed)", " (incomplete: ...)" or "" without one; the hashes are not looked at.
 * Returns text. */
const char *seal_remark(const char *directory, char *text, size_t size);

#endif
