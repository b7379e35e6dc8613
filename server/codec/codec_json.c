#include "server/codec/codec_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/codec/decoder.h"
#include "server/codec/json_answer.h"
#include "server/codec/json_reader.h"
#include "server/codec/json_tensor.h"
#include "server/codec/place.h"

/* Where in the document the reader stands. */
enum stage {
    STAGE_ROOT,      /* before the outermost object */
    STAGE_MEMBERS,   /* in it, between members */
    STAGE_INSTANCES, /* behind "instances": */
    STAGE_ROWS,      /* in the array of rows of the only input */
    STAGE_OBJECTS,   /* in the array of objects, each a row of every input */
    STAGE_INSTANCE,  /* in such an object, between members */
    STAGE_TENSOR,    /* in one row of an input, or in the whole of one without rows; after_tensor follows */
    STAGE_SKIP,      /* in the value of a member that nobody wants, until the depth is skip_depth again */
};

struct json_decoder {
    struct decoder decoder;
    const struct signature *signature;
    size_t max_rows;
    bool has_rows; /* some input has */
    enum stage stage, after_tensor;
    int skip_depth;
    bool seen;                  /* "instances" */
    size_t rows;                /* finished objects */
    struct json_tensor *tensor; /* that is being read */
    int64_t free_sizes[TENSOR_MAX_FREE];
    struct json_reader reader;
    struct json_tensor tensors[]; /* one for each input */
};

static bool is_named(const struct json_decoder *json) {
    return json->signature->input_count > 1;
}

/* Puts the input's name in front of an error about it, where there are several. */
static enum weir_status fail_in_tensor(const struct json_decoder *json, enum weir_status status,
                                       struct weir_error *err) {
    if (status != WEIR_OK && err && is_named(json))
        weir_fail_in(err, "input \"%s\"", json->tensor->spec->name);
    return status;
}

/* Writes the inputs' names, `"a", "b"`. */
static const char *names_text(const struct json_decoder *json, char *text, size_t size) {
    size_t used = 0;
    for (int i = 0; i < json->signature->input_count && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s\"%s\"", i > 0 ? ", " : "", json->signature->inputs[i].name);
    return text;
}

static struct json_tensor *find_input(struct json_decoder *json) {
    const struct json_string *name = &json->reader.string;
    for (int i = 0; i < json->signature->input_count && !name->cut; i++) {
        const char *input = json->signature->inputs[i].name;
        if (strlen(input) == name->size && memcmp(input, name->text, name->size) == 0)
            return &json->tensors[i];
    }
    return NULL;
}

static void begin_tensor(struct json_decoder *json, struct json_tensor *tensor, enum stage after) {
    json->tensor = tensor;
    json->stage = STAGE_TENSOR;
    json->after_tensor = after;
}

/* A token inside the array of rows of the only input. */
static enum weir_status take_in_rows(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    struct json_tensor *tensor = json->tensor;
    if (json_tensor_is_between(tensor)) {
        if (token == JSON_ARRAY_END) {
            json->stage = STAGE_MEMBERS;
            json->rows = tensor->counts[0];
            if (json->rows == 0)
                return weir_fail(err, WEIR_INVALID, "\"instances\" is empty: at least one row is needed");
            return WEIR_OK;
        }
        if (tensor->counts[0] == json->max_rows)
            return weir_fail(err, WEIR_TOO_LARGE, "more than %zu rows in \"instances\" (offset %zu)", json->max_rows,
                             json->reader.token_offset);
    }
    return json_tensor_take(tensor, &json->reader, token, err);
}

/* A token between the objects of "instances". */
static enum weir_status take_object(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    char names[PLACE_TEXT_BYTES];
    if (token == JSON_ARRAY_END) {
        json->stage = STAGE_MEMBERS;
        if (json->rows == 0)
            return weir_fail(err, WEIR_INVALID, "\"instances\" is empty: at least one row is needed");
        return WEIR_OK;
    }
    if (json->rows == json->max_rows)
        return weir_fail(err, WEIR_TOO_LARGE, "more than %zu rows in \"instances\" (offset %zu)", json->max_rows,
                         json->reader.token_offset);
    if (json->rows == 1 && !json->has_rows)
        return weir_fail(err, WEIR_INVALID, "row 1: no input of the model has a batch dimension: one row is all");
    if (token != JSON_OBJECT)
        return weir_fail(err, WEIR_INVALID, "row %zu: expected an object of the inputs %s, got %s", json->rows,
                         names_text(json, names, sizeof names), json_tensor_token_text(token));
    json->stage = STAGE_INSTANCE;
    return WEIR_OK;
}

