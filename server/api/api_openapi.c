/* GET /openapi.json: what the server takes and gives, in OpenAPI 3.1, with the shapes of the models that serve now.
 * Source: spec.openapis.org/oas/v3.1.0. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/catalog.h"
#include "engine/catalog_admin.h"
#include "engine/engine.h"
#include "server/api/api.h"
#include "server/codec/v2_datatype.h"
#include "server/http/reply.h"

static void write_element(struct bytes *out, enum tensor_dtype dtype) {
    static const char *const schemas[TENSOR_DTYPE_COUNT] = {
        [TENSOR_F32] = "{\"type\":\"number\",\"format\":\"float\"}",
        [TENSOR_F64] = "{\"type\":\"number\",\"format\":\"double\"}",
        [TENSOR_F16] = "{\"type\":\"number\"}",
        [TENSOR_BF16] = "{\"type\":\"number\"}",
        [TENSOR_U8] = "{\"type\":\"integer\",\"minimum\":0,\"maximum\":255}",
        [TENSOR_I8] = "{\"type\":\"integer\",\"minimum\":-128,\"maximum\":127}",
        [TENSOR_I32] = "{\"type\":\"integer\",\"format\":\"int32\"}",
        [TENSOR_I64] = "{\"type\":\"integer\",\"format\":\"int64\"}",
        [TENSOR_BOOL] = "{\"type\":\"boolean\"}"};
    bytes_text(out, schemas[dtype]);
}

/* Arrays within each other, one for each dimension from `level` on but the batch's. */
static void write_array(struct bytes *out, const struct tensor_spec *spec, int level) {
    if (level == spec->batch_axis)
        level++;
    if (level >= spec->shape.rank) {
        write_element(out, spec->dtype);
        return;
    }
    int64_t size = spec->shape.dims[level];
    bytes_text(out, "{\"type\":\"array\",\"items\":");
    write_array(out, spec, level + 1);
    if (size >= 0)
        bytes_printf(out, ",\"minItems\":%" PRId64 ",\"maxItems\":%" PRId64 "}", size, size);
    else
        bytes_text(out, ",\"minItems\":1}");
}

/* One row of all inputs or outputs: the row itself where there is one, an object of them by name where there are more.
 */
static void write_row(struct bytes *out, const struct tensor_spec *specs, int count) {
    if (count == 1) {
        write_array(out, &specs[0], 0);
        return;
    }
    bytes_text(out, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < count; i++) {
        bytes_text(out, i > 0 ? "," : "");
        bytes_json_string(out, specs[i].name, strlen(specs[i].name));
        bytes_text(out, ":");
        write_array(out, &specs[i], 0);
    }
    bytes_text(out, "}}");
}

static void write_rows(struct bytes *out, const char *member, const struct tensor_spec *specs, int count) {
    bytes_printf(out,
                 "{\"type\":\"object\",\"required\":[\"%s\"],\"properties\":{\"%s\":{\"type\":\"array\",\"minItems\":1,"
                 "\"items\":",
                 member, member);
    write_row(out, specs, count);
    bytes_text(out, "}}}");
}

static void write_tensors(struct bytes *out, const struct tensor_spec *specs, int count) {
    bytes_text(out, "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"shape\",\"datatype\"],"
                    "\"properties\":{\"name\":{\"enum\":[");
    for (int i = 0; i < count; i++) {
        bytes_text(out, i > 0 ? "," : "");
        bytes_json_string(out, specs[i].name, strlen(specs[i].name));
    }
    bytes_text(out, "]},\"datatype\":{\"enum\":[");
    for (int i = 0; i < count; i++)
        bytes_printf(out, "%s\"%s\"", i > 0 ? "," : "", v2_datatype_text(specs[i].dtype));
    bytes_text(out, ",\"BYTES\"]},\"shape\":{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":0}},"
                    "\"parameters\":{\"type\":\"object\"},\"data\":{\"type\":\"array\"}}}}");
}

/* The schemas of one model: M.request, M.answer, M.v2_request, M.v2_answer. */
static void write_schemas(struct bytes *out, const struct version_info *info) {
    const struct signature *signature = info->signature;
    bytes_printf(out, ",\"%s.request\":", info->model_name);
    write_rows(out, "instances", signature->inputs, signature->input_count);
    bytes_printf(out, ",\"%s.answer\":", info->model_name);
    write_rows(out, "predictions", signature->outputs, signature->output_count);
    bytes_printf(out,
                 ",\"%s.v2_request\":{\"type\":\"object\",\"required\":[\"inputs\"],\"properties\":{"
                 "\"id\":{\"type\":\"string\",\"maxLength\":256},\"parameters\":{\"type\":\"object\"},\"inputs\":",
                 info->model_name);
    write_tensors(out, signature->inputs, signature->input_count);
    bytes_text(out, ",\"outputs\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\"]}}}}");
    bytes_printf(out,
                 ",\"%s.v2_answer\":{\"type\":\"object\",\"required\":[\"model_name\",\"model_version\",\"outputs\"],"
                 "\"properties\":{\"id\":{\"type\":\"string\"},\"model_name\":{\"const\":\"%s\"},"
                 "\"model_version\":{\"type\":\"string\"},\"outputs\":",
                 info->model_name, info->model_name);
    write_tensors(out, signature->outputs, signature->output_count);
    bytes_text(out, "}}");
}

