#include "server/codec/json_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/codec/batch_axis.h"
#include "server/codec/place.h"

static bool is_named(const struct json_inputs *inputs) {
    return inputs->signature->input_count > 1;
}

static const char *member_of(const struct json_inputs *inputs) {
    return inputs->columns ? "inputs" : "instances";
}

/* Puts the input's name in front of an error about it, where there are several. */
static enum weir_status fail_in_tensor(const struct json_inputs *inputs, enum weir_status status,
                                       struct weir_error *err) {
    if (status != WEIR_OK && err && is_named(inputs))
        weir_fail_in(err, "input \"%s\"", inputs->tensor->spec->name);
    return status;
}

/* Says in an error about {"b64": ...} that it is not for numbers. */
static enum weir_status hint_strings(const struct json_inputs *inputs, enum weir_status status,
                                     struct weir_error *err) {
    if (status == WEIR_INVALID && err && inputs->is_v1) {
        char text[sizeof err->text];
        snprintf(text, sizeof text, "%s", err->text);
        return weir_fail(err, WEIR_INVALID, "%s; {\"b64\": ...} carries strings, the model takes numbers", text);
    }
    return status;
}

struct json_tensor *json_inputs_find(struct json_inputs *inputs) {
    const struct json_string *name = &inputs->reader->string;
    for (int i = 0; i < inputs->signature->input_count && !name->cut; i++) {
        const char *input = inputs->signature->inputs[i].name;
        if (strlen(input) == name->size && memcmp(input, name->text, name->size) == 0)
            return &inputs->tensors[i];
    }
    return NULL;
}

static bool is_b64(const struct json_string *name) {
    return !name->cut && name->size == 3 && memcmp(name->text, "b64", 3) == 0;
}

static void begin_tensor(struct json_inputs *inputs, struct json_tensor *tensor, enum json_inputs_stage after) {
    inputs->tensor = tensor;
    inputs->stage = JSON_INPUTS_TENSOR;
    inputs->after = after;
}

static void begin_skip(struct json_inputs *inputs, enum json_inputs_stage after) {
    inputs->skip_depth = inputs->reader->depth;
    inputs->stage = JSON_INPUTS_SKIP;
    inputs->after = after;
}

static enum weir_status fail_empty(const struct json_inputs *inputs, struct weir_error *err) {
    return weir_fail(err, WEIR_INVALID, "\"%s\" is empty: at least one row is needed",
                     is_named(inputs) && inputs->columns ? inputs->tensor->spec->name : member_of(inputs));
}

static enum weir_status fail_many(const struct json_inputs *inputs, struct weir_error *err) {
    return weir_fail(err, WEIR_TOO_LARGE, "more than %zu rows in \"%s\" (offset %zu)", inputs->max_rows,
                     member_of(inputs), inputs->reader->token_offset);
}

/* A token inside the array of rows of one input. */
static enum weir_status take_in_rows(struct json_inputs *inputs, enum json_token token, struct weir_error *err) {
    struct json_tensor *tensor = inputs->tensor;
    if (json_tensor_is_between(tensor)) {
        if (token == JSON_ARRAY_END) {
            inputs->stage = inputs->after;
            inputs->rows = tensor->counts[0];
            return inputs->rows == 0 ? fail_empty(inputs, err) : WEIR_OK;
        }
        if (tensor->counts[0] == inputs->max_rows)
            return fail_many(inputs, err);
    }
    enum weir_status status = json_tensor_take(tensor, inputs->reader, token, err);
    if (token == JSON_OBJECT)
        status = hint_strings(inputs, status, err);
    return fail_in_tensor(inputs, status, err);
}

