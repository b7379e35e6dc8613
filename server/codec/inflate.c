#include "server/codec/inflate.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE_BYTES = 16 * 1024 };

struct inflater {
    z_stream stream;
    enum inflate_coding coding;
    size_t max_bytes, total_bytes;
    bool ended; /* the stream, or the last member, is whole */
    char piece[PIECE_BYTES];
};

static const char *coding_text(const struct inflater *inflater) {
    return inflater->coding == INFLATE_GZIP ? "gzip" : "deflate (in zlib form)";
}

enum weir_status inflater_open(enum inflate_coding coding, size_t max_bytes, struct inflater **out,
                               struct weir_error *err) {
    struct inflater *inflater = malloc(sizeof *inflater);
    if (!inflater)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory to inflate the body");
    memset(&inflater->stream, 0, sizeof inflater->stream);
    inflater->coding = coding;
    inflater->max_bytes = max_bytes;
    inflater->total_bytes = 0;
    inflater->ended = false;
    /* The window any sender may use is 2^15; 16 more asks zlib for the gzip frame in place of its own. */
    if (inflateInit2(&inflater->stream, coding == INFLATE_GZIP ? 15 + 16 : 15) != Z_OK) {
        free(inflater);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory to inflate the body");
    }
    *out = inflater;
    return WEIR_OK;
}

/* One call of zlib, and what it gave to the sink. */
static enum weir_status inflate_piece(struct inflater *inflater, inflate_sink sink, void *context,
                                      struct weir_error *err) {
    z_stream *stream = &inflater->stream;
    stream->next_out = (Bytef *)inflater->piece;
    stream->avail_out = PIECE_BYTES;
    int result = inflate(stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory to inflate the body");
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return weir_fail(err, WEIR_INVALID, "the body is not %s: %s", coding_text(inflater),
                         stream->msg ? stream->msg : "it needs a dictionary");
    size_t size = PIECE_BYTES - stream->avail_out;
    if (size > inflater->max_bytes - inflater->total_bytes)
        return weir_fail(err, WEIR_TOO_LARGE, "the inflated body is larger than %zu bytes", inflater->max_bytes);
    inflater->total_bytes += size;
    inflater->ended = result == Z_STREAM_END;
    return size > 0 ? sink(context, inflater->piece, size, err) : WEIR_OK;
}

enum weir_status inflater_feed(struct inflater *inflater, const char *bytes, size_t size, inflate_sink sink,
                               void *context, struct weir_error *err) {
    z_stream *stream = &inflater->stream;
    while (size > 0) {
        size_t now = size < UINT_MAX ? size : UINT_MAX;
        stream->next_in = (z_const Bytef *)bytes;
        stream->avail_in = (uInt)now;
        bytes += now;
        size -= now;
        bool full = true; /* zlib may hold more output than it had room for */
        while (stream->avail_in > 0 || (full && !inflater->ended)) {
            if (inflater->ended) {
                if (inflater->coding != INFLATE_GZIP)
                    return weir_fail(err, WEIR_INVALID, "bytes after the end of the %s body", coding_text(inflater));
                if (inflateReset(stream) != Z_OK)
                    return weir_fail(err, WEIR_INTERNAL, "zlib refused to start over");
                inflater->ended = false;
            }
            enum weir_status status = inflate_piece(inflater, sink, context, err);
            if (status != WEIR_OK)
                return status;
            full = stream->avail_out == 0;
        }
    }
    return WEIR_OK;
}

enum weir_status inflater_finish(struct inflater *inflater, struct weir_error *err) {
    if (!inflater->ended)
        return weir_fail(err, WEIR_INVALID, "the %s body is cut short", coding_text(inflater));
    return WEIR_OK;
}

void inflater_close(struct inflater *inflater) {
    if (inflater) {
        inflateEnd(&inflater->stream);
        free(inflater);
    }
}
