#include "server/codec/codec_v2.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/codec/batch_axis.h"
#include "server/codec/codec_binary.h"
#include "server/codec/decoder.h"
#include "server/codec/json_reader.h"
#include "server/codec/v2_input.h"
#include "server/codec/v2_wishes.h"

/* Where in the document the reader stands: what the next token means. */
enum stage {
    STAGE_ROOT,
    STAGE_MEMBERS,
    STAGE_ID,
    STAGE_PARAMETERS, /* of the request, of an input or of an output: owner tells */
    STAGE_PARAMETER,
    STAGE_INPUTS,
    STAGE_INPUT,
    STAGE_NAME,
    STAGE_DATATYPE,
    STAGE_SHAPE,
    STAGE_DIMENSIONS,
    STAGE_DATA,
    STAGE_OUTPUTS,
    STAGE_OUTPUT,
    STAGE_SKIP, /* in a value until the depth is skip_depth again; then back to after */
};

struct v2_decoder {
    struct decoder decoder;
    const struct signature *signature;
    size_t json_left;        /* bytes of JSON that are to come; SIZE_MAX: all */
    struct decoder *raw;     /* reads a body without JSON */
    enum stage stage, after; /* after: where STAGE_SKIP, STAGE_NAME and STAGE_PARAMETERS go on */
    int skip_depth;
    bool keeps; /* what is skipped is an input's "data" */
    bool seen_inputs, seen_outputs, seen_id, json_ended;
    unsigned members; /* of the input's object, that have come: bits */
    struct v2_wishes wanted;
    uint32_t rows;
    int64_t free_sizes[TENSOR_MAX_FREE];
    struct v2_input input;
    int filling; /* the input whose bytes come now */
    size_t filled;
    int order_count;
    int *order;                /* binary inputs as the request lists them; behind the slots */
    struct json_reader reader; /* begins itself: its kilobytes need not be zeroed */
    struct v2_slot slots[];
};

static bool is_key(const struct v2_decoder *v2, const char *text) {
    const struct json_string *name = &v2->reader.string;
    return !name->cut && strlen(text) == name->size && memcmp(text, name->text, name->size) == 0;
}

static enum weir_status expect(const struct v2_decoder *v2, bool is_there, const char *what, enum json_token token,
                               struct weir_error *err) {
    if (is_there)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%s, got %s (offset %zu)", what, json_tensor_token_text(token),
                     v2->reader.token_offset);
}

static void skip(struct v2_decoder *v2, enum stage after, bool keeps) {
    v2->stage = STAGE_SKIP;
    v2->after = after;
    v2->skip_depth = v2->reader.depth;
    v2->keeps = keeps;
}

static enum weir_status twice(const struct v2_decoder *v2, const char *name, struct weir_error *err) {
    return weir_fail(err, WEIR_INVALID, "member \"%s\" comes twice (offset %zu)", name, v2->reader.token_offset);
}

static enum weir_status take_member(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    if (token != JSON_KEY)
        return WEIR_OK;
    if (is_key(v2, "inputs") && v2->seen_inputs)
        return twice(v2, "inputs", err);
    if (is_key(v2, "outputs") && v2->seen_outputs)
        return twice(v2, "outputs", err);
    if (is_key(v2, "id") && v2->seen_id)
        return twice(v2, "id", err);
    if (is_key(v2, "id")) {
        v2->stage = STAGE_ID;
        v2->seen_id = true;
    } else if (is_key(v2, "parameters")) {
        v2->stage = STAGE_PARAMETERS;
        v2->after = STAGE_MEMBERS;
    } else if (is_key(v2, "inputs")) {
        v2->stage = STAGE_INPUTS;
        v2->seen_inputs = true;
    } else if (is_key(v2, "outputs")) {
        v2->stage = STAGE_OUTPUTS;
        v2->seen_outputs = true;
    } else {
        skip(v2, STAGE_MEMBERS, false);
    }
    return WEIR_OK;
}