/* A token between the objects of "instances". */
static enum weir_status take_object(struct json_inputs *inputs, enum json_token token, struct weir_error *err) {
    char names[PLACE_TEXT_BYTES];
    if (token == JSON_ARRAY_END) {
        inputs->stage = JSON_INPUTS_CLOSED;
        return inputs->rows == 0 ? fail_empty(inputs, err) : WEIR_OK;
    }
    if (inputs->rows == inputs->max_rows)
        return fail_many(inputs, err);
    if (inputs->rows == 1 && !inputs->has_rows)
        return weir_fail(err, WEIR_INVALID, "row 1: no input of the model has a batch dimension: one row is all");
    if (token != JSON_OBJECT)
        return weir_fail(err, WEIR_INVALID, "row %zu: expected an object of the inputs %s, got %s", inputs->rows,
                         place_names(names, sizeof names, inputs->signature), json_tensor_token_text(token));
    inputs->stage = JSON_INPUTS_INSTANCE;
    return WEIR_OK;
}

/* The end of an object: every input that has rows must have got one. */
static enum weir_status end_instance(struct json_inputs *inputs, struct weir_error *err) {
    for (int i = 0; i < inputs->signature->input_count; i++) {
        const struct json_tensor *tensor = &inputs->tensors[i];
        if (tensor->has_rows && tensor->counts[0] != inputs->rows + 1)
            return weir_fail(err, WEIR_INVALID, "row %zu: input \"%s\" is missing", inputs->rows, tensor->spec->name);
    }
    inputs->rows++;
    inputs->stage = JSON_INPUTS_OBJECTS;
    return WEIR_OK;
}

/* A token between the members of an object of "instances". */
static enum weir_status take_input(struct json_inputs *inputs, enum json_token token, struct weir_error *err) {
    char names[PLACE_TEXT_BYTES];
    if (token != JSON_KEY)
        return end_instance(inputs, err);
    const struct json_string *name = &inputs->reader->string;
    struct json_tensor *tensor = json_inputs_find(inputs);
    if (!tensor && name->cut) /* how much of it is kept depends on how the body came */
        return weir_fail(err, WEIR_INVALID, "row %zu: there is no input of so long a name, the model takes %s",
                         inputs->rows, place_names(names, sizeof names, inputs->signature));
    if (!tensor) {
        enum weir_status status =
            weir_fail(err, WEIR_INVALID, "row %zu: there is no input \"%.*s\", the model takes %s", inputs->rows,
                      (int)name->size, name->text, place_names(names, sizeof names, inputs->signature));
        return is_b64(name) ? hint_strings(inputs, status, err) : status;
    }
    if (!tensor->has_rows && tensor->counts[0] > 0)
        return weir_fail(err, WEIR_INVALID, "row %zu: input \"%s\" has no batch dimension: it is given once",
                         inputs->rows, tensor->spec->name);
    if (tensor->has_rows && tensor->counts[0] > inputs->rows)
        return weir_fail(err, WEIR_INVALID, "row %zu: member \"%s\" comes twice (offset %zu)", inputs->rows,
                         tensor->spec->name, inputs->reader->token_offset);
    begin_tensor(inputs, tensor, JSON_INPUTS_INSTANCE);
    return WEIR_OK;
}

static enum weir_status take_tensor(struct json_inputs *inputs, enum json_token token, struct weir_error *err) {
    enum weir_status status = json_tensor_take(inputs->tensor, inputs->reader, token, err);
    if (json_tensor_is_between(inputs->tensor))
        inputs->stage = inputs->after;
    if (token == JSON_OBJECT)
        status = hint_strings(inputs, status, err);
    return fail_in_tensor(inputs, status, err);
}

