#include "server/observe/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/observe/labels.h"

enum { KIND_INTERNAL = 1, KIND_SERVER = 2, STATUS_ERROR = 2, SPAN_BYTES = 8, GONE = 499 };

/* SplitMix64: Steele, Lea and Flood (2014). Never 0, which is no id. */
static uint64_t next_id(struct otlp_source *source) {
    uint64_t x = source->random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (x ^ (x >> 31)) | 1;
}

void otlp_name_instance(struct otlp_source *source, uint64_t random) {
    source->random = random;
    uint64_t high = next_id(source), low = next_id(source);
    snprintf(source->instance, sizeof source->instance,
             "%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32, high >> 16 & 0xFFFF,
             high & 0xFFF, (low >> 48 & 0x3FFF) | 0x8000, low & UINT64_C(0xFFFFFFFFFFFF));
}

/* ---- pieces */

static void put_trace_id(struct bytes *out, const uint8_t *id) {
    static const char digits[] = "0123456789abcdef";
    char text[2 * TRACE_ID_BYTES];
    for (int i = 0; i < TRACE_ID_BYTES; i++) {
        text[2 * i] = digits[id[i] >> 4];
        text[2 * i + 1] = digits[id[i] & 15];
    }
    bytes_append(out, text, sizeof text);
}

/* An attribute, with a comma before all but the first. */
static void put_name(struct bytes *out, const char *name, bool *is_first) {
    bytes_printf(out, "%s{\"key\":\"%s\",\"value\":", *is_first ? "" : ",", name);
    *is_first = false;
}

static void put_text(struct bytes *out, const char *name, const char *text, size_t size, bool *is_first) {
    put_name(out, name, is_first);
    bytes_text(out, "{\"stringValue\":");
    bytes_json_string(out, text, size);
    bytes_text(out, "}}");
}

static void put_int(struct bytes *out, const char *name, uint64_t value, bool *is_first) {
    put_name(out, name, is_first);
    bytes_printf(out, "{\"intValue\":\"%" PRIu64 "\"}}", value);
}

/* A span up to its attributes, whose array stays open. */
struct span {
    const uint8_t *trace_id;
    uint64_t id, parent;
    const char *name;
    int kind;
    int64_t started_ns, ended_ns;
};

static void open_span(struct otlp_source *source, const struct span *span, struct bytes *out) {
    int64_t ended_ns = span->ended_ns > span->started_ns ? span->ended_ns : span->started_ns;
    bytes_text(out, "{\"traceId\":\"");
    put_trace_id(out, span->trace_id);
    bytes_printf(out, "\",\"spanId\":\"%016" PRIx64 "\",", span->id);
    if (span->parent != 0)
        bytes_printf(out, "\"parentSpanId\":\"%016" PRIx64 "\",", span->parent);
    bytes_printf(out,
                 "\"name\":\"%s\",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64
                 "\",\"attributes\":[",
                 span->name, span->kind, span->started_ns + source->unix_offset_ns, ended_ns + source->unix_offset_ns);
}

/* ---- links */

static bool is_other(const struct trace_entry *entry, uint64_t batch, uint64_t span) {
    return batch == entry->batch && span != entry->span;
}

static void put_link(const uint8_t *trace_id, uint64_t span, uint32_t *count, struct bytes *out) {
    if (++*count > OTLP_MOST_LINKS)
        return;
    bytes_printf(out, "%s{\"traceId\":\"", *count == 1 ? ",\"links\":[" : ",");
    put_trace_id(out, trace_id);
    bytes_printf(out, "\",\"spanId\":\"%016" PRIx64 "\"}", span);
}

