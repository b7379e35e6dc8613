#include "server/observe/access_entry.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"
#include "engine/utf8.h"
#include "server/put.h"

/* A byte becomes at most six in JSON (\u0000) and four in the combined format (\x00). All else of a line is names,
 * numbers of at most 20 digits and texts of ours. */
enum { OTHERS_BYTES = 1200 };
_Static_assert(6 * (ACCESS_TARGET_BYTES + ACCESS_ID_BYTES + ACCESS_MODEL_BYTES) + OTHERS_BYTES <= ACCESS_LINE_BYTES,
               "a line of JSON fits");
_Static_assert(4 * (ACCESS_TARGET_BYTES + 2 * ACCESS_FIELD_BYTES) + OTHERS_BYTES <= ACCESS_LINE_BYTES,
               "a combined line fits");

void access_entry_clear(struct access_entry *entry) {
    memset(entry, 0, offsetof(struct access_entry, model));
    for (int i = 0; i < ACCESS_TIMES; i++)
        entry->times_ns[i] = -1;
}

size_t access_entry_copy(char *to, size_t capacity, const char *text, size_t size) {
    if (size > capacity)
        size = capacity;
    memcpy(to, text, size);
    return size;
}

#define PUT(to, literal) put_bytes(to, literal, sizeof(literal) - 1)

static char *put_hex(char *to, unsigned value) {
    static const char digits[] = "0123456789abcdef";
    *to++ = digits[value >> 4 & 15];
    *to++ = digits[value & 15];
    return to;
}

static bool is_plain(unsigned char c) {
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

/* Inside the quotes of a JSON string. Control characters, those of Latin-1 too, are written as \u00XX; what is not
 * UTF-8 becomes U+FFFD. */
static char *put_json(char *to, const char *text, size_t size) {
    for (size_t i = 0, step; i < size; i += step) {
        unsigned char c = (unsigned char)text[i];
        step = 1;
        if (is_plain(c)) {
            *to++ = (char)c;
        } else if (c == '"' || c == '\\') {
            *to++ = '\\';
            *to++ = (char)c;
        } else if (c < 0x80) {
            to = put_hex(PUT(to, "\\u00"), c);
        } else if ((step = utf8_length(text + i, size - i)) == 0) {
            to = PUT(to, "\xEF\xBF\xBD");
            step = 1;
        } else if (step == 2 && c == 0xC2 && (unsigned char)text[i + 1] < 0xA0) {
            to = put_hex(PUT(to, "\\u00"), (unsigned char)text[i + 1]);
        } else {
            to = put_bytes(to, text + i, step);
        }
    }
    return to;
}

/* Inside the quotes of the combined format. */
static char *put_escaped(char *to, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (is_plain(c)) {
            *to++ = (char)c;
        } else if (c == '"' || c == '\\') {
            *to++ = '\\';
            *to++ = (char)c;
        } else {
            to = put_hex(PUT(to, "\\x"), c);
        }
    }
    return to;
}

static char *put_ipv4(char *to, const uint8_t *address) {
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            *to++ = '.';
        to = put_number(to, address[i]);
    }
    return to;
}

/* The client's address, or nothing. IPv4 clients of an IPv6 listener look like the others. */
static char *put_address(char *to, const struct access_entry *entry) {
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    if (entry->peer.family == AF_INET)
        return put_ipv4(to, entry->peer.address);
    if (entry->peer.family != AF_INET6)
        return to;
    if (memcmp(entry->peer.address, mapped, sizeof mapped) == 0)
        return put_ipv4(to, entry->peer.address + sizeof mapped);
    inet_ntop(AF_INET6, entry->peer.address, to, INET6_ADDRSTRLEN);
    return to + strlen(to);
}

static void split(int64_t unix_s, struct tm *out) {
    time_t time = (time_t)unix_s;
    gmtime_r(&time, out);
}