/* The first token of a column. */
static enum weir_status begin_column(struct json_inputs *inputs, struct json_tensor *tensor, enum json_token token,
                                     struct weir_error *err) {
    char expected[PLACE_TEXT_BYTES];
    enum json_inputs_stage after = inputs->after;
    if (tensor->has_rows && batch_axis_is_inside(tensor->spec))
        json_tensor_take_whole(tensor, TENSOR_MAX_FREE);
    begin_tensor(inputs, tensor, after);
    if (!tensor->has_rows)
        return take_tensor(inputs, token, err);
    if (token != JSON_ARRAY) {
        enum weir_status status =
            weir_fail(err, WEIR_INVALID, "\"%s\" is %s, expected an array of rows, each %s",
                      is_named(inputs) ? tensor->spec->name : member_of(inputs), json_tensor_token_text(token),
                      place_expected(expected, tensor->spec, &tensor->row, 1));
        return token == JSON_OBJECT ? hint_strings(inputs, status, err) : status;
    }
    inputs->stage = JSON_INPUTS_ROWS;
    return WEIR_OK;
}

/* A token in the object of columns: a name, the first of its value (inputs->tensor then waits for it), or the end. */
static enum weir_status take_column(struct json_inputs *inputs, enum json_token token, struct weir_error *err) {
    if (token == JSON_OBJECT_END) {
        inputs->stage = JSON_INPUTS_CLOSED;
        return WEIR_OK;
    }
    inputs->after = JSON_INPUTS_COLUMNS;
    if (token != JSON_KEY)
        return begin_column(inputs, inputs->tensor, token, err);
    struct json_tensor *tensor = json_inputs_find(inputs);
    if (!tensor && is_b64(&inputs->reader->string))
        return hint_strings(inputs, weir_fail(err, WEIR_INVALID, "there is no input \"b64\""), err);
    if (!tensor) {
        begin_skip(inputs, JSON_INPUTS_COLUMNS);
        return WEIR_OK;
    }
    if (tensor->counts[0] > 0)
        return weir_fail(err, WEIR_INVALID, "input \"%s\" is given twice (offset %zu)", tensor->spec->name,
                         inputs->reader->token_offset);
    inputs->tensor = tensor;
    return WEIR_OK;
}

enum weir_status json_inputs_begin_rows(struct json_inputs *inputs, enum json_token token, struct weir_error *err) {
    char expected[PLACE_TEXT_BYTES];
    struct json_tensor *only = &inputs->tensors[0];
    inputs->was_read = true;
    inputs->after = JSON_INPUTS_CLOSED;
    if (!is_named(inputs) && !only->has_rows) { /* it holds the whole tensor */
        if (only->counts[0] > 0)
            return weir_fail(err, WEIR_INVALID, "input \"%s\" is given twice", only->spec->name);
        inputs->rows = 1;
        begin_tensor(inputs, only, JSON_INPUTS_CLOSED);
        return take_tensor(inputs, token, err);
    }
    if (token != JSON_ARRAY && is_named(inputs))
        return weir_fail(err, WEIR_INVALID, "\"instances\" is %s, expected an array of objects of the inputs %s",
                         json_tensor_token_text(token), place_names(expected, sizeof expected, inputs->signature));
    if (token != JSON_ARRAY)
        return weir_fail(err, WEIR_INVALID, "\"instances\" is %s, expected an array of rows, each %s",
                         json_tensor_token_text(token), place_expected(expected, only->spec, &only->row, 1));
    inputs->tensor = only;
    inputs->stage = is_named(inputs) ? JSON_INPUTS_OBJECTS : JSON_INPUTS_ROWS;
    return WEIR_OK;
}

enum weir_status json_inputs_begin_columns(struct json_inputs *inputs, enum json_token token, struct weir_error *err) {
    char names[PLACE_TEXT_BYTES];
    struct json_tensor *only = &inputs->tensors[0];
    inputs->was_read = inputs->columns = true;
    inputs->after = JSON_INPUTS_CLOSED;
    if (token == JSON_OBJECT) {
        inputs->stage = JSON_INPUTS_COLUMNS;
        return WEIR_OK;
    }
    if (is_named(inputs))
        return weir_fail(err, WEIR_INVALID, "\"inputs\" is %s, expected an object of the inputs %s",
                         json_tensor_token_text(token), place_names(names, sizeof names, inputs->signature));
    if (only->counts[0] > 0)
        return weir_fail(err, WEIR_INVALID, "input \"%s\" is given twice", only->spec->name);
    return begin_column(inputs, only, token, err);
}