/* The other requests of the batch, as far as they are traced. */
static void put_links(const struct otlp_source *source, const struct trace_entry *entry,
                      const struct trace_entry *entries, uint32_t count, struct bytes *out) {
    uint32_t links = 0;
    uint32_t known = source->earlier_count < OTLP_EARLIER ? source->earlier_count : OTLP_EARLIER;
    for (uint32_t i = 0; i < known; i++)
        if (is_other(entry, source->earlier[i].batch, source->earlier[i].span))
            put_link(source->earlier[i].trace_id, source->earlier[i].span, &links, out);
    for (uint32_t i = 0; i < count; i++)
        if (is_other(entry, entries[i].batch, entries[i].span))
            put_link(entries[i].trace_id, entries[i].span, &links, out);
    if (links > 0)
        bytes_text(out, "]");
    if (links > OTLP_MOST_LINKS)
        bytes_printf(out, ",\"droppedLinksCount\":%" PRIu32, links - OTLP_MOST_LINKS);
}

static void remember(struct otlp_source *source, const struct trace_entry *entry) {
    struct otlp_place *place = &source->earlier[source->earlier_count++ % OTLP_EARLIER];
    memcpy(place->trace_id, entry->trace_id, sizeof place->trace_id);
    place->span = entry->span;
    place->batch = entry->batch;
}

/* ---- the spans of a request */