/* The end of an object: every input that has rows must have got one. */
static enum weir_status end_instance(struct json_decoder *json, struct weir_error *err) {
    for (int i = 0; i < json->signature->input_count; i++) {
        const struct json_tensor *tensor = &json->tensors[i];
        if (tensor->has_rows && tensor->counts[0] != json->rows + 1)
            return weir_fail(err, WEIR_INVALID, "row %zu: input \"%s\" is missing", json->rows, tensor->spec->name);
    }
    json->rows++;
    json->stage = STAGE_OBJECTS;
    return WEIR_OK;
}

/* A token between the members of an object of "instances". */
static enum weir_status take_input(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    char names[PLACE_TEXT_BYTES];
    if (token != JSON_KEY)
        return end_instance(json, err);
    const struct json_string *name = &json->reader.string;
    struct json_tensor *tensor = find_input(json);
    if (!tensor && name->cut) /* how much of it is kept depends on how the body came */
        return weir_fail(err, WEIR_INVALID, "row %zu: there is no input of so long a name, the model takes %s",
                         json->rows, names_text(json, names, sizeof names));
    if (!tensor)
        return weir_fail(err, WEIR_INVALID, "row %zu: there is no input \"%.*s\", the model takes %s", json->rows,
                         (int)name->size, name->text, names_text(json, names, sizeof names));
    if (!tensor->has_rows && tensor->counts[0] > 0)
        return weir_fail(err, WEIR_INVALID, "row %zu: input \"%s\" has no batch dimension: it is given once",
                         json->rows, tensor->spec->name);
    if (tensor->has_rows && tensor->counts[0] > json->rows)
        return weir_fail(err, WEIR_INVALID, "row %zu: member \"%s\" comes twice (offset %zu)", json->rows,
                         tensor->spec->name, json->reader.token_offset);
    begin_tensor(json, tensor, STAGE_INSTANCE);
    return WEIR_OK;
}

/* A token between the members of the document. */
static enum weir_status take_member(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    static const char instances[] = "instances";
    if (token != JSON_KEY) /* the object's end */
        return WEIR_OK;
    const struct json_string *name = &json->reader.string;
    if (!name->cut && name->size == sizeof instances - 1 && memcmp(name->text, instances, name->size) == 0) {
        if (json->seen) /* the reader saw it already, unless the names before were too many to remember */
            return json_reader_fail(&json->reader, err, "member \"instances\" comes twice");
        json->seen = true;
        json->stage = STAGE_INSTANCES;
        return WEIR_OK;
    }
    struct json_tensor *tensor = find_input(json);
    if (tensor && !tensor->has_rows) {
        if (tensor->counts[0] > 0)
            return weir_fail(err, WEIR_INVALID, "input \"%s\" is given twice (offset %zu)", tensor->spec->name,
                             json->reader.token_offset);
        begin_tensor(json, tensor, STAGE_MEMBERS);
        return WEIR_OK;
    }
    json->stage = STAGE_SKIP;
    json->skip_depth = json->reader.depth;
    return WEIR_OK;
}

static enum weir_status take_tensor(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    enum weir_status status = json_tensor_take(json->tensor, &json->reader, token, err);
    if (json_tensor_is_between(json->tensor))
        json->stage = json->after_tensor;
    return fail_in_tensor(json, status, err);
}

/* The value of "instances". */
static enum weir_status take_instances(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    char expected[PLACE_TEXT_BYTES];
    struct json_tensor *only = &json->tensors[0];
    if (!is_named(json) && !only->has_rows) { /* it holds the whole tensor */
        if (only->counts[0] > 0)
            return weir_fail(err, WEIR_INVALID, "input \"%s\" is given twice", only->spec->name);
        json->rows = 1;
        begin_tensor(json, only, STAGE_MEMBERS);
        return take_tensor(json, token, err);
    }
    if (token != JSON_ARRAY && is_named(json))
        return weir_fail(err, WEIR_INVALID, "\"instances\" is %s, expected an array of objects of the inputs %s",
                         json_tensor_token_text(token), names_text(json, expected, sizeof expected));
    if (token != JSON_ARRAY)
        return weir_fail(err, WEIR_INVALID, "\"instances\" is %s, expected an array of rows, each %s",
                         json_tensor_token_text(token), place_expected(expected, only->spec, &only->row, 1));
    json->tensor = only;
    json->stage = is_named(json) ? STAGE_OBJECTS : STAGE_ROWS;
    return WEIR_OK;
}

