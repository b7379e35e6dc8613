/* /v2: the Open Inference Protocol over HTTP, as KServe and Triton speak it. Sources: open-inference-protocol,
 * specification/protocol/inference_rest.md; Triton, docs/protocol. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/catalog.h"
#include "engine/catalog_admin.h"
#include "engine/engine.h"
#include "server/api/api.h"
#include "server/api/prediction.h"
#include "server/api/protocol.h"
#include "server/codec/v2_answer.h"
#include "server/codec/v2_datatype.h"
#include "server/http/reply.h"

#define JSON_HEADER "inference-header-content-length"

/* Inference-Header-Content-Length: how much of the body is JSON. */
static enum weir_status read_head(const struct request *request, struct decoder_options *options,
                                  struct weir_error *err) {
    const struct request_field *field = request_find(request, JSON_HEADER);
    size_t value = 0;
    options->format = CODEC_V2;
    options->json_bytes = SIZE_MAX;
    if (!field)
        return WEIR_OK;
    bool good = field->value_size > 0;
    for (int i = 0; i < request->field_count; i++)
        good = good && (&request->fields[i] == field || request->fields[i].name_size != strlen(JSON_HEADER) ||
                        strncasecmp(request->fields[i].name, JSON_HEADER, strlen(JSON_HEADER)) != 0); /* once */
    for (uint32_t i = 0; i < field->value_size && good; i++) {
        char c = field->value[i];
        good = c >= '0' && c <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (size_t)(c - '0'), &value);
    }
    bool is_plain = !request->framing.chunked && !request_find(request, "content-encoding");
    if (!good || value == SIZE_MAX || (is_plain && value > request->framing.content_length))
        return weir_fail(err, WEIR_INVALID,
                         "Inference-Header-Content-Length must be a number of at most the body's "
                         "bytes");
    options->json_bytes = value;
    return WEIR_OK;
}

static enum weir_status read_version(const char *text, const char **out, struct weir_error *err) {
    *out = text;
    return api_check_number(text, err);
}

static enum weir_status encode(struct prediction *prediction, struct protocol_answer *out, struct weir_error *err) {
    struct version_info info = engine_describe(prediction->choice.version);
    struct v2_answer answer = {.signature = info.signature,
                               .model = info.model_name,
                               .version = info.number,
                               .rows = prediction->job.dims.rows,
                               .outputs = prediction->job.outputs,
                               .wishes = &prediction->decoded.wishes};
    size_t json_bytes;
    enum weir_status status = v2_answer_write(&answer, out->body, &json_bytes, err);
    out->content_type = "application/json";
    if (status == WEIR_OK && json_bytes != SIZE_MAX) {
        out->content_type = "application/octet-stream";
        snprintf(out->headers, sizeof out->headers, "Inference-Header-Content-Length: %zu\r\n", json_bytes);
    }
    return status;
}

static const struct protocol v2 = {
    .read_head = read_head, .read_version = read_version, .compresses = true, .encode = encode};
static const struct handler infer_handler = {.route = ROUTE_V2_INFER, PROTOCOL_HANDLER, .kind = &v2};

/* The version that the path names, or the one that serves, with a reference. NULL: it was answered why not. */
static struct version *find_version(struct exchange *exchange) {
    struct api *api = exchange->context;
    struct weir_error err;
    struct catalog_choice choice;
    struct catalog_ask ask = {.version = NULL};
    enum weir_status status = api_find_model(api, exchange->captures[0], &ask.model, &err);
    if (status == WEIR_OK && exchange->captures[1][0])
        status = read_version(exchange->captures[1], &ask.version, &err);
    if (status == WEIR_OK && !ask.version)
        ask.version = "stable";
    if (status == WEIR_OK)
        status = catalog_route(api->catalog, &ask, &choice, &err);
    if (status == WEIR_OK)
        return choice.version;
    reply_failure(exchange, &err);
    return NULL;
}