enum weir_status json_inputs_begin_shared(struct json_inputs *inputs, struct json_tensor *tensor,
                                          struct weir_error *err) {
    if (tensor->counts[0] > 0)
        return weir_fail(err, WEIR_INVALID, "input \"%s\" is given twice (offset %zu)", tensor->spec->name,
                         inputs->reader->token_offset);
    begin_tensor(inputs, tensor, JSON_INPUTS_CLOSED);
    return WEIR_OK;
}

enum weir_status json_inputs_take(struct json_inputs *inputs, enum json_token token, struct weir_error *err) {
    switch (inputs->stage) {
    case JSON_INPUTS_ROWS:
        if (token == JSON_OBJECT && inputs->is_v1 && !inputs->columns && json_tensor_is_between(inputs->tensor) &&
            inputs->tensor->counts[0] == 0) { /* the rows are objects, though there is one input */
            inputs->stage = JSON_INPUTS_OBJECTS;
            return take_object(inputs, token, err);
        }
        return take_in_rows(inputs, token, err);
    case JSON_INPUTS_OBJECTS:
        return take_object(inputs, token, err);
    case JSON_INPUTS_INSTANCE:
        return take_input(inputs, token, err);
    case JSON_INPUTS_COLUMNS:
        return take_column(inputs, token, err);
    case JSON_INPUTS_TENSOR:
        return take_tensor(inputs, token, err);
    case JSON_INPUTS_SKIP:
        if (inputs->reader->depth == inputs->skip_depth)
            inputs->stage = inputs->after;
        return WEIR_OK;
    case JSON_INPUTS_CLOSED:
        break;
    }
    return WEIR_OK;
}

enum weir_status json_inputs_take_numbers(struct json_inputs *inputs, struct weir_error *err) {
    if (inputs->stage != JSON_INPUTS_ROWS &&
        (inputs->stage != JSON_INPUTS_TENSOR || json_tensor_is_between(inputs->tensor)))
        return WEIR_OK;
    return fail_in_tensor(inputs, json_tensor_take_numbers(inputs->tensor, inputs->reader, err), err);
}

void json_inputs_place_error(const struct json_inputs *inputs, struct weir_error *err) {
    char place[PLACE_TEXT_BYTES];
    bool in_tensor = inputs->stage == JSON_INPUTS_ROWS || inputs->stage == JSON_INPUTS_TENSOR;
    if (!err || !in_tensor || !json_reader_at_value(inputs->reader))
        return;
    weir_fail_in(err, "%s", json_tensor_place(inputs->tensor, place));
    if (is_named(inputs))
        weir_fail_in(err, "input \"%s\"", inputs->tensor->spec->name);
}

/* Inputs without rows may come anywhere, columns in any order: are they there? */
static enum weir_status check_complete(const struct json_inputs *inputs, struct weir_error *err) {
    for (int i = 0; i < inputs->signature->input_count; i++) {
        const struct json_tensor *tensor = &inputs->tensors[i];
        if (tensor->counts[0] > 0)
            continue;
        if (inputs->columns)
            return weir_fail(err, WEIR_INVALID, "input \"%s\" is missing", tensor->spec->name);
        return weir_fail(
            err, WEIR_INVALID,
            "input \"%s\" is missing: it has no batch dimension and is given once, beside \"instances\" or "
            "in the first of them",
            tensor->spec->name);
    }
    return WEIR_OK;
}

