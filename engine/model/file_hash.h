/* SHA-256 of files, read piece by piece. */
#ifndef WEIR_ENGINE_MODEL_FILE_HASH_H
#define WEIR_ENGINE_MODEL_FILE_HASH_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

enum { FILE_HASH_BYTES = 32 };

/* Called after each piece that was read, to rest so that others get the disk, or to stop. */
struct file_hash_pace {
    void *context;
    bool (*go_on)(void *context, size_t bytes); /* false: CANCELLED */
};

/* What hashing needs, taken once for all files. */
struct file_hash {
    EVP_MD_CTX *context;
    unsigned char *piece;
    const struct file_hash_pace *pace; /* NULL: none */
};

/* Takes what hashing needs. pace is borrowed until the close; NULL: as fast as it goes. Errors: NO_MEMORY, after which
 * there is nothing to close. Owner of hash: the caller; file_hash_close. thread: any, one at a time. */
enum weir_status file_hash_open(struct file_hash *hash, const struct file_hash_pace *pace,
                                struct weir_error *err) WEIR_CHECKED;
void file_hash_close(struct file_hash *hash); /* one that was opened, or is zeros */

/* Writes the SHA-256 of the open file, read from where it stands to its end. *size: how many bytes that were. Errors:
 * IO, CANCELLED (by the pace), INTERNAL. thread: any, one at a time for a hash. */
enum weir_status file_hash_read(const struct file_hash *hash, int file, unsigned char out[FILE_HASH_BYTES],
                                uint64_t *size, struct weir_error *err) WEIR_CHECKED;

#endif
