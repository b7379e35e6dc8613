/* Content-Encoding of answers: gzip (RFC 1952) and deflate (RFC 1950), of a body that is there as a whole. */
#ifndef WEIR_SERVER_CODEC_DEFLATE_H
#define WEIR_SERVER_CODEC_DEFLATE_H

#include <stddef.h>

#include "engine/status.h"
#include "server/bytes.h"
#include "server/codec/inflate.h"

/* Appends the compressed data to out: fast rather than small, since it is done on a loop's thread. Beside what out
 * grows by (never more than 64 bytes over size), it takes some 270 KiB while it runs, 40 KiB for 4 KiB of data or less.
 * Errors: TOO_LARGE (it would be larger still; out is then as before), NO_MEMORY. */
enum weir_status deflate_append(enum inflate_coding coding, const char *data, size_t size, struct bytes *out,
                                struct weir_error *err) WEIR_CHECKED;

#endif