/* Columns must have the same rows. */
static enum weir_status count_columns(struct json_inputs *inputs, struct weir_error *err) {
    const char *first = NULL;
    for (int i = 0; i < inputs->signature->input_count; i++) {
        const struct json_tensor *tensor = &inputs->tensors[i];
        if (tensor->spec->batch_axis < 0)
            continue;
        size_t rows = tensor->has_rows ? tensor->counts[0] : (size_t)inputs->free_sizes[TENSOR_MAX_FREE];
        if (first && rows != inputs->rows)
            return weir_fail(err, WEIR_INVALID, "input \"%s\" has %zu rows, input \"%s\" has %zu", tensor->spec->name,
                             rows, first, inputs->rows);
        if (rows > inputs->max_rows)
            return weir_fail(err, WEIR_TOO_LARGE, "more than %zu rows in \"inputs\"", inputs->max_rows);
        first = tensor->spec->name;
        inputs->rows = rows;
    }
    return WEIR_OK;
}

/* Makes rows of an array that was read whole. */
static enum weir_status split_rows(const struct tensor_spec *spec, uint32_t rows, struct job_tensor *tensor,
                                   struct weir_error *err) {
    struct tensor_shape row = {.rank = 0};
    for (int i = 0; i < tensor->row.rank; i++)
        if (i != spec->batch_axis)
            row.dims[row.rank++] = tensor->row.dims[i];
    void *data = malloc(tensor->row_bytes);
    if (!data)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
    batch_axis_to_rows(spec, &row, rows, tensor->data, data);
    free(tensor->data);
    *tensor = (struct job_tensor){.data = data, .row_bytes = tensor->row_bytes / rows, .row = row};
    return WEIR_OK;
}

enum weir_status json_inputs_finish(struct json_inputs *inputs, struct decoded *out, struct weir_error *err) {
    int count = inputs->signature->input_count;
    enum weir_status status = check_complete(inputs, err);
    if (status == WEIR_OK && inputs->columns)
        status = count_columns(inputs, err);
    if (status != WEIR_OK)
        return status;
    struct decoded decoded = {.inputs = calloc((size_t)count, sizeof *decoded.inputs),
                              .wishes.columns = inputs->columns};
    if (!decoded.inputs)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
    decoded.dims.rows = inputs->has_rows ? (uint32_t)inputs->rows : 1;
    decoded.dims.free_count = inputs->signature->free_count;
    memcpy(decoded.dims.free, inputs->free_sizes, sizeof decoded.dims.free);
    for (int i = 0; i < count && status == WEIR_OK; i++) {
        const struct json_tensor *tensor = &inputs->tensors[i];
        json_tensor_finish(&inputs->tensors[i], &decoded.inputs[i]);
        if (tensor->spec->batch_axis >= 0 && !tensor->has_rows)
            status = split_rows(tensor->spec, decoded.dims.rows, &decoded.inputs[i], err);
    }
    if (status == WEIR_OK)
        *out = decoded;
    else
        decoded_release(&decoded, count);
    return status;
}

void json_inputs_init(struct json_inputs *inputs, const struct decoder_options *options, struct json_reader *reader,
                      struct json_tensor *tensors) {
    const struct signature *signature = options->signature;
    *inputs = (struct json_inputs){.signature = signature,
                                   .reader = reader,
                                   .max_rows = options->max_rows,
                                   .is_v1 = options->format == CODEC_V1,
                                   .tensor = &tensors[0],
                                   .tensors = tensors};
    for (int i = 0; i < signature->input_count; i++) {
        struct json_tensor_options tensor = {.spec = &signature->inputs[i],
                                             .free_sizes = inputs->free_sizes,
                                             .max_rows = options->max_rows,
                                             .body_bytes = options->body_bytes,
                                             .input_count = signature->input_count};
        json_tensor_init(&tensors[i], &tensor);
        inputs->has_rows = inputs->has_rows || tensors[i].has_rows;
    }
}

void json_inputs_release(struct json_inputs *inputs) {
    for (int i = 0; i < inputs->signature->input_count; i++)
        json_tensor_release(&inputs->tensors[i]);
}
