/* /v2/models/.../stats: the statistics extension. Source: Triton, docs/protocol/extension_statistics.md. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/catalog.h"
#include "engine/catalog_admin.h"
#include "engine/engine.h"
#include "server/api/api.h"
#include "server/http/reply.h"
#include "server/observe/statistics.h"

static void write_pair(struct bytes *out, const char *name, struct statistics_pair pair) {
    bytes_printf(out, "\"%s\":{\"count\":%" PRIu64 ",\"ns\":%" PRIu64 "}", name, pair.count, pair.ns);
}

static void write_batches(struct bytes *out, const struct statistics *statistics, int tag) {
    bool any = false;
    bytes_text(out, ",\"batch_stats\":[");
    for (uint32_t rows = 1; rows <= statistics_most_rows(statistics); rows++) {
        struct statistics_batch batch = statistics_read_batch(statistics, tag, rows);
        if (batch.count == 0)
            continue;
        bytes_printf(out, "%s{\"batch_size\":%u,", any ? "," : "", rows);
        write_pair(out, "compute_input", (struct statistics_pair){batch.count, batch.input_ns});
        bytes_text(out, ",");
        write_pair(out, "compute_infer", (struct statistics_pair){batch.count, batch.infer_ns});
        bytes_text(out, ",");
        write_pair(out, "compute_output", (struct statistics_pair){batch.count, batch.output_ns});
        bytes_text(out, "}");
        any = true;
    }
    bytes_text(out, "]");
}

static void write_version(struct bytes *out, const struct api *api, const struct version *version) {
    struct version_info info = engine_describe(version);
    struct statistics_totals totals = statistics_read(api->statistics, info.tag);
    const struct {
        const char *name;
        struct statistics_pair pair;
    } pairs[] = {{"success", totals.success},     {"fail", totals.fail},           {"queue", totals.queue},
                 {"compute_input", totals.input}, {"compute_infer", totals.infer}, {"compute_output", totals.output},
                 {"cache_hit", {.count = 0}},     {"cache_miss", {.count = 0}}};
    bytes_printf(out,
                 "{\"name\":\"%s\",\"version\":\"%" PRIu64 "\",\"last_inference\":%" PRIu64
                 ",\"inference_count\":%" PRIu64 ",\"execution_count\":%" PRIu64 ",\"inference_stats\":{",
                 info.model_name, info.number, totals.last_unix_ms, totals.rows, totals.executions);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        bytes_text(out, i > 0 ? "," : "");
        write_pair(out, pairs[i].name, pairs[i].pair);
    }
    bytes_text(out, "},\"response_stats\":{}");
    write_batches(out, api->statistics, info.tag);
    bytes_text(out, ",\"memory_usage\":[]}");
}

/* Appends every loaded version of a model, or the one that the path names. Errors: those of catalog_route. */
static enum weir_status write_model(struct bytes *out, struct api *api, int model, const char *wanted, bool *any,
                                    struct weir_error *err) {
    struct catalog_model_view view;
    enum weir_status status = catalog_view(api->catalog, model, &view, err);
    size_t written = 0;
    if (status != WEIR_OK)
        return status;
    for (size_t i = view.version_count; i-- > 0;) {
        char number[24];
        struct catalog_choice choice;
        snprintf(number, sizeof number, "%" PRIu64, view.versions[i].number);
        struct catalog_ask ask = {.model = model, .version = number};
        if ((wanted[0] && strcmp(wanted, number) != 0) || catalog_route(api->catalog, &ask, &choice, err) != WEIR_OK)
            continue;
        bytes_text(out, *any ? "," : "");
        write_version(out, api, choice.version);
        catalog_choice_release(&choice);
        *any = true;
        written++;
    }
    catalog_view_release(&view);
    if (wanted[0] && written == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "version \"%.40s\" of %s is not loaded", wanted,
                         catalog_name(api->catalog, model));
    return WEIR_OK;
}

static void head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    const char *name = exchange->captures[0], *wanted = exchange->captures[1];
    struct bytes *body = reply_begin(exchange);
    struct weir_error err;
    int only = 0;
    bool any = false;
    (void)request;
    enum weir_status status = api_find_model(api, name, &only, &err);
    if (status == WEIR_OK)
        status = api_check_number(wanted, &err);
    bytes_text(body, "{\"model_stats\":[");
    for (int i = 0; i < catalog_model_count(api->catalog) && status == WEIR_OK; i++)
        if (!name[0] || i == only)
            status = write_model(body, api, i, wanted, &any, &err);
    bytes_text(body, "]}\n");
    if (status == WEIR_OK)
        reply_json(exchange, 200, body);
    else
        reply_failure(exchange, &err);
}

static const struct handler handler = {
    .route = ROUTE_V2, .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS", .head = head};

const struct api_route api_v2_statistics_routes[] = {
    {"/v2/models/stats", &handler},
    {"/v2/models/{model}/stats", &handler},
    {"/v2/models/{model}/versions/{version}/stats", &handler},
    {NULL, NULL},
};
