#include "engine/model/file_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

enum weir_status file_hash_open(struct file_hash *hash, const struct file_hash_pace *pace, struct weir_error *err) {
    *hash = (struct file_hash){.context = EVP_MD_CTX_new(), .piece = malloc(PIECE_BYTES), .pace = pace};
    if (hash->context && hash->piece)
        return WEIR_OK;
    file_hash_close(hash);
    return weir_fail(err, WEIR_NO_MEMORY, "no memory to hash files");
}

void file_hash_close(struct file_hash *hash) {
    EVP_MD_CTX_free(hash->context);
    free(hash->piece);
    *hash = (struct file_hash){.pace = NULL};
}

enum weir_status file_hash_read(const struct file_hash *hash, int file, unsigned char out[FILE_HASH_BYTES],
                                uint64_t *size, struct weir_error *err) {
    bool good = EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL) == 1;
    *size = 0;
    posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
    while (good) {
        ssize_t n = read(file, hash->piece, PIECE_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return weir_fail(err, WEIR_IO, "%s", strerror(errno));
        if (n == 0)
            break;
        good = EVP_DigestUpdate(hash->context, hash->piece, (size_t)n) == 1;
        *size += (uint64_t)n;
        if (hash->pace && !hash->pace->go_on(hash->pace->context, (size_t)n))
            return weir_fail(err, WEIR_CANCELLED, "cancelled");
    }
    good = good && EVP_DigestFinal_ex(hash->context, out, NULL) == 1;
    return good ? WEIR_OK : weir_fail(err, WEIR_INTERNAL, "libcrypto cannot compute SHA-256");
}