static enum weir_status take_id(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    const struct json_string *text = &v2->reader.string;
    enum weir_status status = expect(v2, token == JSON_STRING, "\"id\" must be a string", token, err);
    if (status != WEIR_OK)
        return status;
    if (text->cut)
        return weir_fail(err, WEIR_INVALID, "\"id\" is longer than %d bytes", JSON_STRING_KEPT_BYTES);
    free(v2->wanted.wishes.id);
    v2->wanted.wishes.id = text->size > 0 ? malloc(text->size) : NULL; /* an empty one counts as none */
    v2->wanted.wishes.id_size = text->size;
    if (text->size > 0 && !v2->wanted.wishes.id)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the id");
    if (text->size > 0)
        memcpy(v2->wanted.wishes.id, text->text, text->size);
    v2->stage = STAGE_MEMBERS;
    return WEIR_OK;
}

static enum weir_status take_input_parameter(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    if (strncmp(v2->wanted.parameter, "shared_memory_", 14) == 0)
        return v2_wishes_fail(&v2->wanted, "is not served", err);
    if (strcmp(v2->wanted.parameter, "binary_data_size") != 0)
        return WEIR_OK;
    v2->input.has_binary = true;
    return v2_wishes_count(&v2->wanted, token, &v2->input.binary_bytes, err);
}

static enum weir_status take_parameter(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    if (token == JSON_OBJECT || token == JSON_ARRAY)
        return v2_wishes_fail(&v2->wanted, "must be a string, a number or a flag", err);
    v2->stage = STAGE_PARAMETERS;
    if (v2->after == STAGE_INPUT)
        return take_input_parameter(v2, token, err);
    return v2->after == STAGE_OUTPUT ? v2_wishes_output_parameter(&v2->wanted, token, err)
                                     : v2_wishes_parameter(&v2->wanted, token, err);
}

/* The object of parameters begins, goes on or ends. */
static enum weir_status take_parameters(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    if (token == JSON_KEY) {
        v2_wishes_begin(&v2->wanted);
        v2->stage = STAGE_PARAMETER;
        return WEIR_OK;
    }
    if (token == JSON_OBJECT_END) {
        v2->stage = v2->after;
        return WEIR_OK;
    }
    return expect(v2, token == JSON_OBJECT, "\"parameters\" must be an object", token, err);
}

static enum weir_status end_input(struct v2_decoder *v2, struct weir_error *err) {
    enum weir_status status = v2_input_end(&v2->input, err);
    v2->stage = STAGE_INPUTS;
    if (status == WEIR_OK && v2->input.has_binary)
        v2->order[v2->order_count++] = v2->input.index;
    return status;
}

static enum weir_status take_input_member(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    if (token != JSON_KEY)
        return end_input(v2, err);
    static const char *const once[] = {"name", "datatype", "shape", "parameters", "data"};
    for (unsigned i = 0; i < sizeof once / sizeof once[0]; i++) {
        if (!is_key(v2, once[i]))
            continue;
        if (v2->members & 1U << i) /* the reader saw it already, unless the names before were too many to remember */
            return twice(v2, once[i], err);
        v2->members |= 1U << i;
    }
    v2->after = STAGE_INPUT;
    if (is_key(v2, "name")) {
        v2->stage = STAGE_NAME;
    } else if (is_key(v2, "datatype")) {
        v2->stage = STAGE_DATATYPE;
    } else if (is_key(v2, "shape")) {
        v2->stage = STAGE_SHAPE;
    } else if (is_key(v2, "parameters")) {
        v2->stage = STAGE_PARAMETERS;
    } else if (is_key(v2, "data") && v2_input_is_ready(&v2->input)) {
        v2->stage = STAGE_DATA;
        return v2_input_begin_data(&v2->input, err);
    } else if (is_key(v2, "data")) {
        v2->input.is_kept = true;
        skip(v2, STAGE_INPUT, true);
    } else {
        skip(v2, STAGE_INPUT, false);
    }
    return WEIR_OK;
}

static enum weir_status take_name(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    enum weir_status status = expect(v2, token == JSON_STRING, "\"name\" must be a string", token, err);
    v2->stage = v2->after;
    if (status != WEIR_OK)
        return status;
    return v2->after == STAGE_OUTPUT ? v2_wishes_name(&v2->wanted, err)
                                     : v2_input_name(&v2->input, &v2->reader.string, err);
}

