/* The text of rollout.json: what rollout_file reads and writes. */
#ifndef WEIR_ENGINE_MODEL_ROLLOUT_JSON_H
#define WEIR_ENGINE_MODEL_ROLLOUT_JSON_H

#include "engine/model/rollout_file.h"

/* Reads the text, which ends with a 0 after size bytes. Nothing may be missing, of another type or unknown. Errors:
 * INVALID, naming the member; NO_MEMORY. Owner of out: the caller. */
enum weir_status rollout_json_read(const char *text, size_t size, struct rollout_file *out,
                                   struct weir_error *err) WEIR_CHECKED;

/* The text, made with malloc; NULL: no memory. */
char *rollout_json_write(const struct rollout_file *file);

#endif
