/* Reading files whole. */
#ifndef WEIR_ENGINE_FILE_READ_H
#define WEIR_ENGINE_FILE_READ_H

#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

/* Reads size bytes of the file from offset on. Errors: IO, also for a file that has become shorter meanwhile; the text
 * is the reason alone. thread: any. */
enum weir_status file_read_exactly(int file, void *to, size_t size, uint64_t offset,
                                   struct weir_error *err) WEIR_CHECKED;

#endif