/* Methods that the conventions do not know are not names of their own. */
static const char *method_of(const struct trace_entry *entry) {
    static const char *const known[] = {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (entry->method && strcmp(entry->method, known[i]) == 0)
            return known[i];
    return "_OTHER";
}

static void put_request_attributes(const struct trace_entry *entry, struct bytes *out) {
    const char *method = method_of(entry), *route = route_text((enum route)entry->route);
    const char *reason = reason_text((enum reason)entry->reason);
    bool first = true;
    put_text(out, "http.request.method", method, strlen(method), &first);
    if (entry->route != ROUTE_OTHER)
        put_text(out, "http.route", route, strlen(route), &first);
    put_text(out, "url.scheme", "http", 4, &first);
    put_text(out, "url.path", entry->path, entry->path_size, &first);
    put_text(out, "network.protocol.version", entry->http_1_0 ? "1.0" : "1.1", 3, &first);
    if (entry->code != GONE)
        put_int(out, "http.response.status_code", entry->code, &first);
    put_text(out, "weir.reason", reason, strlen(reason), &first);
    if (entry->code >= 500) {
        char code[8];
        snprintf(code, sizeof code, "%u", entry->code);
        put_text(out, "error.type", code, strlen(code), &first);
    } else if (entry->code == GONE) {
        put_text(out, "error.type", reason, strlen(reason), &first);
    }
    if (entry->id_size > 0)
        put_text(out, "weir.request_id", entry->id, entry->id_size, &first);
    if (entry->version > 0) {
        put_text(out, "weir.model.name", entry->model, entry->model_size, &first);
        put_int(out, "weir.model.version", entry->version, &first);
    }
    if (entry->rows > 0)
        put_int(out, "weir.rows", entry->rows, &first);
}

static void write_request(struct otlp_source *source, const struct trace_entry *entry, struct bytes *out) {
    char name[96];
    const char *method = method_of(entry);
    if (strcmp(method, "_OTHER") == 0)
        method = "HTTP"; /* so the conventions call such a span */
    if (entry->route == ROUTE_OTHER)
        snprintf(name, sizeof name, "%s", method);
    else
        snprintf(name, sizeof name, "%s %s", method, route_text((enum route)entry->route));
    struct span span = {.trace_id = entry->trace_id,
                        .id = entry->span,
                        .parent = entry->parent,
                        .name = name,
                        .kind = KIND_SERVER,
                        .started_ns = entry->started_ns,
                        .ended_ns = entry->ended_ns};
    open_span(source, &span, out);
    put_request_attributes(entry, out);
    bytes_text(out, "]");
    if (entry->code >= 500 || entry->code == GONE)
        bytes_printf(out, ",\"status\":{\"code\":%d,\"message\":\"%s\"}}", STATUS_ERROR,
                     reason_text((enum reason)entry->reason));
    else
        bytes_text(out, ",\"status\":{}}");
}

/* From when it was submitted to its first batch; to the end of its time there if it came into none. */
static void write_queue(struct otlp_source *source, const struct trace_entry *entry, struct bytes *out) {
    int64_t until_ns = entry->taken_ns > 0      ? entry->taken_ns
                       : entry->finished_ns > 0 ? entry->finished_ns
                                                : entry->ended_ns;
    struct span span = {.trace_id = entry->trace_id,
                        .id = next_id(source),
                        .parent = entry->span,
                        .name = "queue",
                        .kind = KIND_INTERNAL,
                        .started_ns = entry->submitted_ns,
                        .ended_ns = until_ns};
    bytes_text(out, ",");
    open_span(source, &span, out);
    bytes_text(out, "],\"status\":{}}");
}

/* From its first batch to the end of its last, and in it the computing of the last. */
static void write_batch(struct otlp_source *source, const struct trace_entry *entry, const struct trace_entry *entries,
                        uint32_t count, struct bytes *out) {
    bool first = true;
    char device[48];
    struct span span = {.trace_id = entry->trace_id,
                        .id = next_id(source),
                        .parent = entry->span,
                        .name = "batch",
                        .kind = KIND_INTERNAL,
                        .started_ns = entry->taken_ns,
                        .ended_ns = entry->finished_ns};
    snprintf(device, sizeof device, "%s:%d", source->device_kind ? source->device_kind : "device", entry->device);
    bytes_text(out, ",");
    open_span(source, &span, out);
    put_int(out, "weir.batch.number", entry->batch, &first);
    put_int(out, "weir.batch.rows", entry->batch_rows, &first);
    put_text(out, "weir.device", device, strlen(device), &first);
    bytes_text(out, "]");
    put_links(source, entry, entries, count, out);
    bytes_text(out, ",\"status\":{}},");
    int64_t computed_ns = entry->finished_ns - entry->output_ns;
    int64_t began_ns = computed_ns - entry->infer_ns;
    struct span compute = {.trace_id = entry->trace_id,
                           .id = next_id(source),
                           .parent = span.id,
                           .name = "compute",
                           .kind = KIND_INTERNAL,
                           .started_ns = began_ns > entry->taken_ns ? began_ns : entry->taken_ns,
                           .ended_ns = computed_ns};
    open_span(source, &compute, out);
    first = true;
    put_text(out, "weir.device", device, strlen(device), &first);
    put_int(out, "weir.batch.rows", entry->batch_rows, &first);
    bytes_text(out, "],\"status\":{}}");
}

void otlp_write(struct otlp_source *source, const struct trace_entry *entries, uint32_t count, struct bytes *out) {
    bool first = true;
    bytes_text(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    put_text(out, "service.name", source->service, strlen(source->service), &first);
    put_text(out, "service.version", WEIR_VERSION, strlen(WEIR_VERSION), &first);
    put_text(out, "service.instance.id", source->instance, strlen(source->instance), &first);
    bytes_text(out, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"weir\",\"version\":\"" WEIR_VERSION "\"},\"spans\":[");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            bytes_text(out, ",");
        write_request(source, &entries[i], out);
        if (entries[i].submitted_ns > 0)
            write_queue(source, &entries[i], out);
        if (entries[i].batch > 0)
            write_batch(source, &entries[i], entries, count, out);
    }
    bytes_text(out, "]}]}]}");
    for (uint32_t i = 0; i < count; i++)
        if (entries[i].batch > 0)
            remember(source, &entries[i]);
}

uint64_t otlp_rejected_spans(const char *body) {
    static const char name[] = "\"rejectedSpans\"";
    const char *at = strstr(body, name);
    if (!at)
        return 0;
    at += sizeof name - 1;
    at += strspn(at, " \t\r\n:\""); /* a number, or a text of digits */
    return strtoull(at, NULL, 10);
}