static enum weir_status take_output_member(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    if (token != JSON_KEY) {
        v2->stage = STAGE_OUTPUTS;
        return v2_wishes_end(&v2->wanted, err);
    }
    v2->after = STAGE_OUTPUT;
    if (is_key(v2, "name"))
        v2->stage = STAGE_NAME;
    else if (is_key(v2, "parameters"))
        v2->stage = STAGE_PARAMETERS;
    else
        skip(v2, STAGE_OUTPUT, false);
    return WEIR_OK;
}

/* The list of inputs or outputs begins, goes on or ends. */
static enum weir_status take_list(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    bool of_inputs = v2->stage == STAGE_INPUTS;
    bool is_open = v2->reader.depth > (token == JSON_ARRAY || token == JSON_OBJECT ? 2 : 1);
    if (token == JSON_ARRAY && !is_open)
        return WEIR_OK;
    if (token == JSON_ARRAY_END) {
        v2->stage = STAGE_MEMBERS;
        return WEIR_OK;
    }
    enum weir_status status = expect(
        v2, token == JSON_OBJECT && is_open,
        of_inputs ? "\"inputs\" must be a list of objects" : "\"outputs\" must be a list of objects", token, err);
    v2->stage = of_inputs ? STAGE_INPUT : STAGE_OUTPUT;
    v2->wanted.wish = (struct wish){.output = -1};
    v2->members = 0;
    if (of_inputs)
        v2_input_begin(&v2->input);
    return status;
}

static enum weir_status take_shape(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    if (v2->stage == STAGE_SHAPE) {
        v2->stage = STAGE_DIMENSIONS;
        v2->input.shape.rank = 0;
        return expect(v2, token == JSON_ARRAY, "\"shape\" must be a list of sizes", token, err);
    }
    if (token == JSON_ARRAY_END) {
        v2->stage = STAGE_INPUT;
        v2->input.has_shape = true;
        return WEIR_OK;
    }
    enum weir_status status = expect(v2, token == JSON_NUMBER, "\"shape\" must be a list of sizes", token, err);
    return status == WEIR_OK ? v2_input_dimension(&v2->input, &v2->reader, err) : status;
}

static enum weir_status take_token(struct v2_decoder *v2, enum json_token token, struct weir_error *err) {
    enum weir_status status;
    bool done;
    switch (v2->stage) {
    case STAGE_ROOT:
        v2->stage = STAGE_MEMBERS;
        return expect(v2, token == JSON_OBJECT, "the body must be an object with member \"inputs\"", token, err);
    case STAGE_MEMBERS:
        return take_member(v2, token, err);
    case STAGE_ID:
        return take_id(v2, token, err);
    case STAGE_PARAMETERS:
        return take_parameters(v2, token, err);
    case STAGE_PARAMETER:
        return take_parameter(v2, token, err);
    case STAGE_INPUTS:
    case STAGE_OUTPUTS:
        return take_list(v2, token, err);
    case STAGE_INPUT:
        return take_input_member(v2, token, err);
    case STAGE_OUTPUT:
        return take_output_member(v2, token, err);
    case STAGE_NAME:
        return take_name(v2, token, err);
    case STAGE_DATATYPE:
        v2->stage = STAGE_INPUT;
        status = expect(v2, token == JSON_STRING, "\"datatype\" must be a string", token, err);
        return status == WEIR_OK ? v2_input_datatype(&v2->input, &v2->reader.string, err) : status;
    case STAGE_SHAPE:
    case STAGE_DIMENSIONS:
        return take_shape(v2, token, err);
    case STAGE_DATA:
        status = v2_input_data(&v2->input, &v2->reader, token, &done, err);
        if (status == WEIR_OK && done)
            v2->stage = STAGE_INPUT;
        return status;
    case STAGE_SKIP:
        if (v2->reader.depth == v2->skip_depth)
            v2->stage = v2->after;
        return WEIR_OK;
    }
    return WEIR_OK;
}

/* May the numbers that come next be read the quick way? Not the first: it tells whether the list is nested. */
static bool in_numbers(const struct v2_decoder *v2) {
    const struct json_tensor *tensor = &v2->input.tensor;
    return v2->stage == STAGE_DATA && !json_tensor_is_between(tensor) && tensor->counts[tensor->level] > 0;
}

