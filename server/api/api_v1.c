/* KServe V1 and TensorFlow Serving's REST API: /v1/models and what lies below. Sources: tensorflow/serving
 * g3doc/api_rest.md, kserve/protocol/rest/v1_endpoints.py. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/version_number.h"
#include "server/api/api.h"
#include "server/api/prediction.h"
#include "server/api/protocol.h"
#include "server/codec/json_answer.h"
#include "server/http/reply.h"

/* Content-Type is ignored: clients send any, or none. */
static enum weir_status read_head(const struct request *request, struct decoder_options *options,
                                  struct weir_error *err) {
    (void)request;
    (void)err;
    options->format = CODEC_V1;
    return WEIR_OK;
}

/* A number; 0 is the version that serves. */
static enum weir_status read_number(const char *text, const char **out, struct weir_error *err) {
    *out = text[strspn(text, "0")] ? text : NULL;
    return api_check_number(text, err);
}

static enum weir_status read_label(const char *text, const char **out, struct weir_error *err) {
    if (strcmp(text, "stable") != 0 && strcmp(text, "canary") != 0)
        return weir_fail(err, WEIR_NOT_FOUND, "there is no label \"%.40s\", only \"stable\" and \"canary\"", text);
    *out = text;
    return WEIR_OK;
}

/* By rows or by columns, as the request came. */
static enum weir_status encode(struct prediction *prediction, struct protocol_answer *answer, struct weir_error *err) {
    const struct signature *signature = engine_describe(prediction->choice.version).signature;
    const struct job *job = &prediction->job;
    answer->content_type = "application/json";
    if (prediction->decoded.wishes.columns)
        return json_answer_write_columns(signature, job->dims.rows, job->outputs, answer->body, err);
    return json_answer_write(signature, job->dims.rows, job->outputs, answer->body, err);
}

static const struct protocol by_number = {.read_head = read_head, .read_version = read_number, .encode = encode};
static const struct protocol by_label = {.read_head = read_head, .read_version = read_label, .encode = encode};

static const struct handler predict_handler = {.route = ROUTE_V1_PREDICT, PROTOCOL_HANDLER, .kind = &by_number};
static const struct handler predict_label_handler = {.route = ROUTE_V1_PREDICT, PROTOCOL_HANDLER, .kind = &by_label};

/* The model that the path names, and the version as catalog_route takes it (NULL: none is named). Errors: NOT_FOUND,
 * INVALID. */
static enum weir_status read_path(const struct exchange *exchange, struct catalog_ask *out, struct weir_error *err) {
    struct api *api = exchange->context;
    const struct protocol *protocol = exchange->handler->kind;
    enum weir_status status = api_find_model(api, exchange->captures[0], &out->model, err);
    out->version = NULL;
    if (status == WEIR_OK && exchange->captures[1][0])
        status = protocol->read_version(exchange->captures[1], &out->version, err);
    return status;
}

/* TensorFlow Serving's word for a version's state; NULL: it is not to be served. */
static const char *state_text(const struct catalog_version_view *version) {
    if (version->state == CATALOG_STATE_FOUND)
        return NULL;
    if (version->state == CATALOG_STATE_LOADING || version->state == CATALOG_STATE_INCOMPLETE)
        return "LOADING";
    return version->state == CATALOG_STATE_FAILED ? "END" : "AVAILABLE";
}

static bool is_available(const struct catalog_version_view *version) {
    const char *state = state_text(version);
    return state && strcmp(state, "AVAILABLE") == 0;
}

static void write_version(struct bytes *out, const struct catalog_version_view *version) {
    bytes_printf(out, "{\"version\":\"%" PRIu64 "\",\"state\":\"%s\",\"status\":{\"error_code\":\"%s\",",
                 version->number, state_text(version), version->reason[0] ? "UNKNOWN" : "OK");
    bytes_json_member(out, "error_message", version->reason);
    bytes_text(out, "}}");
}

/* The number of the version that a path asks for; 0: it asks for the model as a whole. Errors: NOT_FOUND. */
static enum weir_status wanted_number(const struct catalog_model_view *view, const char *wanted, uint64_t *out,
                                      struct weir_error *err) {
    *out = 0;
    if (!wanted)
        return WEIR_OK;
    bool is_stable = strcmp(wanted, "stable") == 0, is_canary = strcmp(wanted, "canary") == 0;
    uint64_t number = is_stable ? view->stable : is_canary ? view->candidate : 0;
    if (!is_stable && !is_canary && !version_number_read(wanted, &number))
        number = 0;
    for (size_t i = 0; i < view->version_count && number > 0; i++)
        if (view->versions[i].number == number && state_text(&view->versions[i])) {
            *out = number;
            return WEIR_OK;
        }
    return weir_fail(err, WEIR_NOT_FOUND, "version \"%.40s\" of %s is not loaded", wanted, view->name);
}

