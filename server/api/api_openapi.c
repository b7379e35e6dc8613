/* GET /openapi.json: what the server takes and gives, in OpenAPI 3.1, with the shapes of the models that serve now.
 * Source: spec.openapis.org/oas/v3.1.0; JSON Schema 2020-12. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/catalog.h"
#include "engine/catalog_admin.h"
#include "engine/engine.h"
#include "server/api/api.h"
#include "server/codec/v2_datatype.h"
#include "server/http/reply.h"

#define WITHIN(type, least, most) "{\"type\":\"" type "\",\"minimum\":" least ",\"maximum\":" most "}"
#define FLOAT                     WITHIN("number", "-3.4028234663852886e38", "3.4028234663852886e38")

static void write_element(struct bytes *out, enum tensor_dtype dtype) {
    static const char *const schemas[TENSOR_DTYPE_COUNT] = {
        [TENSOR_F32] = FLOAT, /* float64 is computed in float32 */
        [TENSOR_F64] = FLOAT,
        [TENSOR_F16] = WITHIN("number", "-65504", "65504"),
        [TENSOR_BF16] = WITHIN("number", "-3.3895313892515355e38", "3.3895313892515355e38"),
        [TENSOR_U8] = WITHIN("integer", "0", "255"),
        [TENSOR_I8] = WITHIN("integer", "-128", "127"),
        [TENSOR_I32] = WITHIN("integer", "-2147483648", "2147483647"),
        [TENSOR_I64] = WITHIN("integer", "-9223372036854775808", "9223372036854775807"),
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

/* Begins a list of members with the next one's name. */
static void put_name(struct bytes *out, int at, const char *name) {
    bytes_text(out, at > 0 ? "," : "");
    bytes_json_string(out, name, strlen(name));
}

/* An object that has all these tensors by name. */
static void write_named(struct bytes *out, const struct tensor_spec *specs, int count) {
    bytes_text(out, "{\"type\":\"object\",\"required\":[");
    for (int i = 0; i < count; i++)
        put_name(out, i, specs[i].name);
    bytes_text(out, "],\"properties\":{");
    for (int i = 0; i < count; i++) {
        put_name(out, i, specs[i].name);
        bytes_text(out, ":");
        write_array(out, &specs[i], 0);
    }
    bytes_text(out, "}}");
}

/* Rows of all inputs or outputs: each the row itself where there is one tensor, an object of them where there are
 * more. */
static void write_rows(struct bytes *out, const char *member, const struct tensor_spec *specs, int count,
                       uint32_t most) {
    bytes_printf(out,
                 "{\"type\":\"object\",\"required\":[\"%s\"],\"properties\":{\"%s\":{\"type\":\"array\",\"minItems\":1,"
                 "\"maxItems\":%" PRIu32 ",\"items\":",
                 member, member, most);
    if (count == 1)
        write_array(out, &specs[0], 0);
    else
        write_named(out, specs, count);
    bytes_text(out, "}}}");
}

/* V2 has no JSON for the elements of these types. */
static bool is_bytes_alone(const struct tensor_spec *spec) {
    return spec->dtype == TENSOR_F16 || spec->dtype == TENSOR_BF16;
}

/* One tensor of V2. Where the batch stands the shape has the rows. */
static void write_tensor(struct bytes *out, const struct tensor_spec *spec, bool may_be_text) {
    bytes_text(
        out,
        "{\"type\":\"object\",\"required\":[\"name\",\"shape\",\"datatype\"],\"properties\":{\"name\":{\"const\":");
    bytes_json_string(out, spec->name, strlen(spec->name));
    bytes_printf(
        out, "},\"datatype\":{\"enum\":[\"%s\"%s]},\"parameters\":{\"type\":\"object\"},\"shape\":{\"type\":\"array\"",
        v2_datatype_text(spec->dtype), may_be_text ? ",\"BYTES\"" : "");
    if (!may_be_text) { /* classes have a shape of their own */
        bytes_printf(out, ",\"minItems\":%d,\"maxItems\":%d,\"prefixItems\":[", spec->shape.rank, spec->shape.rank);
        for (int i = 0; i < spec->shape.rank; i++) {
            bytes_text(out, i > 0 ? "," : "");
            if (i == spec->batch_axis || spec->shape.dims[i] < 0)
                bytes_text(out, "{\"type\":\"integer\",\"minimum\":1}");
            else
                bytes_printf(out, "{\"const\":%" PRId64 "}", spec->shape.dims[i]);
        }
        bytes_text(out, "]");
    }
    bytes_text(out, is_bytes_alone(spec) ? "}}}" : "},\"data\":{\"type\":\"array\"}}}");
}

enum { MOST_EXAMPLE_VALUES = 4096 };

