#include "server/codec/deflate.h"

#include <limits.h>
#include <zlib.h>

enum {
    SMALL_BYTES = 4096,
    SMALL_WINDOW_BITS = 12, /* 2^12 bytes: all of a small body */
    SMALL_MEMORY = 5,
    WINDOW_BITS = 15,
    MEMORY = 8,      /* zlib's default */
    GZIP_FRAME = 16, /* added to the window's bits it asks zlib for gzip's frame */
    FRAME_BYTES = 64 /* more than either frame and the smallest block take */
};

/* Deflates all of data to `to`. Returns its size, 0 if it does not fit. */
static size_t deflate_whole(z_stream *stream, const char *data, size_t size, char *to, size_t room) {
    stream->next_in = (z_const Bytef *)data;
    stream->avail_in = (uInt)size;
    stream->next_out = (Bytef *)to;
    stream->avail_out = (uInt)room;
    return deflate(stream, Z_FINISH) == Z_STREAM_END ? room - stream->avail_out : 0;
}

enum weir_status deflate_append(enum inflate_coding coding, const char *data, size_t size, struct bytes *out,
                                struct weir_error *err) {
    bool is_small = size <= SMALL_BYTES;
    z_stream stream = {.zalloc = Z_NULL};
    if (size > UINT_MAX - FRAME_BYTES)
        return weir_fail(err, WEIR_TOO_LARGE, "%zu bytes are more than zlib takes at once", size);
    size_t room = size + FRAME_BYTES;
    char *to = bytes_reserve(out, room);
    if (!to || deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED,
                            (is_small ? SMALL_WINDOW_BITS : WINDOW_BITS) + (coding == INFLATE_GZIP ? GZIP_FRAME : 0),
                            is_small ? SMALL_MEMORY : MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory to compress the answer");
    size_t packed = deflate_whole(&stream, data, size, to, room);
    deflateEnd(&stream);
    if (packed == 0)
        return weir_fail(err, WEIR_TOO_LARGE, "the data does not become smaller");
    out->size += packed;
    return WEIR_OK;
}
