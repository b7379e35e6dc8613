#include "server/codec/codec_json.h"

#include <stdlib.h>
#include <string.h>

#include "server/codec/decoder.h"
#include "server/codec/json_inputs.h"
#include "server/codec/json_reader.h"
#include "server/codec/json_tensor.h"
#include "server/codec/place.h"

/* Where in the document the reader stands. */
enum stage {
    STAGE_ROOT,      /* before the outermost object */
    STAGE_MEMBERS,   /* in it, between members */
    STAGE_ROWS,      /* behind "instances": */
    STAGE_COLUMNS,   /* behind "inputs": */
    STAGE_SIGNATURE, /* behind "signature_name": */
    STAGE_INPUTS,    /* in a value that belongs to the inputs */
    STAGE_SKIP,      /* in the value of a member that nobody wants, until the depth is skip_depth again */
};

struct json_decoder {
    struct decoder decoder;
    bool is_v1;
    enum stage stage;
    int skip_depth;
    struct json_reader reader;
    struct json_inputs inputs;
    struct json_tensor tensors[]; /* one for each input */
};

static bool is_name(const struct json_decoder *json, const char *text) {
    const struct json_string *name = &json->reader.string;
    return !name->cut && name->size == strlen(text) && memcmp(name->text, text, name->size) == 0;
}

/* "instances" or "inputs": which of the two, and only once. */
static enum weir_status begin_inputs(struct json_decoder *json, bool columns, struct weir_error *err) {
    if (json->inputs.was_read && columns != json->inputs.columns)
        return json_reader_fail(&json->reader, err, "\"instances\" and \"inputs\" are both there, one is needed");
    if (json->inputs.was_read) /* the reader saw it already, unless the names before were too many to remember */
        return json_reader_fail(&json->reader, err,
                                columns ? "member \"inputs\" comes twice" : "member \"instances\" comes twice");
    json->stage = columns ? STAGE_COLUMNS : STAGE_ROWS;
    return WEIR_OK;
}

/* A token between the members of the document. */
static enum weir_status take_member(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    if (token != JSON_KEY) /* the object's end */
        return WEIR_OK;
    if (is_name(json, "instances"))
        return begin_inputs(json, false, err);
    if (json->is_v1 && is_name(json, "inputs"))
        return begin_inputs(json, true, err);
    if (json->is_v1 && is_name(json, "signature_name")) {
        json->stage = STAGE_SIGNATURE;
        return WEIR_OK;
    }
    struct json_tensor *tensor = json_inputs_find(&json->inputs);
    if (tensor && tensor->spec->batch_axis < 0) {
        json->stage = STAGE_INPUTS;
        return json_inputs_begin_shared(&json->inputs, tensor, err);
    }
    json->stage = STAGE_SKIP;
    json->skip_depth = json->reader.depth;
    return WEIR_OK;
}

/* The value of "signature_name": a model has one signature. */
static enum weir_status take_signature(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    const struct json_string *name = &json->reader.string;
    json->stage = STAGE_MEMBERS;
    if (token != JSON_STRING)
        return weir_fail(err, WEIR_INVALID, "\"signature_name\" is %s, expected a string",
                         json_tensor_token_text(token));
    if (name->cut)
        return weir_fail(err, WEIR_INVALID, "there is no signature of so long a name, only \"serving_default\"");
    if (name->size == 0 || is_name(json, "serving_default"))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "there is no signature \"%.*s\", only \"serving_default\"", (int)name->size,
                     name->text);
}

static enum weir_status take_root(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    json->stage = STAGE_MEMBERS;
    if (token == JSON_OBJECT)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "the body is %s, expected an object with member \"instances\"%s",
                     json_tensor_token_text(token), json->is_v1 ? " or \"inputs\"" : "");
}