static void server_head(struct exchange *exchange, const struct request *request) {
    struct bytes *body = reply_begin(exchange);
    (void)request;
    bytes_text(body, "{\"name\":\"weir\",\"version\":\"" WEIR_VERSION
                     "\",\"extensions\":[\"binary_tensor_data\",\"classification\",\"model_configuration\","
                     "\"model_repository\",\"parameters\",\"schedule_policy\",\"statistics\"]}\n");
    reply_json(exchange, 200, body);
}

static void live_head(struct exchange *exchange, const struct request *request) {
    struct bytes *body = reply_begin(exchange);
    (void)request;
    bytes_text(body, "{\"live\":true}\n");
    reply_json(exchange, 200, body);
}

static void ready_head(struct exchange *exchange, const struct request *request) {
    struct api_obstacles obstacles;
    (void)request;
    api_obstacles(exchange->context, &obstacles);
    struct bytes *body = reply_begin(exchange);
    bytes_printf(body, "{\"ready\":%s}\n", obstacles.count == 0 ? "true" : "false");
    reply_json(exchange, obstacles.count == 0 ? 200 : 503, body);
}

static void write_tensors(struct bytes *body, const char *name, const struct tensor_spec *specs, int count) {
    bytes_printf(body, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        char shape[160];
        bytes_text(body, i > 0 ? ",{\"name\":" : "{\"name\":");
        bytes_json_string(body, specs[i].name, strlen(specs[i].name));
        bytes_printf(body, ",\"datatype\":\"%s\",\"shape\":%s}", v2_datatype_text(specs[i].dtype),
                     tensor_shape_text(&specs[i].shape, shape, sizeof shape));
    }
    bytes_text(body, "]");
}

static bool is_loaded(const struct catalog_version_view *version) {
    return version->state >= CATALOG_STATE_READY;
}

static void metadata_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct catalog_model_view view;
    struct weir_error err;
    bool any = false;
    (void)request;
    struct version *version = find_version(exchange);
    if (!version)
        return;
    struct version_info info = engine_describe(version);
    if (catalog_view(api->catalog, catalog_find(api->catalog, info.model_name), &view, &err) != WEIR_OK) {
        engine_release(version);
        reply_failure(exchange, &err);
        return;
    }
    struct bytes *body = reply_begin(exchange);
    bytes_printf(body, "{\"name\":\"%s\",\"versions\":[", info.model_name);
    for (size_t i = view.version_count; i-- > 0;)
        if (is_loaded(&view.versions[i])) {
            bytes_printf(body, "%s\"%" PRIu64 "\"", any ? "," : "", view.versions[i].number);
            any = true;
        }
    bytes_text(body, "],\"platform\":\"onnx_onnxv1\"");
    write_tensors(body, "inputs", info.signature->inputs, info.signature->input_count);
    write_tensors(body, "outputs", info.signature->outputs, info.signature->output_count);
    bytes_text(body, "}\n");
    catalog_view_release(&view);
    engine_release(version);
    reply_json(exchange, 200, body);
}

static void model_ready_head(struct exchange *exchange, const struct request *request) {
    (void)request;
    struct version *version = find_version(exchange);
    if (!version)
        return;
    struct bytes *body = reply_begin(exchange);
    bytes_printf(body, "{\"name\":\"%s\",\"ready\":true}\n", engine_describe(version).model_name);
    engine_release(version);
    reply_json(exchange, 200, body);
}

/* May requests be of several rows? Then Triton's configuration leaves the batch dimension out. */
static bool batches(const struct signature *signature) {
    for (int i = 0; i < signature->input_count; i++)
        if (signature->inputs[i].batch_axis != 0)
            return false;
    for (int i = 0; i < signature->output_count; i++)
        if (signature->outputs[i].batch_axis != 0)
            return false;
    return signature->input_count > 0;
}

