#include "server/api/media.h"

#include <string.h>
#include <strings.h>

#include "server/codec/deflate.h"

/* A millisecond's work; a larger answer goes plain: it would hold up the loop. */
enum { COMPRESSED_BYTES = 128 * 1024 };

enum { FORMATS = CODEC_NPY + 1 }; /* that have a media type: the first ones */

/* A piece of a header value. */
struct piece {
    const char *at;
    size_t size;
};

static bool piece_is(struct piece piece, const char *text) {
    return strlen(text) == piece.size && strncasecmp(piece.at, text, piece.size) == 0;
}

static struct piece trimmed(const char *at, size_t size) {
    while (size > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        size--;
    }
    while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t'))
        size--;
    return (struct piece){at, size};
}

/* Cuts the next part off *rest at `separator`, which does not count inside a quoted string. False: nothing is left. */
static bool next_part(struct piece *rest, char separator, struct piece *out) {
    if (!rest->at)
        return false;
    bool quoted = false;
    size_t i = 0;
    for (; i < rest->size; i++) {
        char c = rest->at[i];
        if (c == '"')
            quoted = !quoted;
        else if (c == '\\' && quoted)
            i++;
        else if (c == separator && !quoted)
            break;
    }
    if (i > rest->size)
        i = rest->size;
    *out = trimmed(rest->at, i);
    if (i < rest->size) {
        rest->at += i + 1;
        rest->size -= i + 1;
    } else {
        rest->at = NULL;
    }
    return true;
}

/* The value of a parameter `name=value`, without quotes. */
static bool parameter_is(struct piece part, const char *name, struct piece *value) {
    const char *equals = memchr(part.at, '=', part.size);
    if (!equals)
        return false;
    struct piece key = trimmed(part.at, (size_t)(equals - part.at));
    *value = trimmed(equals + 1, part.size - (size_t)(equals + 1 - part.at));
    if (value->size >= 2 && value->at[0] == '"' && value->at[value->size - 1] == '"') {
        value->at++;
        value->size -= 2;
    }
    return piece_is(key, name);
}

static bool format_of(struct piece type, enum codec_format *out) {
    if (piece_is(type, "application/json") || piece_is(type, "application/x-www-form-urlencoded")) {
        *out = CODEC_JSON;
        return true;
    }
    if (piece_is(type, "application/octet-stream")) {
        *out = CODEC_RAW;
        return true;
    }
    if (piece_is(type, "application/x-npy")) {
        *out = CODEC_NPY;
        return true;
    }
    return false;
}

enum weir_status media_request_format(const struct request *request, enum codec_format *out, struct weir_error *err) {
    const struct request_field *field = request_find(request, "content-type");
    if (!field || field->value_size == 0) {
        *out = CODEC_JSON;
        return WEIR_OK;
    }
    struct piece rest = {field->value, field->value_size}, type, part, value;
    next_part(&rest, ';', &type);
    enum codec_format format;
    if (!format_of(type, &format))
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "Content-Type %.*s is not served: send application/json, application/octet-stream or "
                         "application/x-npy",
                         (int)(type.size < 80 ? type.size : 80), type.at);
    while (next_part(&rest, ';', &part))
        if (parameter_is(part, "charset", &value) && !piece_is(value, "utf-8") && !piece_is(value, "utf8") &&
            !piece_is(value, "us-ascii"))
            return weir_fail(err, WEIR_UNSUPPORTED, "charset %.*s is not served: send UTF-8",
                             (int)(value.size < 40 ? value.size : 40), value.at);
    *out = format;
    return WEIR_OK;
}

static bool coding_of(struct piece name, enum media_coding *out) {
    bool is_gzip = piece_is(name, "gzip") || piece_is(name, "x-gzip");
    *out = is_gzip ? MEDIA_GZIP : piece_is(name, "deflate") ? MEDIA_DEFLATE : MEDIA_IDENTITY;
    return *out != MEDIA_IDENTITY || piece_is(name, "identity");
}

static bool is_named(const struct request_field *field, const char *name) {
    return piece_is((struct piece){field->name, field->name_size}, name);
}

enum weir_status media_request_coding(const struct request *request, enum media_coding *out, struct weir_error *err) {
    *out = MEDIA_IDENTITY;
    for (int i = 0, seen = 0; i < request->field_count; i++) {
        const struct request_field *field = &request->fields[i];
        if (!is_named(field, "content-encoding"))
            continue;
        if (seen++ > 0)
            return weir_fail(err, WEIR_UNSUPPORTED, "more than one Content-Encoding is not served");
        if (!coding_of((struct piece){field->value, field->value_size}, out) && field->value_size > 0)
            return weir_fail(err, WEIR_UNSUPPORTED, "Content-Encoding %.*s is not served: send gzip or deflate",
                             (int)(field->value_size < 40 ? field->value_size : 40), field->value);
    }
    return WEIR_OK;
}

