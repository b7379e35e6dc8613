/* GET /ui, the status page, with what it loads; GET /ui/events, what it shows; and what its form asks for. Its sources
 * are in server/ui/. */
#include <string.h>

#include "engine/catalog_sample.h"
#include "engine/engine.h"
#include "engine/version_number.h"
#include "server/api/api.h"
#include "server/api/media.h"
#include "server/api/ui.h"
#include "server/codec/json_answer.h"
#include "server/http/reply.h"

/* Nothing from elsewhere, nothing inline, and in nobody's frame. Source: W3C, Content Security Policy Level 3. */
#define POLICY                                                                                                         \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src "    \
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"                                          \
    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"                                    \
    "X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n"

extern const char ui_page_html[], ui_page_css[], ui_page_js[], ui_plots_js[], ui_panels_js[], ui_try_js[];

static const struct asset {
    const char *name, *type, *text;
} assets[] = {
    {"page.css", "text/css; charset=utf-8", ui_page_css},
    {"page.js", "text/javascript; charset=utf-8", ui_page_js},
    {"plots.js", "text/javascript; charset=utf-8", ui_plots_js},
    {"panels.js", "text/javascript; charset=utf-8", ui_panels_js},
    {"try.js", "text/javascript; charset=utf-8", ui_try_js},
};

static void reply_asset(struct exchange *exchange, const char *type, const char *text) {
    exchange_reply(exchange, &(struct reply){.code = 200,
                                             .reason = REASON_OK,
                                             .content_type = type,
                                             .headers = POLICY,
                                             .body = text,
                                             .body_size = strlen(text)});
}

static void page_head(struct exchange *exchange, const struct request *request) {
    (void)request;
    reply_asset(exchange, "text/html; charset=utf-8", ui_page_html);
}

static void asset_head(struct exchange *exchange, const struct request *request) {
    (void)request;
    for (size_t i = 0; i < sizeof assets / sizeof assets[0]; i++)
        if (strcmp(exchange->captures[0], assets[i].name) == 0) {
            reply_asset(exchange, assets[i].type, assets[i].text);
            return;
        }
    reply_error(exchange, &(struct reply_error){.code = 404, .reason = REASON_NOT_FOUND}, "no such path");
}

static void events_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    (void)request;
    ui_join(api->ui, exchange);
}

static void events_gone(struct exchange *exchange) {
    struct api *api = exchange->context;
    ui_leave(api->ui, exchange);
}

/* The inputs as a body of /predict. An answer's rows are written just so, under another name. */
static enum weir_status write_request(const struct catalog_sample *sample, struct bytes *out, struct weir_error *err) {
    static const char answers[] = "{\"predictions\":[", requests[] = "{\"instances\":  [",
                      bare[] = "{\"instances\":   ";
    const struct signature *signature = engine_describe(sample->version).signature;
    struct signature as_outputs = {.outputs = signature->inputs, .output_count = signature->input_count};
    size_t at = out->size;
    enum weir_status status = json_answer_write(&as_outputs, 1, sample->inputs, out, err);
    if (status != WEIR_OK)
        return status;
    bool is_bare = signature->input_count == 1 && signature->inputs[0].batch_axis < 0; /* it has no rows */
    _Static_assert(sizeof answers == sizeof requests && sizeof answers == sizeof bare, "one takes the other's place");
    memcpy(out->data + at, is_bare ? bare : requests, sizeof answers - 1);
    if (is_bare)
        out->data[out->size - 2] = ' ';
    return WEIR_OK;
}

static enum weir_status write_sample(const struct catalog_sample *sample, struct bytes *out, struct weir_error *err) {
    struct version_info info = engine_describe(sample->version);
    bytes_printf(out, "{\"version\":%llu,\"number\":%u,\"count\":%u,\"request\":", (unsigned long long)info.number,
                 sample->number, sample->count);
    enum weir_status status = write_request(sample, out, err);
    if (status != WEIR_OK)
        return status;
    bytes_text(out, ",\"expected\":");
    if (json_answer_write(info.signature, 1, sample->expected, out, err) != WEIR_OK)
        bytes_text(out, "null"); /* JSON cannot carry it */
    bytes_text(out, "}\n");
    return WEIR_OK;
}

/* Errors: NOT_FOUND, INVALID. */
static enum weir_status read_ask(const struct api *api, struct exchange *exchange, const struct request *request,
                                 struct catalog_sample_ask *out, struct weir_error *err) {
    const struct request_field *field = request_find(request, "x-weir-version");
    char text[24] = "";
    uint64_t number;
    enum weir_status status = api_find_model(api, exchange->captures[0], &out->model, err);
    if (status == WEIR_OK)
        status = api_check_number(exchange->captures[1], err);
    if (status != WEIR_OK)
        return status;
    if (!version_number_read(exchange->captures[1], &number) || number > UINT32_MAX)
        return weir_fail(err, WEIR_NOT_FOUND, "there is no such sample");
    out->number = (uint32_t)number;
    out->version = 0;
    if (!field || request_field_is(field, "stable"))
        return WEIR_OK;
    if (field->value_size < sizeof text)
        memcpy(text, field->value, field->value_size);
    if (!version_number_read(text, &out->version))
        return weir_fail(err, WEIR_NOT_FOUND, "X-Weir-Version is stable or a number here");
    return WEIR_OK;
}

static void sample_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *body = reply_begin(exchange);
    struct catalog_sample_ask ask;
    struct catalog_sample sample;
    struct weir_error err;
    enum weir_status status = read_ask(api, exchange, request, &ask, &err);
    if (status == WEIR_OK)
        status = catalog_sample(api->catalog, &ask, &sample, &err);
    if (status == WEIR_OK) {
        status = write_sample(&sample, body, &err);
        catalog_sample_release(&sample);
    }
    if (status == WEIR_OK)
        reply_json(exchange, 200, body);
    else
        reply_failure(exchange, &err);
}

/* A browser that is led to the server's address sees the page; a probe sees the same as without one. */
static void root_head(struct exchange *exchange, const struct request *request) {
    if (media_is_named(request, "text/html"))
        exchange_reply(exchange, &(struct reply){.code = 302,
                                                 .reason = REASON_OK,
                                                 .headers = "Location: /ui\r\nVary: Accept\r\n"
                                                            "Cache-Control: no-store\r\n"});
    else
        api_root_handler.head(exchange, request);
}

#define READS .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS"

const struct handler api_root_ui_handler = {.route = ROUTE_ROOT, READS, .head = root_head};

static const struct handler page_handler = {.route = ROUTE_UI, READS, .head = page_head};
static const struct handler asset_handler = {.route = ROUTE_UI, READS, .head = asset_head};
static const struct handler events_handler = {.route = ROUTE_UI, READS, .head = events_head, .gone = events_gone};
static const struct handler sample_handler = {.route = ROUTE_UI, READS, .head = sample_head};

/* The form predicts by a path of its own, since /predict may be on another port, where a page may not ask. */
const struct api_route api_ui_routes[] = {
    {"/ui", &page_handler},
    {"/ui/events", &events_handler},
    {"/ui/{file}", &asset_handler},
    {"/ui/models/{model}/samples/{number}", &sample_handler},
    {"/ui/models/{model}/predict", &api_model_predict_handler},
    {NULL, NULL},
};