/* Of a line's time the part that changes once a second. */
static const char *second_text(struct access_style *style, int64_t second) {
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    if (style->second_text[0] && style->second == second)
        return style->second_text;
    struct tm utc;
    split(second, &utc);
    int year = (utc.tm_year + 1900) % 10000;
    if (style->format == ACCESS_JSON)
        snprintf(style->second_text, sizeof style->second_text, "%04d-%02d-%02dT%02d:%02d:%02d", year, utc.tm_mon + 1,
                 utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
    else
        snprintf(style->second_text, sizeof style->second_text, "%02d/%s/%04d:%02d:%02d:%02d +0000", utc.tm_mday,
                 months[utc.tm_mon], year, utc.tm_hour, utc.tm_min, utc.tm_sec);
    style->second = second;
    return style->second_text;
}

/* Members of the object. A string that is empty is not known, and left out. */
#define PUT_COUNT(to, name, value) put_number(PUT(to, ",\"" name "\":"), value)
#define PUT_STRING(to, name, text, count)                                                                              \
    ((count) > 0 ? PUT(put_json(PUT(to, ",\"" name "\":\""), text, count), "\"") : (to))

static uint64_t us(int64_t ns) {
    return ns > 0 ? (uint64_t)ns / CLOCK_NS_PER_US : 0;
}

static uint64_t answer_bytes(const struct access_entry *entry) {
    return entry->answer_bytes > 0 ? (uint64_t)entry->answer_bytes : 0;
}

static char *put_client(char *to, const struct access_entry *entry) {
    if (entry->peer.family == 0)
        return to;
    to = put_address(PUT(to, ",\"client\":\""), entry);
    return PUT_COUNT(PUT(to, "\""), "client_port", entry->peer.port);
}

static char *put_times(char *to, const struct access_entry *entry) {
    static const char names[ACCESS_TIMES][16] = {
        [ACCESS_READ] = ",\"read_us\":",       [ACCESS_QUEUE] = ",\"queue_us\":",   [ACCESS_INPUT] = ",\"input_us\":",
        [ACCESS_COMPUTE] = ",\"compute_us\":", [ACCESS_OUTPUT] = ",\"output_us\":", [ACCESS_WRITE] = ",\"write_us\":",
    };
    to = PUT_COUNT(to, "total_us", us(entry->ended_ns - entry->started_ns));
    for (int i = 0; i < ACCESS_TIMES; i++)
        if (entry->times_ns[i] >= 0)
            to = put_number(put_text(to, names[i]), us(entry->times_ns[i]));
    return to;
}

static char *put_trace(char *to, const uint8_t id[ACCESS_TRACE_BYTES]) {
    static const uint8_t none[ACCESS_TRACE_BYTES];
    if (memcmp(id, none, sizeof none) == 0)
        return to;
    to = PUT(to, ",\"trace_id\":\"");
    for (int i = 0; i < ACCESS_TRACE_BYTES; i++)
        to = put_hex(to, id[i]);
    return PUT(to, "\"");
}

static char *put_json_line(char *to, const struct access_entry *entry, struct access_style *style, int64_t unix_ns) {
    int ms = (int)(unix_ns % CLOCK_NS_PER_S / CLOCK_NS_PER_MS);
    to = put_text(PUT(to, "{\"time\":\""), second_text(style, unix_ns / CLOCK_NS_PER_S));
    *to++ = '.';
    *to++ = (char)('0' + ms / 100);
    *to++ = (char)('0' + ms / 10 % 10);
    *to++ = (char)('0' + ms % 10);
    to = put_client(PUT(to, "Z\""), entry);
    if (entry->method) {
        to = PUT_STRING(to, "method", entry->method, strlen(entry->method));
        to = PUT_STRING(to, "path", entry->target, entry->target_size);
        if (entry->target_bytes > entry->target_size)
            to = PUT_COUNT(to, "path_bytes", entry->target_bytes);
    }
    const char *route = route_text((enum route)entry->route), *reason = reason_text((enum reason)entry->reason);
    to = PUT_STRING(to, "route", route, strlen(route));
    to = PUT_COUNT(to, "code", entry->code);
    to = PUT_STRING(to, "reason", reason, strlen(reason));
    to = PUT_STRING(to, "request_id", entry->id, entry->id_size);
    to = put_trace(to, entry->trace_id);
    if (entry->model_size > 0) {
        to = PUT_STRING(to, "model", entry->model, entry->model_size);
        to = PUT_COUNT(to, "version", entry->version);
    }
    if (entry->rows > 0)
        to = PUT_COUNT(to, "rows", entry->rows);
    if (entry->batch_rows > 0) {
        to = PUT_COUNT(to, "batch_rows", entry->batch_rows);
        to = PUT_COUNT(to, "device", (uint64_t)entry->device);
        if (style->device_kind)
            to = PUT_STRING(to, "device_kind", style->device_kind, strlen(style->device_kind));
    }
    to = PUT_COUNT(to, "bytes_in", entry->body_bytes);
    to = PUT_COUNT(to, "bytes_out", answer_bytes(entry));
    return PUT(put_times(to, entry), "}\n");
}

static char *put_field(char *to, const char *text, size_t size) {
    to = PUT(to, " \"");
    to = size > 0 ? put_escaped(to, text, size) : PUT(to, "-");
    return PUT(to, "\"");
}

static char *put_combined_line(char *to, const struct access_entry *entry, struct access_style *style,
                               int64_t unix_ns) {
    to = entry->peer.family != 0 ? put_address(to, entry) : PUT(to, "-");
    to = put_text(PUT(to, " - - ["), second_text(style, unix_ns / CLOCK_NS_PER_S));
    to = PUT(to, "] \"");
    if (entry->method) {
        to = PUT(put_text(to, entry->method), " ");
        to = put_escaped(to, entry->target, entry->target_size);
        to = put_text(to, entry->http_1_0 ? " HTTP/1.0" : " HTTP/1.1");
    } else {
        to = PUT(to, "-");
    }
    to = put_number(PUT(to, "\" "), entry->code);
    *to++ = ' ';
    to = answer_bytes(entry) > 0 ? put_number(to, answer_bytes(entry)) : PUT(to, "-");
    to = put_field(to, entry->referer, entry->referer_size);
    return PUT(put_field(to, entry->agent, entry->agent_size), "\n");
}

size_t access_entry_line(const struct access_entry *entry, struct access_style *style, char *out) {
    int64_t unix_ns = entry->started_ns + style->unix_offset_ns;
    char *end = style->format == ACCESS_JSON ? put_json_line(out, entry, style, unix_ns)
                                             : put_combined_line(out, entry, style, unix_ns);
    return (size_t)(end - out);
}