static void write_config(struct bytes *body, const char *name, const struct tensor_spec *specs, int count,
                         bool is_batched) {
    bytes_printf(body, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        const struct tensor_spec *spec = &specs[i];
        bytes_text(body, i > 0 ? ",{\"name\":" : "{\"name\":");
        bytes_json_string(body, spec->name, strlen(spec->name));
        bytes_printf(body, ",\"data_type\":\"TYPE_%s\",\"dims\":[", v2_datatype_text(spec->dtype));
        for (int d = is_batched; d < spec->shape.rank; d++)
            bytes_printf(body, "%s%" PRId64, d > is_batched ? "," : "",
                         spec->shape.dims[d] < 0 ? -1 : spec->shape.dims[d]);
        bytes_text(body, "]}");
    }
    bytes_text(body, "]");
}

static void config_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    (void)request;
    struct version *version = find_version(exchange);
    if (!version)
        return;
    struct version_info info = engine_describe(version);
    bool is_batched = batches(info.signature);
    struct bytes *body = reply_begin(exchange);
    bytes_printf(body, "{\"name\":\"%s\",\"platform\":\"onnx_onnxv1\",\"backend\":\"weir\",\"max_batch_size\":%u",
                 info.model_name, is_batched ? atomic_load(&api->max_request_rows) : 0);
    write_config(body, "input", info.signature->inputs, info.signature->input_count, is_batched);
    write_config(body, "output", info.signature->outputs, info.signature->output_count, is_batched);
    bytes_printf(body, ",\"dynamic_batching\":{\"preferred_batch_size\":[%u]}}\n", info.batch_rows);
    engine_release(version);
    reply_json(exchange, 200, body);
}

static void models_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *body = reply_begin(exchange);
    bool any = false;
    (void)request;
    bytes_text(body, "{\"models\":[");
    for (int i = 0; i < catalog_model_count(api->catalog); i++) {
        const char *name = catalog_name(api->catalog, i);
        if (!name[0]) /* it is not known before the first look */
            continue;
        bytes_printf(body, "%s\"%s\"", any ? "," : "", name);
        any = true;
    }
    bytes_text(body, "]}\n");
    reply_json(exchange, 200, body);
}

static void write_index(struct bytes *body, const struct catalog_model_view *view, bool ready_only, bool *any) {
    if (!view->name[0])
        return;
    for (size_t i = view->version_count; i-- > 0;) {
        const struct catalog_version_view *version = &view->versions[i];
        bool is_loading = version->state == CATALOG_STATE_LOADING;
        if (ready_only && !is_loaded(version))
            continue;
        bytes_printf(body, "%s{\"name\":\"%s\",\"version\":\"%" PRIu64 "\",\"state\":\"%s\"", *any ? "," : "",
                     view->name, version->number,
                     is_loaded(version) ? "READY"
                     : is_loading       ? "LOADING"
                                        : "UNAVAILABLE");
        if (version->reason[0]) {
            bytes_text(body, ",\"reason\":");
            bytes_json_string(body, version->reason, strlen(version->reason));
        }
        bytes_text(body, "}");
        *any = true;
    }
    if (view->version_count == 0 && !ready_only) {
        bytes_printf(body, "%s{\"name\":\"%s\"}", *any ? "," : "", view->name);
        *any = true;
    }
}

static void index_body(struct exchange *exchange, const char *bytes, size_t size) {
    if (!exchange->call)
        exchange->call = calloc(1, sizeof(struct bytes));
    if (exchange->call)
        bytes_append(exchange->call, bytes, size);
}

static void index_gone(struct exchange *exchange) {
    struct bytes *body = exchange->call;
    if (body)
        bytes_release(body);
    free(body);
    exchange->call = NULL;
}

