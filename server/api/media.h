/* Which body format a request's header fields mean. */
#ifndef WEIR_SERVER_API_MEDIA_H
#define WEIR_SERVER_API_MEDIA_H

#include "engine/status.h"
#include "server/bytes.h"
#include "server/codec/codec.h"
#include "server/codec/inflate.h"
#include "server/http/exchange.h"

enum media_coding { MEDIA_IDENTITY, MEDIA_GZIP, MEDIA_DEFLATE };

/* What Content-Type says. None and application/x-www-form-urlencoded (what `curl -d` sends) mean JSON. Errors:
 * UNSUPPORTED, naming the type or charset. */
enum weir_status media_request_format(const struct request *request, enum codec_format *out,
                                      struct weir_error *err) WEIR_CHECKED;

/* What Content-Encoding says. Errors: UNSUPPORTED. */
enum weir_status media_request_coding(const struct request *request, enum media_coding *out,
                                      struct weir_error *err) WEIR_CHECKED;

/* The coding that Accept-Encoding likes best of those it names, the first of equals; identity if it names none. `*`
 * names nothing. */
enum media_coding media_answer_coding(const struct request *request);

/* The answer's format: the one that Accept prefers, `otherwise` if it prefers none. `otherwise` is a format that
 * Content-Type can name. */
enum codec_format media_answer_format(const struct request *request, enum codec_format otherwise);

/* Does Accept prefer OpenMetrics to Prometheus' own text form? Without Accept, or if it likes both as well, no. */
bool media_wants_openmetrics(const struct request *request);

/* Does Accept name this very type (text/html), with a quality above 0? Ranges with `*` name nothing. */
bool media_is_named(const struct request *request, const char *type);

const char *media_content_type(enum codec_format format);

/* Puts into out, which is empty, what Accept-Encoding asked for. Returns the header line that says so, "" if the body
 * stays as it is: one that is large, or does not become smaller. */
const char *media_compress(enum media_coding coding, const struct bytes *body, struct bytes *out);

#endif