/* A quality value in thousandths; 1000 if there is none or it is malformed. Source: RFC 9110, 12.4.2. */
static int quality_of(struct piece parameters) {
    struct piece part, value;
    while (next_part(&parameters, ';', &part)) {
        if (!parameter_is(part, "q", &value) || value.size == 0)
            continue;
        if (value.at[0] != '0')
            return 1000;
        int quality = 0, scale = 100;
        for (size_t i = 2; i < value.size && scale > 0; i++, scale /= 10) {
            if (value.at[i] < '0' || value.at[i] > '9')
                return 1000;
            quality += (value.at[i] - '0') * scale;
        }
        return quality;
    }
    return 1000;
}

enum media_coding media_answer_coding(const struct request *request) {
    enum media_coding best = MEDIA_IDENTITY, named;
    int best_quality = 0;
    for (int i = 0; i < request->field_count; i++) {
        const struct request_field *field = &request->fields[i];
        struct piece rest = {field->value, field->value_size}, one, name;
        while (is_named(field, "accept-encoding") && next_part(&rest, ',', &one)) {
            struct piece parameters = one;
            if (!next_part(&parameters, ';', &name) || !coding_of(name, &named))
                continue;
            int quality = quality_of(parameters);
            if (quality > best_quality) {
                best = named;
                best_quality = quality;
            }
        }
    }
    return best;
}

/* The media ranges of all Accept headers, one by one: they are one list. Begins as zeros but for the request. */
struct ranges {
    const struct request *request;
    int next_field;
    struct piece rest, type;
    int quality;
};

static bool next_range(struct ranges *ranges) {
    for (;;) {
        struct piece range;
        while (next_part(&ranges->rest, ',', &range)) {
            struct piece parameters = range;
            if (!next_part(&parameters, ';', &ranges->type))
                continue;
            ranges->quality = quality_of(parameters);
            return true;
        }
        do
            if (ranges->next_field == ranges->request->field_count)
                return false;
        while (!is_named(&ranges->request->fields[ranges->next_field++], "accept"));
        const struct request_field *field = &ranges->request->fields[ranges->next_field - 1];
        ranges->rest = (struct piece){field->value, field->value_size};
    }
}

enum codec_format media_answer_format(const struct request *request, enum codec_format otherwise) {
    /* The quality of each format, and how exactly the range named it (3: by name, 2: application, 1: any). */
    int quality[FORMATS] = {0}, exactness[FORMATS] = {0};
    struct ranges ranges = {.request = request};
    while (next_range(&ranges)) {
        enum codec_format named;
        for (int f = 0; f < FORMATS; f++) {
            int exact = piece_is(ranges.type, "*/*") ? 1 : piece_is(ranges.type, "application/*") ? 2 : 0;
            if (format_of(ranges.type, &named) && (int)named == f)
                exact = 3;
            if (exact > exactness[f]) {
                exactness[f] = exact;
                quality[f] = ranges.quality;
            }
        }
    }
    enum codec_format best = otherwise;
    for (int f = 0; f < FORMATS; f++)
        if (quality[f] > quality[best])
            best = (enum codec_format)f;
    return best;
}

bool media_wants_openmetrics(const struct request *request) {
    struct ranges ranges = {.request = request};
    int open = 0, text = 0;
    while (next_range(&ranges))
        if (piece_is(ranges.type, "application/openmetrics-text") && ranges.quality > open)
            open = ranges.quality;
        else if (piece_is(ranges.type, "text/plain") && ranges.quality > text)
            text = ranges.quality;
    return open > text;
}

bool media_is_named(const struct request *request, const char *type) {
    struct ranges ranges = {.request = request};
    while (next_range(&ranges))
        if (piece_is(ranges.type, type) && ranges.quality > 0)
            return true;
    return false;
}

const char *media_content_type(enum codec_format format) {
    static const char *const types[FORMATS] = {
        [CODEC_JSON] = "application/json", [CODEC_RAW] = "application/octet-stream", [CODEC_NPY] = "application/x-npy"};
    return types[format];
}

const char *media_compress(enum media_coding coding, const struct bytes *body, struct bytes *out) {
    struct weir_error err;
    if (coding == MEDIA_IDENTITY || body->size > COMPRESSED_BYTES)
        return "";
    bool is_gzip = coding == MEDIA_GZIP;
    if (deflate_append(is_gzip ? INFLATE_GZIP : INFLATE_DEFLATE, body->data, body->size, out, &err) != WEIR_OK)
        return "";
    if (out->size >= body->size) {
        out->size = 0;
        return "";
    }
    return is_gzip ? "Content-Encoding: gzip\r\n" : "Content-Encoding: deflate\r\n";
}