/* One object for both families: KServe looks at "ready" and the code, TensorFlow Serving's clients at the list. */
static void status_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *body = reply_begin(exchange);
    struct catalog_model_view view;
    struct catalog_ask ask;
    struct weir_error err;
    uint64_t number = 0;
    (void)request;
    enum weir_status status = read_path(exchange, &ask, &err);
    if (status == WEIR_OK)
        status = catalog_view(api->catalog, ask.model, &view, &err);
    if (status != WEIR_OK) {
        reply_failure(exchange, &err);
        return;
    }
    status = wanted_number(&view, ask.version, &number, &err);
    bool ready = number == 0 && view.stable > 0, any = false;
    for (size_t i = 0; i < view.version_count; i++)
        ready = ready || (view.versions[i].number == number && is_available(&view.versions[i]));
    bytes_text(body, "{");
    bytes_json_member(body, "name", view.name);
    bytes_printf(body, ",\"ready\":%s,\"model_version_status\":[", ready ? "true" : "false");
    for (size_t i = 0; i < view.version_count; i++) {
        if ((number > 0 && view.versions[i].number != number) || !state_text(&view.versions[i]))
            continue;
        bytes_text(body, any ? "," : "");
        write_version(body, &view.versions[i]);
        any = true;
    }
    bytes_text(body, "]}\n");
    catalog_view_release(&view);
    if (status != WEIR_OK)
        reply_failure(exchange, &err);
    else
        reply_json(exchange, ready ? 200 : 503, body);
}

static void list_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *body = reply_begin(exchange);
    bool any = false;
    (void)request;
    bytes_text(body, "{\"models\":[");
    for (int i = 0; i < catalog_model_count(api->catalog); i++) {
        const char *name = catalog_name(api->catalog, i);
        if (!name[0])
            continue;
        bytes_text(body, any ? "," : "");
        bytes_json_string(body, name, strlen(name));
        any = true;
    }
    bytes_text(body, "]}\n");
    reply_json(exchange, 200, body);
}

static const char *dtype_text(enum tensor_dtype dtype) {
    static const char *const texts[TENSOR_DTYPE_COUNT] = {
        [TENSOR_F32] = "DT_FLOAT", [TENSOR_U8] = "DT_UINT8",   [TENSOR_I8] = "DT_INT8",
        [TENSOR_I32] = "DT_INT32", [TENSOR_I64] = "DT_INT64",  [TENSOR_BOOL] = "DT_BOOL",
        [TENSOR_F16] = "DT_HALF",  [TENSOR_F64] = "DT_DOUBLE", [TENSOR_BF16] = "DT_BFLOAT16"};
    return texts[dtype];
}

static void write_tensors(struct bytes *out, const char *member, const struct tensor_spec *specs, int count) {
    bytes_printf(out, "\"%s\":{", member);
    for (int i = 0; i < count; i++) {
        const struct tensor_spec *spec = &specs[i];
        bytes_text(out, i > 0 ? "," : "");
        bytes_json_string(out, spec->name, strlen(spec->name));
        bytes_printf(out, ":{\"dtype\":\"%s\",\"tensor_shape\":{\"dim\":[", dtype_text(spec->dtype));
        for (int d = 0; d < spec->shape.rank; d++)
            bytes_printf(out, "%s{\"size\":\"%" PRId64 "\",\"name\":\"\"}", d > 0 ? "," : "",
                         spec->shape.dims[d] < 0 ? -1 : spec->shape.dims[d]);
        bytes_text(out, "],\"unknown_rank\":false},");
        bytes_json_member(out, "name", spec->name);
        bytes_text(out, "}");
    }
    bytes_text(out, "}");
}

static void metadata_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *body = reply_begin(exchange);
    struct catalog_choice choice;
    struct catalog_ask ask = {.key = NULL};
    struct weir_error err;
    (void)request;
    enum weir_status status = read_path(exchange, &ask, &err);
    if (!ask.version)
        ask.version = "stable"; /* who only looks takes no part in a rollout */
    if (status == WEIR_OK)
        status = catalog_route(api->catalog, &ask, &choice, &err);
    if (status != WEIR_OK) {
        reply_failure(exchange, &err);
        return;
    }
    struct version_info info = engine_describe(choice.version);
    bytes_text(body, "{\"model_spec\":{");
    bytes_json_member(body, "name", info.model_name);
    bytes_printf(body,
                 ",\"signature_name\":\"\",\"version\":\"%" PRIu64 "\"},\"metadata\":{\"signature_def\":{"
                 "\"signature_def\":{\"serving_default\":{",
                 info.number);
    write_tensors(body, "inputs", info.signature->inputs, info.signature->input_count);
    bytes_text(body, ",");
    write_tensors(body, "outputs", info.signature->outputs, info.signature->output_count);
    bytes_text(body, ",\"method_name\":\"tensorflow/serving/predict\"}}}}}\n");
    catalog_choice_release(&choice);
    reply_json(exchange, 200, body);
}

#define READS .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS"

static const struct handler models_handler = {.route = ROUTE_V1, READS, .head = list_head};
static const struct handler model_handler = {.route = ROUTE_V1, READS, .head = status_head, .kind = &by_number};
static const struct handler model_label_handler = {.route = ROUTE_V1, READS, .head = status_head, .kind = &by_label};
static const struct handler metadata_handler = {.route = ROUTE_V1, READS, .head = metadata_head, .kind = &by_number};
static const struct handler metadata_label_handler = {
    .route = ROUTE_V1, READS, .head = metadata_head, .kind = &by_label};

const struct api_route api_v1_routes[] = {
    {"/v1/models", &models_handler},
    {"/v1/models/{model}:predict", &predict_handler},
    {"/v1/models/{model}/versions/{version}:predict", &predict_handler},
    {"/v1/models/{model}/labels/{label}:predict", &predict_label_handler},
    {"/v1/models/{model}", &model_handler},
    {"/v1/models/{model}/versions/{version}", &model_handler},
    {"/v1/models/{model}/labels/{label}", &model_label_handler},
    {"/v1/models/{model}/metadata", &metadata_handler},
    {"/v1/models/{model}/versions/{version}/metadata", &metadata_handler},
    {"/v1/models/{model}/labels/{label}/metadata", &metadata_label_handler},
    {NULL, NULL},
};