static enum weir_status drain(struct v2_decoder *v2, struct weir_error *err) {
    for (;;) {
        enum json_token token;
        enum weir_status status = WEIR_OK;
        bool kept = v2->stage == STAGE_SKIP && v2->keeps;
        const char *from = v2->reader.at;
        if (in_numbers(v2))
            status = json_tensor_take_numbers(&v2->input.tensor, &v2->reader, err);
        if (status == WEIR_OK)
            status = json_reader_next(&v2->reader, &token, err);
        if (kept && status == WEIR_OK)
            bytes_append(&v2->input.kept, from, (size_t)(v2->reader.at - from));
        if (status != WEIR_OK || token == JSON_MORE || token == JSON_END)
            return status;
        status = take_token(v2, token, err);
        if (status != WEIR_OK)
            return status;
    }
}

/* The JSON is whole: are all inputs there, and which bytes are to come? */
static enum weir_status end_json(struct v2_decoder *v2, struct weir_error *err) {
    json_reader_end(&v2->reader);
    enum weir_status status = drain(v2, err);
    if (status != WEIR_OK)
        return status;
    v2->json_ended = true;
    if (!v2->seen_inputs)
        return weir_fail(err, WEIR_INVALID, "member \"inputs\" is missing");
    for (int i = 0; i < v2->signature->input_count; i++)
        if (!v2->slots[i].is_given)
            return weir_fail(err, WEIR_INVALID, "input \"%s\" is missing", v2->signature->inputs[i].name);
    return WEIR_OK;
}

/* Takes memory as the bytes come: what a request announces is no reason to. */
static bool make_room(const struct v2_decoder *v2, struct v2_slot *slot, size_t need) {
    if (need <= slot->capacity)
        return true;
    size_t capacity = slot->capacity > 0 ? slot->capacity + slot->capacity / 2 : v2->input.body_bytes;
    if (capacity < need)
        capacity = need;
    if (capacity > slot->bytes)
        capacity = slot->bytes;
    char *data = realloc(slot->data, capacity);
    if (!data)
        return false;
    slot->data = data;
    slot->capacity = capacity;
    return true;
}

/* Takes bytes behind the JSON: each input's in the order of the request. */
static enum weir_status fill(struct v2_decoder *v2, const char *bytes, size_t size, struct weir_error *err) {
    while (size > 0 && v2->filling < v2->order_count) {
        struct v2_slot *slot = &v2->slots[v2->order[v2->filling]];
        size_t part = slot->bytes - v2->filled < size ? slot->bytes - v2->filled : size;
        if (!make_room(v2, slot, v2->filled + part))
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu bytes of the body", slot->bytes);
        memcpy(slot->data + v2->filled, bytes, part);
        v2->filled += part;
        bytes += part;
        size -= part;
        if (v2->filled == slot->bytes) {
            v2->filling++;
            v2->filled = 0;
        }
    }
    return size == 0 ? WEIR_OK : weir_fail(err, WEIR_INVALID, "bytes are left behind the last input");
}

static enum weir_status feed(struct decoder *decoder, const char *bytes, size_t size, struct weir_error *err) {
    struct v2_decoder *v2 = (struct v2_decoder *)decoder;
    if (v2->raw)
        return decoder_feed(v2->raw, bytes, size, err);
    size_t part = size < v2->json_left ? size : v2->json_left;
    enum weir_status status = WEIR_OK;
    if (part > 0) {
        json_reader_feed(&v2->reader, bytes, part);
        status = drain(v2, err);
        v2->json_left -= v2->json_left == SIZE_MAX ? 0 : part;
    }
    if (status == WEIR_OK && v2->json_left == 0 && !v2->json_ended)
        status = end_json(v2, err);
    return status == WEIR_OK ? fill(v2, bytes + part, size - part, err) : status;
}

/* Moves an input's bytes to the job's tensor, row after row. */
static enum weir_status hand_over(struct v2_decoder *v2, int index, struct job_tensor *out, struct weir_error *err) {
    const struct tensor_spec *spec = &v2->signature->inputs[index];
    struct v2_slot *slot = &v2->slots[index];
    enum weir_status status = v2_input_check_bytes(spec, slot, err);
    if (status != WEIR_OK)
        return status;
    *out = (struct job_tensor){.row_bytes = spec->batch_axis < 0 ? slot->bytes : slot->bytes / v2->rows};
    for (int i = 0; i < slot->whole.rank; i++)
        if (i != spec->batch_axis)
            out->row.dims[out->row.rank++] = slot->whole.dims[i];
    if (batch_axis_reorders(spec, &out->row, v2->rows)) {
        char *rows = malloc(slot->bytes + 1);
        if (!rows)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
        batch_axis_to_rows(spec, &out->row, v2->rows, slot->data, rows);
        free(slot->data);
        slot->data = rows;
    }
    out->data = slot->data;
    slot->data = NULL;
    return WEIR_OK;
}

