#include "server/observe/otlp.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/observe/labels.h"

static struct otlp_source source = {
    .service = "a \"shop\"", .device_kind = "cpu", .unix_offset_ns = INT64_C(1700000000000000000)};
static struct bytes body;

static void setup(void) {
    otlp_name_instance(&source, 7);
}

static void teardown(void) {
    bytes_release(&body);
}

TestSuite(otlp, .init = setup, .fini = teardown);

static struct trace_entry sample(uint64_t span, uint64_t batch) {
    struct trace_entry entry = {.trace_id = {0xAB, [15] = 1},
                                .span = span,
                                .parent = 0x1122334455667788,
                                .method = "POST",
                                .started_ns = 1000,
                                .submitted_ns = 2000,
                                .taken_ns = 3000,
                                .finished_ns = 9000,
                                .ended_ns = 10000,
                                .input_ns = 500,
                                .infer_ns = 4000,
                                .output_ns = 1000,
                                .batch = batch,
                                .version = 3,
                                .rows = 2,
                                .batch_rows = 5,
                                .code = 200,
                                .reason = REASON_OK,
                                .route = ROUTE_PREDICT};
    memcpy(entry.model, "demo", entry.model_size = 4);
    memcpy(entry.path, "/p\xFF", entry.path_size = 3);
    return entry;
}

/* The array of spans. */
static cJSON *write_spans(const struct trace_entry *entries, uint32_t count, cJSON **whole) {
    body.size = 0;
    otlp_write(&source, entries, count, &body);
    *whole = cJSON_ParseWithLength(body.data, body.size);
    cr_assert_not_null(*whole, "%.*s", (int)body.size, body.data);
    cJSON *resource = cJSON_GetArrayItem(cJSON_GetObjectItem(*whole, "resourceSpans"), 0);
    return cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(resource, "scopeSpans"), 0), "spans");
}

static const char *text_of(const cJSON *span, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(span, name));
    return text ? text : "(none)";
}

Test(otlp, a_prediction_is_four_spans) {
    struct trace_entry entry = sample(0xF0, 9);
    cJSON *whole, *spans = write_spans(&entry, 1, &whole);
    static const char *const names[] = {"POST /predict", "queue", "batch", "compute"};
    static const char *const starts[] = {"1000", "2000", "3000", "4000"}, *const ends[] = {"10000", "3000", "9000",
                                                                                           "8000"};
    cr_assert_eq(cJSON_GetArraySize(spans), 4);
    const char *batch = text_of(cJSON_GetArrayItem(spans, 2), "spanId");
    const char *parents[] = {"1122334455667788", "00000000000000f0", "00000000000000f0", batch};
    for (int i = 0; i < 4; i++) {
        const cJSON *span = cJSON_GetArrayItem(spans, i);
        cr_assert_str_eq(text_of(span, "name"), names[i]);
        cr_assert_str_eq(text_of(span, "traceId"), "ab000000000000000000000000000001");
        cr_assert_str_eq(text_of(span, "parentSpanId"), parents[i]);
        cr_assert_eq(strlen(text_of(span, "spanId")), 16);
        cr_assert_eq(atoi(text_of(span, "startTimeUnixNano") + 9), atoi(starts[i]));
        cr_assert_eq(atoi(text_of(span, "endTimeUnixNano") + 9), atoi(ends[i]));
        cr_assert_eq(cJSON_GetObjectItem(span, "kind")->valueint, i == 0 ? 2 : 1);
    }
    cr_assert(strstr(body.data, "\"a \\\"shop\\\"\""), "texts are escaped");
    cJSON_Delete(whole);
}

Test(otlp, what_did_not_happen_is_no_span) {
    struct trace_entry entry = sample(0xF0, 0);
    cJSON *whole, *spans;
    entry.taken_ns = 0; /* it was in the queue and came into no batch */
    entry.parent = 0;
    entry.code = 504;
    entry.reason = REASON_DEADLINE;
    spans = write_spans(&entry, 1, &whole);
    cr_assert_eq(cJSON_GetArraySize(spans), 2);
    const cJSON *request = cJSON_GetArrayItem(spans, 0), *status = cJSON_GetObjectItem(request, "status");
    cr_assert_null(cJSON_GetObjectItem(request, "parentSpanId"));
    cr_assert_eq(cJSON_GetObjectItem(status, "code")->valueint, 2);
    cr_assert_str_eq(text_of(status, "message"), "deadline");
    cJSON_Delete(whole);
    entry.submitted_ns = 0;
    cr_assert_eq(cJSON_GetArraySize(write_spans(&entry, 1, &whole)), 1);
    cJSON_Delete(whole);
}

Test(otlp, requests_of_a_batch_link_to_each_other_also_across_exports) {
    struct trace_entry entries[4] = {sample(1, 70), sample(2, 70), sample(3, 71), sample(4, 70)};
    cJSON *whole, *spans = write_spans(entries, 3, &whole);
    const cJSON *links = cJSON_GetObjectItem(cJSON_GetArrayItem(spans, 2), "links");
    cr_assert_eq(cJSON_GetArraySize(links), 1);
    cr_assert_str_eq(text_of(cJSON_GetArrayItem(links, 0), "spanId"), "0000000000000002");
    cr_assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(spans, 10), "links"), "it was alone");
    cJSON_Delete(whole);
    spans = write_spans(&entries[3], 1, &whole);
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetArrayItem(spans, 2), "links")), 2);
    cJSON_Delete(whole);
}

Test(otlp, links_beyond_the_most_are_counted) {
    struct trace_entry entries[OTLP_MOST_LINKS + 4];
    for (uint64_t i = 0; i < OTLP_MOST_LINKS + 4; i++)
        entries[i] = sample(i + 1, 5);
    cJSON *whole, *spans = write_spans(entries, OTLP_MOST_LINKS + 4, &whole);
    const cJSON *batch = cJSON_GetArrayItem(spans, 2);
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(batch, "links")), OTLP_MOST_LINKS);
    cr_assert_eq(cJSON_GetObjectItem(batch, "droppedLinksCount")->valueint, 3);
    cJSON_Delete(whole);
}

Test(otlp, the_instance_is_a_random_uuid) {
    struct otlp_source other = {.service = ""};
    otlp_name_instance(&other, 8);
    cr_assert_eq(strlen(source.instance), 36);
    cr_assert_eq(source.instance[14], '4');
    cr_assert(strchr("89ab", source.instance[19]));
    cr_assert_str_neq(source.instance, other.instance);
}

Test(otlp, a_collectors_answer_tells_what_it_did_not_take) {
    cr_assert_eq(otlp_rejected_spans("{}"), 0);
    cr_assert_eq(otlp_rejected_spans("{\"partialSuccess\":{\"rejectedSpans\":\"12\"}}"), 12);
    cr_assert_eq(otlp_rejected_spans("{\"partialSuccess\": {\"rejectedSpans\" : 3, \"errorMessage\":\"\"}}"), 3);
    cr_assert_eq(otlp_rejected_spans("{\"partialSuccess\":{\"rejectedSpans\":"), 0);
}