#define ERRORS(code, text)                                                                                             \
    ",\"" code "\":{\"description\":\"" text "\",\"content\":{\"application/json\":{\"schema\":"                       \
    "{\"$ref\":\"#/components/schemas/error\"}}}}"
static const char errors[] =
    ERRORS("400", "the body is not what the model takes") ERRORS("404", "no such model or version")
        ERRORS("408", "the body did not come in time") ERRORS("413", "too many bytes or rows")
            ERRORS("415", "a type or coding that is not served") ERRORS("500", "the engine failed, or a result is not "
                                                                               "finite")
                ERRORS("503", "refused now: come again after Retry-After") ERRORS("504", "the deadline passed");
#undef ERRORS

/* The elements alone, or an array with its head: where a model has one tensor. */
static void write_bodies(struct bytes *out, const char *model, const char *schema, bool is_binary) {
    bytes_printf(out, "\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/%s.%s\"}}", model,
                 schema);
    if (is_binary)
        bytes_text(out, ",\"application/octet-stream\":{},\"application/x-npy\":{}");
    bytes_text(out, "}");
}

struct operation {
    const char *path, *summary, *request, *answer;
    bool is_binary;
};

static void write_operation(struct bytes *out, const struct version_info *info, const char *path,
                            const struct operation *operation) {
    bytes_printf(out, ",\"%s\":{\"post\":{\"summary\":\"%s\",\"requestBody\":{\"required\":true,", path,
                 operation->summary);
    write_bodies(out, info->model_name, operation->request, operation->is_binary && info->signature->input_count == 1);
    bytes_text(out, "},\"responses\":{\"200\":{\"description\":\"the results, row by row\",");
    write_bodies(out, info->model_name, operation->answer, operation->is_binary && info->signature->output_count == 1);
    bytes_printf(out, "}%s}}}", errors);
}

static void write_model(struct bytes *out, const struct version_info *info, bool is_default) {
    static const struct operation operations[] = {
        {"/models/%s/predict", "Predictions of this model.", "request", "answer", true},
        {"/v1/models/%s:predict", "The same, for clients of KServe V1 and TensorFlow Serving.", "request", "answer",
         false},
        {"/v2/models/%s/infer", "The same, for clients of the Open Inference Protocol.", "v2_request", "v2_answer",
         false},
    };
    static const struct operation plain = {"/predict", "Predictions of the default model.", "request", "answer", true};
    char path[128];
    if (is_default)
        write_operation(out, info, plain.path, &plain);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        const char *hole = strchr(operations[i].path, '%');
        snprintf(path, sizeof path, "%.*s%s%s", (int)(hole - operations[i].path), operations[i].path, info->model_name,
                 hole + 2);
        write_operation(out, info, path, &operations[i]);
    }
}

#define GET(path, text)                                                                                                \
    ",\"" path "\":{\"get\":{\"summary\":\"" text "\",\"responses\":{\"200\":{\"description\":\"yes\"},"               \
    "\"503\":{\"description\":\"not now\"}}}}"
static const char reads[] = GET("/v1/models", "The models' names.") GET("/v2", "What this server is.")
    GET("/v2/health/live", "Is the process alive?") GET("/v2/health/ready", "Does every model serve?")
        GET("/v2/models", "The models' names.") GET("/v2/models/stats", "What was done, and how long it took.");
#undef GET

/* Calls write for each model that serves. */
static void each_model(struct api *api, struct bytes *out,
                       void (*write)(struct bytes *, const struct version_info *, bool)) {
    for (int i = 0; i < catalog_model_count(api->catalog); i++) {
        struct version *version = catalog_stable(api->catalog, i);
        if (!version)
            continue;
        struct version_info info = engine_describe(version);
        write(out, &info, i == 0);
        engine_release(version);
    }
}

static void write_model_schemas(struct bytes *out, const struct version_info *info, bool is_default) {
    (void)is_default;
    write_schemas(out, info);
}

static void head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *out = reply_begin(exchange);
    (void)request;
    bytes_text(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"weir\",\"version\":\"" WEIR_VERSION
                    "\",\"description\":\"Every answer is in time, or a refusal at once.\"},\"paths\":{\"/\":{\"get\":{"
                    "\"summary\":\"Is the process alive?\",\"responses\":{\"200\":{\"description\":\"yes\"}}}}");
    bytes_text(out, reads);
    each_model(api, out, write_model);
    bytes_text(
        out,
        "},\"components\":{\"schemas\":{\"error\":{\"type\":\"object\",\"required\":[\"error\",\"code\",\"reason\"],"
        "\"properties\":{\"error\":{\"type\":\"string\"},\"code\":{\"type\":\"integer\"},"
        "\"reason\":{\"type\":\"string\"},\"retry_after_ms\":{\"type\":\"integer\",\"minimum\":1}}}");
    each_model(api, out, write_model_schemas);
    bytes_text(out, "}}}\n");
    reply_json(exchange, 200, out);
}

const struct handler api_openapi_handler = {
    .route = ROUTE_OPENAPI, .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS", .head = head};