static enum weir_status take_token(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    switch (json->stage) {
    case STAGE_ROOT:
        if (token != JSON_OBJECT)
            return weir_fail(err, WEIR_INVALID, "the body is %s, expected an object with member \"instances\"",
                             json_tensor_token_text(token));
        json->stage = STAGE_MEMBERS;
        return WEIR_OK;
    case STAGE_MEMBERS:
        return take_member(json, token, err);
    case STAGE_INSTANCES:
        return take_instances(json, token, err);
    case STAGE_ROWS:
        return take_in_rows(json, token, err);
    case STAGE_OBJECTS:
        return take_object(json, token, err);
    case STAGE_INSTANCE:
        return take_input(json, token, err);
    case STAGE_TENSOR:
        return take_tensor(json, token, err);
    case STAGE_SKIP:
        if (json->reader.depth == json->skip_depth)
            json->stage = STAGE_MEMBERS;
        return WEIR_OK;
    }
    return WEIR_OK;
}

/* Is the reader in arrays whose numbers may be read the quick way? */
static bool in_numbers(const struct json_decoder *json) {
    return json->stage == STAGE_ROWS || (json->stage == STAGE_TENSOR && !json_tensor_is_between(json->tensor));
}

/* Takes tokens until the piece, or after the last one the document, is used up. */
static enum weir_status drain(struct json_decoder *json, struct weir_error *err) {
    for (;;) {
        enum weir_status status = WEIR_OK;
        if (in_numbers(json))
            status = json_tensor_take_numbers(json->tensor, &json->reader, err);
        if (status != WEIR_OK)
            return fail_in_tensor(json, status, err);
        enum json_token token;
        status = json_reader_next(&json->reader, &token, err);
        if (status != WEIR_OK) {
            char place[PLACE_TEXT_BYTES];
            bool in_tensor = json->stage == STAGE_ROWS || json->stage == STAGE_TENSOR;
            if (!err || !in_tensor || !json_reader_at_value(&json->reader))
                return status;
            weir_fail_in(err, "%s", json_tensor_place(json->tensor, place));
            return fail_in_tensor(json, status, err);
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

/* Inputs without rows may come anywhere: are they there? */
static enum weir_status check_complete(struct json_decoder *json, struct weir_error *err) {
    if (!json->seen && json->has_rows)
        return weir_fail(err, WEIR_INVALID, "member \"instances\" is missing");
    for (int i = 0; i < json->signature->input_count; i++) {
        const struct json_tensor *tensor = &json->tensors[i];
        if (tensor->counts[0] > 0)
            continue;
        if (!json->seen && !is_named(json))
            return weir_fail(err, WEIR_INVALID, "member \"instances\" is missing");
        return weir_fail(
            err, WEIR_INVALID,
            "input \"%s\" is missing: it has no batch dimension and is given once, beside \"instances\" or "
            "in the first of them",
            tensor->spec->name);
    }
    return WEIR_OK;
}

static enum weir_status finish(struct decoder *decoder, struct decoded *out, struct weir_error *err) {
    struct json_decoder *json = (struct json_decoder *)decoder;
    int count = json->signature->input_count;
    json_reader_end(&json->reader);
    enum weir_status status = drain(json, err);
    if (status == WEIR_OK)
        status = check_complete(json, err);
    if (status != WEIR_OK)
        return status;
    struct job_tensor *inputs = calloc((size_t)count, sizeof *inputs);
    if (!inputs)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
    for (int i = 0; i < count; i++)
        json_tensor_finish(&json->tensors[i], &inputs[i]);
    struct tensor_dims dims = {.rows = json->has_rows ? (uint32_t)json->rows : 1,
                               .free_count = json->signature->free_count};
    memcpy(dims.free, json->free_sizes, sizeof dims.free);
    *out = (struct decoded){.dims = dims, .inputs = inputs};
    return WEIR_OK;
}

static void close_decoder(struct decoder *decoder) {
    struct json_decoder *json = (struct json_decoder *)decoder;
    for (int i = 0; i < json->signature->input_count; i++)
        json_tensor_release(&json->tensors[i]);
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
    json->signature = signature;
    json->max_rows = options->max_rows;
    json->has_rows = false;
    json->stage = STAGE_ROOT;
    json->seen = false;
    json->rows = 0;
    json->tensor = &json->tensors[0];
    memset(json->free_sizes, 0, sizeof json->free_sizes);
    for (size_t i = 0; i < count; i++) {
        struct json_tensor_options tensor = {.spec = &signature->inputs[i],
                                             .free_sizes = json->free_sizes,
                                             .max_rows = options->max_rows,
                                             .body_bytes = options->body_bytes,
                                             .input_count = signature->input_count};
        json_tensor_init(&json->tensors[i], &tensor);
        json->has_rows = json->has_rows || json->tensors[i].has_rows;
    }
    json_reader_init(&json->reader);
    *out = &json->decoder;
    return WEIR_OK;
}
