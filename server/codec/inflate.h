/* Content-Encoding of request bodies: gzip (RFC 1952) and deflate (RFC 1950), undone while the body arrives. A gzip
 * body may be several members in a row (RFC 1952, section 2.2), bounded as one; deflate is the zlib form, once. */
#ifndef WEIR_SERVER_CODEC_INFLATE_H
#define WEIR_SERVER_CODEC_INFLATE_H

#include <stddef.h>

#include "engine/status.h"

struct inflater;

enum inflate_coding { INFLATE_GZIP, INFLATE_DEFLATE };

/* Receives inflated bytes, in pieces of at most 16 KiB. A status that is not OK ends the inflating and is passed on. */
typedef enum weir_status (*inflate_sink)(void *context, const char *bytes, size_t size, struct weir_error *err);

/* max_bytes bounds the inflated size. Errors: NO_MEMORY. Owner: the caller, by inflater_close. */
enum weir_status inflater_open(enum inflate_coding coding, size_t max_bytes, struct inflater **out,
                               struct weir_error *err) WEIR_CHECKED;

/* Errors: INVALID (not the announced coding, bytes after its end), TOO_LARGE, NO_MEMORY, and the sink's own. */
enum weir_status inflater_feed(struct inflater *inflater, const char *bytes, size_t size, inflate_sink sink,
                               void *context, struct weir_error *err) WEIR_CHECKED;

/* Ends the body. Errors: INVALID if the stream is cut short. */
enum weir_status inflater_finish(struct inflater *inflater, struct weir_error *err) WEIR_CHECKED;
void inflater_close(struct inflater *inflater);

#endif