static enum weir_status take_token(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    switch (json->stage) {
    case STAGE_ROOT:
        return take_root(json, token, err);
    case STAGE_MEMBERS:
        return take_member(json, token, err);
    case STAGE_SIGNATURE:
        return take_signature(json, token, err);
    case STAGE_SKIP:
        if (json->reader.depth == json->skip_depth)
            json->stage = STAGE_MEMBERS;
        return WEIR_OK;
    case STAGE_ROWS:
        status = json_inputs_begin_rows(&json->inputs, token, err);
        break;
    case STAGE_COLUMNS:
        status = json_inputs_begin_columns(&json->inputs, token, err);
        break;
    case STAGE_INPUTS:
        status = json_inputs_take(&json->inputs, token, err);
        break;
    }
    json->stage = json->inputs.stage == JSON_INPUTS_CLOSED ? STAGE_MEMBERS : STAGE_INPUTS;
    return status;
}

/* Takes tokens until the piece, or after the last one the document, is used up. */
static enum weir_status drain(struct json_decoder *json, struct weir_error *err) {
    for (;;) {
        enum weir_status status = json_inputs_take_numbers(&json->inputs, err);
        if (status != WEIR_OK)
            return status;
        enum json_token token;
        status = json_reader_next(&json->reader, &token, err);
        if (status != WEIR_OK) {
            json_inputs_place_error(&json->inputs, err);
            return status;
        }
        if (token == JSON_MORE || token == JSON_END)
            return WEIR_OK;
        status = take_token(json, token, err);
        if (status != WEIR_OK)
            return status;
    }
}

static enum weir_status feed(struct decoder *decoder, const char *bytes, size_t size, struct weir_error *err) {
    struct json_decoder *json = (struct json_decoder *)decoder;
    json_reader_feed(&json->reader, bytes, size);
    return drain(json, err);
}

static enum weir_status finish(struct decoder *decoder, struct decoded *out, struct weir_error *err) {
    struct json_decoder *json = (struct json_decoder *)decoder;
    json_reader_end(&json->reader);
    enum weir_status status = drain(json, err);
    if (status != WEIR_OK)
        return status;
    bool is_needed =
        json->inputs.has_rows || (json->inputs.signature->input_count == 1 && json->tensors[0].counts[0] == 0);
    if (is_needed && !json->inputs.was_read)
        return weir_fail(err, WEIR_INVALID, "member \"instances\"%s is missing", json->is_v1 ? " or \"inputs\"" : "");
    return json_inputs_finish(&json->inputs, out, err);
}

static void close_decoder(struct decoder *decoder) {
    struct json_decoder *json = (struct json_decoder *)decoder;
    json_inputs_release(&json->inputs);
    free(json);
}

static enum weir_status check_inputs(const struct signature *signature, struct weir_error *err) {
    if (signature->input_count < 1)
        return weir_fail(err, WEIR_UNSUPPORTED, "the model takes no inputs");
    for (int i = 0; i < signature->input_count; i++) {
        const struct tensor_spec *spec = &signature->inputs[i];
        char shape[PLACE_TEXT_BYTES];
        for (int d = 0; d < spec->shape.rank; d++)
            if (spec->shape.dims[d] == 0)
                return weir_fail(err, WEIR_UNSUPPORTED, "the model takes \"%s\" as %s %s: it has no elements",
                                 spec->name, tensor_dtype_text(spec->dtype),
                                 tensor_shape_text(&spec->shape, shape, sizeof shape));
    }
    return WEIR_OK;
}

enum weir_status codec_json_open(const struct decoder_options *options, struct decoder **out, struct weir_error *err) {
    static const struct decoder_kind kind = {.feed = feed, .finish = finish, .close = close_decoder};
    const struct signature *signature = options->signature;
    enum weir_status status = check_inputs(signature, err);
    if (status != WEIR_OK)
        return status;
    size_t count = (size_t)signature->input_count;
    struct json_decoder *json = malloc(sizeof *json + count * sizeof json->tensors[0]);
    if (!json)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a JSON reader");
    json->decoder.kind = &kind;
    json->is_v1 = options->format == CODEC_V1;
    json->stage = STAGE_ROOT;
    json_reader_init(&json->reader);
    json_inputs_init(&json->inputs, options, &json->reader, json->tensors);
    *out = &json->decoder;
    return WEIR_OK;
}
