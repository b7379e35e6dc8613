/* A model path described for people: what `weir check` and `weir inspect` print. Nothing is kept open or loaded. */
#ifndef WEIR_ENGINE_INSPECT_H
#define WEIR_ENGINE_INSPECT_H

#include <stddef.h>
#include <stdio.h>

#include "engine/status.h"

/* Writes the model's name, its versions (newest first; whether they are sealed, and incomplete by their manifest's
 * sizes) and what was passed over, a line each, to out. *count is the
 * number of versions. model_name may be NULL. Errors: those of repository_scan. */
enum weir_status inspect_versions(const char *model_path, const char *model_name, FILE *out, size_t *count,
                                  struct weir_error *err) WEIR_CHECKED;

/* Loads and plans the newest version under model_path and writes its description to out, and what each kind of device
 * lacks for it. cuda_module: the module's file, NULL or "": it is searched for. Errors: those of repository_scan and
 * plan_load; NOT_FOUND when there is no version. */
enum weir_status inspect_model(const char *model_path, const char *cuda_module, FILE *out,
                               struct weir_error *err) WEIR_CHECKED;

/* Writes the names of the operators that models may have, sorted, a line each, to out. Errors: NO_MEMORY. */
enum weir_status inspect_operators(FILE *out, struct weir_error *err) WEIR_CHECKED;

#endif
