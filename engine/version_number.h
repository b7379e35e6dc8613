/* How people and directories write the number of a version. */
#ifndef WEIR_ENGINE_VERSION_NUMBER_H
#define WEIR_ENGINE_VERSION_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads "7", "v7" and "007" as 7. False, and *out is unchanged, for all else, also for what does not fit. */
bool version_number_read(const char *text, uint64_t *out);

#endif