/* Reads {"ready": BOOL}, which may be left out, as may be the body. Returns false after an answer. */
static bool read_index_body(struct exchange *exchange, bool *ready_only) {
    const struct bytes *body = exchange->call;
    cJSON *json = body && !body->failed ? cJSON_ParseWithLength(body->data, body->size) : NULL;
    const cJSON *ready = cJSON_GetObjectItemCaseSensitive(json, "ready");
    bool good = !body || (cJSON_IsObject(json) && (!ready || cJSON_IsBool(ready)));
    *ready_only = cJSON_IsTrue(ready);
    cJSON_Delete(json);
    index_gone(exchange);
    if (!good)
        reply_error(exchange, &(struct reply_error){.code = 400, .reason = REASON_BAD_REQUEST},
                    "the body is not an object whose \"ready\" is true or false");
    return good;
}

static void index_end(struct exchange *exchange) {
    struct api *api = exchange->context;
    bool any = false, ready_only;
    if (!read_index_body(exchange, &ready_only))
        return;
    struct bytes *body = reply_begin(exchange);
    bytes_text(body, "[");
    for (int i = 0; i < catalog_model_count(api->catalog); i++) {
        struct catalog_model_view view;
        struct weir_error err;
        if (catalog_view(api->catalog, i, &view, &err) != WEIR_OK) {
            reply_failure(exchange, &err);
            return;
        }
        write_index(body, &view, ready_only, &any);
        catalog_view_release(&view);
    }
    bytes_text(body, "]\n");
    reply_json(exchange, 200, body);
}

static void small_body_head(struct exchange *exchange, const struct request *request) {
    (void)request;
    exchange_set_body_limit(exchange, 64 * 1024);
    if (request->framing.content_length > 64 * 1024)
        reply_error(exchange, &(struct reply_error){.code = 413, .reason = REASON_TOO_LARGE},
                    "the body has more than %d bytes", 64 * 1024);
}

/* Loading and unloading change what is served: that is done on the admin listener. */
static void control_end(struct exchange *exchange) {
    reply_error(exchange, &(struct reply_error){.code = 503, .reason = REASON_CONFLICT},
                "models are loaded and unloaded by /admin (see admin_listen), not here");
}

#define READS .route = ROUTE_V2, .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS"
#define POSTS .route = ROUTE_V2, .methods = METHOD_POST, .allow = "POST, OPTIONS", .head = small_body_head

static const struct handler server_handler = {READS, .head = server_head};
static const struct handler live_handler = {READS, .head = live_head};
static const struct handler ready_handler = {READS, .head = ready_head};
static const struct handler metadata_handler = {READS, .head = metadata_head};
static const struct handler model_ready_handler = {READS, .head = model_ready_head};
static const struct handler config_handler = {READS, .head = config_head};
static const struct handler models_handler = {READS, .head = models_head};
static const struct handler index_handler = {POSTS, .body = index_body, .end = index_end, .gone = index_gone};
static const struct handler control_handler = {POSTS, .end = control_end};

const struct api_route api_v2_routes[] = {
    {"/v2/models/{model}/infer", &infer_handler}, /* first, since they are looked for most */
    {"/v2/models/{model}/versions/{version}/infer", &infer_handler},
    {"/v2", &server_handler},
    {"/v2/", &server_handler},
    {"/v2/health/live", &live_handler},
    {"/v2/health/ready", &ready_handler},
    {"/v2/models", &models_handler},
    {"/v2/models/{model}", &metadata_handler},
    {"/v2/models/{model}/versions/{version}", &metadata_handler},
    {"/v2/models/{model}/ready", &model_ready_handler},
    {"/v2/models/{model}/versions/{version}/ready", &model_ready_handler},
    {"/v2/models/{model}/config", &config_handler},
    {"/v2/models/{model}/versions/{version}/config", &config_handler},
    {"/v2/repository/index", &index_handler},
    {"/v2/repository/models/{model}/load", &control_handler},
    {"/v2/repository/models/{model}/unload", &control_handler},
    {NULL, NULL},
};