static enum weir_status finish_raw(struct v2_decoder *v2, struct decoded *out, struct weir_error *err) {
    enum weir_status status = decoder_finish(v2->raw, out, err);
    if (status == WEIR_OK)
        out->wishes.binary = true;
    return status;
}

static enum weir_status finish(struct decoder *decoder, struct decoded *out, struct weir_error *err) {
    struct v2_decoder *v2 = (struct v2_decoder *)decoder;
    int count = v2->signature->input_count;
    enum weir_status status = WEIR_OK;
    if (v2->raw)
        return finish_raw(v2, out, err);
    if (v2->json_left != 0 && v2->json_left != SIZE_MAX)
        return weir_fail(err, WEIR_INVALID, "the body ends %zu bytes before the JSON that its header announces",
                         v2->json_left);
    if (!v2->json_ended)
        status = end_json(v2, err);
    if (status == WEIR_OK && v2->filling < v2->order_count)
        status = weir_fail(err, WEIR_INVALID, "the body ends before the bytes of input \"%s\"",
                           v2->signature->inputs[v2->order[v2->filling]].name);
    struct job_tensor *inputs = status == WEIR_OK ? calloc((size_t)count, sizeof *inputs) : NULL;
    if (status == WEIR_OK && !inputs)
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
    for (int i = 0; i < count && status == WEIR_OK; i++)
        status = hand_over(v2, i, &inputs[i], err);
    if (status != WEIR_OK) {
        for (int i = 0; inputs && i < count; i++)
            free(inputs[i].data);
        free(inputs);
        return status;
    }
    struct tensor_dims dims = {.rows = v2->rows > 0 ? v2->rows : 1, .free_count = v2->signature->free_count};
    memcpy(dims.free, v2->free_sizes, sizeof dims.free);
    *out = (struct decoded){.dims = dims, .inputs = inputs, .wishes = v2->wanted.wishes};
    v2->wanted.wishes = (struct wishes){.id = NULL};
    return WEIR_OK;
}

static void close_decoder(struct decoder *decoder) {
    struct v2_decoder *v2 = (struct v2_decoder *)decoder;
    decoder_close(v2->raw);
    v2_input_release(&v2->input);
    for (int i = 0; i < v2->signature->input_count; i++)
        free(v2->slots[i].data);
    wishes_release(&v2->wanted.wishes);
    free(v2);
}

enum weir_status codec_v2_open(const struct decoder_options *options, struct decoder **out, struct weir_error *err) {
    static const struct decoder_kind kind = {.feed = feed, .finish = finish, .close = close_decoder};
    size_t count = (size_t)options->signature->input_count;
    struct v2_decoder *v2 = malloc(sizeof *v2 + count * (sizeof v2->slots[0] + sizeof *v2->order));
    if (!v2)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a reader of requests");
    memset(v2, 0, offsetof(struct v2_decoder, reader));
    memset(v2->slots, 0, count * sizeof v2->slots[0]);
    v2->order = (int *)(void *)&v2->slots[count];
    v2->decoder.kind = &kind;
    v2->signature = options->signature;
    v2->json_left = options->json_bytes;
    v2->input = (struct v2_input){.signature = options->signature,
                                  .slots = v2->slots,
                                  .free_sizes = v2->free_sizes,
                                  .rows = &v2->rows,
                                  .max_rows = options->max_rows,
                                  .body_bytes = options->body_bytes,
                                  .index = -1};
    v2->wanted = (struct v2_wishes){.signature = options->signature, .reader = &v2->reader};
    json_reader_init(&v2->reader);
    enum weir_status status = options->json_bytes == 0 ? codec_binary_open(options, &v2->raw, err) : WEIR_OK;
    if (status == WEIR_OK)
        *out = &v2->decoder;
    else
        close_decoder(&v2->decoder);
    return status;
}