/* A request of one row of zeros, free sizes 1: "example":{...}, with a comma before it. Nothing where a tensor is too
 * large for that, or travels as bytes alone. */
static void write_example(struct bytes *out, const struct signature *signature) {
    size_t start = out->size;
    bytes_text(out, ",\"example\":{\"inputs\":[");
    for (int i = 0; i < signature->input_count; i++) {
        const struct tensor_spec *spec = &signature->inputs[i];
        int64_t values = 1;
        bytes_text(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        bytes_json_string(out, spec->name, strlen(spec->name));
        bytes_printf(out, ",\"datatype\":\"%s\",\"shape\":[", v2_datatype_text(spec->dtype));
        for (int d = 0; d < spec->shape.rank; d++) {
            int64_t dim = spec->shape.dims[d] < 0 ? 1 : spec->shape.dims[d];
            bytes_printf(out, "%s%" PRId64, d > 0 ? "," : "", dim);
            values = dim == 0 || values > MOST_EXAMPLE_VALUES / dim ? 0 : values * dim;
        }
        if (values == 0 || is_bytes_alone(spec)) {
            out->size = start;
            return;
        }
        bytes_text(out, "],\"data\":[");
        for (int64_t v = 0; v < values; v++)
            bytes_printf(out, "%s%s", v > 0 ? "," : "", spec->dtype == TENSOR_BOOL ? "false" : "0");
        bytes_text(out, "]}");
    }
    bytes_text(out, "]}");
}

static void write_tensors(struct bytes *out, const struct tensor_spec *specs, int count, bool is_answer) {
    bytes_printf(out, "{\"type\":\"array\",\"minItems\":%d,\"maxItems\":%d,\"items\":{\"anyOf\":[",
                 is_answer ? 1 : count, count);
    for (int i = 0; i < count; i++) {
        bytes_text(out, i > 0 ? "," : "");
        write_tensor(out, &specs[i], is_answer);
    }
    bytes_text(out, "]}}");
}

/* The tensor of each row in an array. */
static void write_all_rows(struct bytes *out, const struct tensor_spec *spec, uint32_t most) {
    if (spec->batch_axis >= 0)
        bytes_printf(out, "{\"type\":\"array\",\"minItems\":1,\"maxItems\":%" PRIu32 ",\"items\":", most);
    write_array(out, spec, 0);
    bytes_text(out, spec->batch_axis >= 0 ? "}" : "");
}

/* The tensors by name, or the one alone, each with all rows: "columns". */
static void write_columns(struct bytes *out, const char *member, const struct tensor_spec *specs, int count,
                          uint32_t most) {
    bytes_printf(out,
                 "{\"type\":\"object\",\"required\":[\"%s\"],\"properties\":{\"%s\":{\"anyOf\":[{\"type\":\"object\","
                 "\"required\":[",
                 member, member);
    for (int i = 0; i < count; i++)
        put_name(out, i, specs[i].name);
    bytes_text(out, "],\"properties\":{");
    for (int i = 0; i < count; i++) {
        put_name(out, i, specs[i].name);
        bytes_text(out, ":");
        write_all_rows(out, &specs[i], most);
    }
    bytes_text(out, count == 1 ? "}}," : "}}");
    if (count == 1)
        write_all_rows(out, &specs[0], most);
    bytes_text(out, "]}}}");
}

/* The schemas of one model: M.request, M.answer, and those of V1 and V2. */
static void write_schemas(struct bytes *out, const struct version_info *info, const struct api *api) {
    const struct signature *signature = info->signature;
    uint32_t most = atomic_load(&api->max_request_rows);
    bytes_printf(out, ",\"%s.request\":", info->model_name);
    write_rows(out, "instances", signature->inputs, signature->input_count, most);
    bytes_printf(out, ",\"%s.answer\":", info->model_name);
    write_rows(out, "predictions", signature->outputs, signature->output_count, most);
    bytes_printf(out, ",\"%s.v1_request\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/%s.request\"},",
                 info->model_name, info->model_name);
    write_columns(out, "inputs", signature->inputs, signature->input_count, most);
    bytes_printf(out, "]},\"%s.v1_answer\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/%s.answer\"},",
                 info->model_name, info->model_name);
    write_columns(out, "outputs", signature->outputs, signature->output_count, most);
    bytes_printf(
        out,
        "]},\"%s.v2_request\":{\"type\":\"object\",\"required\":[\"inputs\"],\"properties\":{"
        "\"id\":{\"type\":\"string\",\"maxLength\":256},\"parameters\":{\"type\":\"object\",\"properties\":{"
        "\"timeout\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"microseconds\"},"
        "\"priority\":{\"type\":\"integer\",\"minimum\":0},\"binary_data_output\":{\"type\":\"boolean\"}}},\"inputs\":",
        info->model_name);
    write_tensors(out, signature->inputs, signature->input_count, false);
    bytes_text(
        out, ",\"outputs\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{"
             "\"name\":{\"enum\":[");
    for (int i = 0; i < signature->output_count; i++)
        put_name(out, i, signature->outputs[i].name);
    bytes_printf(out,
                 "]},\"parameters\":{\"type\":\"object\"}}}}}},\"%s.v2_answer\":{\"type\":\"object\",\"required\":["
                 "\"model_name\",\"model_version\",\"outputs\"],\"properties\":{\"id\":{\"type\":\"string\"},"
                 "\"model_name\":{\"const\":\"%s\"},\"model_version\":{\"type\":\"string\"},\"outputs\":",
                 info->model_name, info->model_name);
    write_tensors(out, signature->outputs, signature->output_count, true);
    bytes_text(out, "}}");
}

/* ---- operations */

/* Parameters, answers and schemas that are the same for every model, up to the last of the schemas. */
extern const char openapi_components[];

/* What may be answered instead of 200. */
static const char *const read_codes[] = {"400", "404", "405", "501", "503", NULL};
static const char *const predict_codes[] = {"400", "404", "405", "408", "409", "413",
                                            "415", "500", "501", "503", "504", NULL};

/* In what forms but JSON tensors come and go. */
enum form {
    JSON_ALONE,
    ONE_TENSOR, /* as its elements, or an array with its head; where the model has one */
    BEHIND_JSON /* bytes behind the JSON, as V2 has them */
};

/* What a path does. `%s` in the path is the model's name. Schemas: see write_bodies. */
struct operation {
    const char *path, *summary;
    const char *request; /* NULL: a GET; "": a POST that needs no body */
    const char *answer;
    enum form form;
};

/* schema: a common one, or ".NAME" of the model. example: of a signature, or NULL. */
static void write_bodies(struct bytes *out, const char *model, const char *schema, enum form form,
                         const struct signature *example) {
    bytes_printf(out, "\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/%s%s\"}",
                 schema[0] == '.' ? model : "", schema);
    if (example)
        write_example(out, example);
    bytes_text(out, form == ONE_TENSOR    ? "},\"application/octet-stream\":{},\"application/x-npy\":{}}"
                    : form == BEHIND_JSON ? "},\"application/octet-stream\":{}}"
                                          : "}}");
}

static enum form form_of(const struct operation *operation, int tensors) {
    return operation->form == ONE_TENSOR && tensors != 1 ? JSON_ALONE : operation->form;
}

static void write_parameters(struct bytes *out, const struct operation *operation) {
    static const char *const names[] = {"X-Request-Id", "traceparent", "X-Request-Timeout-Ms", "X-Priority",
                                        "X-Server-Timing"};
    bool is_versioned = strstr(operation->path, "{version}") != NULL;
    bytes_text(out, "\"parameters\":[");
    for (int i = 0; i < (operation->request ? 5 : 2); i++)
        bytes_printf(out, "%s{\"$ref\":\"#/components/parameters/%s\"}", i > 0 ? "," : "", names[i]);
    if (operation->form == BEHIND_JSON)
        bytes_text(out, ",{\"$ref\":\"#/components/parameters/Inference-Header-Content-Length\"}");
    bytes_text(out, is_versioned ? ",{\"$ref\":\"#/components/parameters/version\"}]" : "]");
}

/* info: of the model; NULL: there is none. */
static void write_operation(struct bytes *out, const struct operation *operation, const struct version_info *info) {
    const char *hole = strchr(operation->path, '%'), *model = info ? info->model_name : "";
    bytes_text(out, strcmp(operation->path, "/") == 0 ? "" : ",");
    if (hole)
        bytes_printf(out, "\"%.*s%s%s\"", (int)(hole - operation->path), operation->path, model, hole + 2);
    else
        bytes_printf(out, "\"%s\"", operation->path);
    bytes_printf(out, ":{\"%s\":{\"summary\":\"%s\",", operation->request ? "post" : "get", operation->summary);
    write_parameters(out, operation);
    if (operation->request && operation->request[0]) {
        bytes_text(out, ",\"requestBody\":{\"required\":true,");
        write_bodies(out, model, operation->request, form_of(operation, info ? info->signature->input_count : 0),
                     operation->form == BEHIND_JSON ? info->signature : NULL);
        bytes_text(out, "}");
    }
    bytes_text(out, ",\"responses\":{\"200\":{\"description\":\"done\",");
    if (operation->form == BEHIND_JSON)
        bytes_text(out, "\"headers\":{\"Inference-Header-Content-Length\":{\"description\":\"bytes of JSON before the "
                        "tensors' own, where there are such\",\"schema\":{\"type\":\"integer\"}}},");
    write_bodies(out, model, operation->answer, form_of(operation, info ? info->signature->output_count : 0), NULL);
    bytes_text(out, "}");
    if (strcmp(operation->path, "/") == 0)
        bytes_text(out, ",\"302\":{\"description\":\"to the status page, where Accept names text/html\"}");
    for (const char *const *code = operation->request ? predict_codes : read_codes; *code; code++)
        bytes_printf(out, ",\"%s\":{\"$ref\":\"#/components/responses/%s\"}", *code, *code);
    bytes_text(out, "}}}");
}

static void write_model(struct bytes *out, const struct version_info *info, bool is_default) {
    static const struct operation plain = {"/predict", "Predictions of the default model.", ".request", ".answer",
                                           ONE_TENSOR};
    static const struct operation operations[] = {
        {"/models/%s/predict", "Predictions of this model.", ".request", ".answer", ONE_TENSOR},
        {"/v1/models/%s:predict", "The same, for clients of KServe V1 and TensorFlow Serving.", ".v1_request",
         ".v1_answer", JSON_ALONE},
        {"/v1/models/%s/versions/{version}:predict", "The same, of one version.", ".v1_request", ".v1_answer",
         JSON_ALONE},
        {"/v1/models/%s", "Its versions.", NULL, "v1_status", JSON_ALONE},
        {"/v1/models/%s/metadata", "What it takes and gives.", NULL, "v1_metadata", JSON_ALONE},
        {"/v2/models/%s/infer", "Predictions, for clients of the Open Inference Protocol.", ".v2_request", ".v2_answer",
         BEHIND_JSON},
        {"/v2/models/%s/versions/{version}/infer", "The same, of one version.", ".v2_request", ".v2_answer",
         BEHIND_JSON},
        {"/v2/models/%s", "What it takes and gives.", NULL, "metadata", JSON_ALONE},
        {"/v2/models/%s/versions/{version}", "What a version takes and gives.", NULL, "metadata", JSON_ALONE},
        {"/v2/models/%s/ready", "Does it serve?", NULL, "ready", JSON_ALONE},
        {"/v2/models/%s/versions/{version}/ready", "Does the version serve?", NULL, "ready", JSON_ALONE},
        {"/v2/models/%s/config", "As Triton tells it.", NULL, "config", JSON_ALONE},
        {"/v2/models/%s/stats", "What was done, and how long it took.", NULL, "statistics", JSON_ALONE},
        {"/v2/models/%s/versions/{version}/stats", "What one version did.", NULL, "statistics", JSON_ALONE},
    };
    if (is_default)
        write_operation(out, &plain, info);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        write_operation(out, &operations[i], info);
}

static void write_common(struct bytes *out) {
    static const struct operation operations[] = {
        {"/", "Is the process alive?", NULL, "alive", JSON_ALONE},
        {"/v1/models", "The models' names.", NULL, "names", JSON_ALONE},
        {"/v2", "What this server is.", NULL, "server", JSON_ALONE},
        {"/v2/health/live", "Is the process alive?", NULL, "live", JSON_ALONE},
        {"/v2/health/ready", "Does every model serve?", NULL, "ready", JSON_ALONE},
        {"/v2/models", "The models' names.", NULL, "names", JSON_ALONE},
        {"/v2/models/stats", "What was done, and how long it took.", NULL, "statistics", JSON_ALONE},
        {"/v2/repository/index", "Every version there is.", "", "index", JSON_ALONE},
    };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        write_operation(out, &operations[i], NULL);
}

/* Calls write_model or, for is_schemas, write_schemas for each model that serves. */
static void each_model(struct api *api, struct bytes *out, bool is_schemas) {
    for (int i = 0; i < catalog_model_count(api->catalog); i++) {
        struct version *version = catalog_stable(api->catalog, i);
        if (!version)
            continue;
        struct version_info info = engine_describe(version);
        if (is_schemas)
            write_schemas(out, &info, api);
        else
            write_model(out, &info, i == 0);
        engine_release(version);
    }
}

static void head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *out = reply_begin(exchange);
    (void)request;
    bytes_text(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"weir\",\"version\":\"" WEIR_VERSION
                    "\",\"description\":\"Every answer is in time, or a refusal at once.\"},\"paths\":{");
    write_common(out);
    each_model(api, out, false);
    bytes_text(out, "},\"components\":{");
    bytes_text(out, openapi_components);
    each_model(api, out, true);
    bytes_text(out, "}}}\n");
    reply_json(exchange, 200, out);
}

const struct handler api_openapi_handler = {
    .route = ROUTE_OPENAPI, .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS", .head = head};
