#include "server/codec/codec_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/codec/decoder.h"
#include "server/codec/json_reader.h"
#include "server/codec/json_writer.h"
#include "server/codec/place.h"

/* Where in the document the reader stands. */
enum stage {
    STAGE_ROOT,      /* before the outermost object */
    STAGE_MEMBERS,   /* in it, between members */
    STAGE_INSTANCES, /* behind "instances": */
    STAGE_ROWS,      /* in the arrays of its value */
    STAGE_SKIP,      /* in a value that nobody wants, until the depth is skip_depth again */
};

struct json_decoder {
    struct decoder decoder;
    const struct tensor_spec *input;
    uint32_t max_rows;
    size_t body_bytes;
    enum stage stage, after_skip;
    int skip_depth;
    bool seen;                      /* "instances" */
    int level;                      /* of the innermost open array of the rows; 0 is the array of all rows */
    size_t counts[TENSOR_MAX_RANK]; /* finished elements of the open array of each level */
    float *data;
    size_t elements, capacity; /* of data, in numbers */
    struct json_reader reader;
};

static bool is_innermost(const struct json_decoder *json) {
    return json->level == json->input->shape.rank - 1;
}

/* How many elements the open array may have. */
static size_t width(const struct json_decoder *json) {
    return json->level == 0 ? json->max_rows : (size_t)json->input->shape.dims[json->level];
}

/* The element that comes next, or its array's own place (depth level). */
static const char *place_now(const struct json_decoder *json, int depth, char *text) {
    return place_text(text, json->input->shape.rank, json->counts, depth);
}

static const char *token_text(enum json_token token) {
    switch (token) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_NUMBER:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "null";
    }
}

static enum weir_status fail_type(const struct json_decoder *json, enum json_token got, struct weir_error *err) {
    char place[PLACE_TEXT_BYTES], expected[PLACE_TEXT_BYTES], row[PLACE_TEXT_BYTES];
    const struct tensor_shape *shape = &json->input->shape;
    place_now(json, json->level + 1, place);
    place_expected(expected, shape, json->level + 1);
    place_row_shape(row, shape);
    return weir_fail(err, WEIR_INVALID, "%s: expected %s, got %s (a row has shape %s)", place, expected,
                     token_text(got), row);
}

static enum weir_status fail_count(const struct json_decoder *json, struct weir_error *err) {
    char place[PLACE_TEXT_BYTES], row[PLACE_TEXT_BYTES];
    const struct tensor_shape *shape = &json->input->shape;
    bool nothing = json->counts[0] == 0 && json->level == 1 && json->counts[1] == 0;
    return weir_fail(err, WEIR_INVALID, "%s has %zu %s, expected %lld (a row has shape %s)%s",
                     place_now(json, json->level, place), json->counts[json->level],
                     is_innermost(json) ? "values" : "arrays", (long long)shape->dims[json->level],
                     place_row_shape(row, shape), nothing ? "; at least one row is needed" : "");
}

/* Makes room for `more` numbers. Growth by half keeps the copying linear; an announced length bounds it, since a number
 * takes two bytes of body at least. */
static enum weir_status make_room(struct json_decoder *json, size_t more, struct weir_error *err) {
    size_t need = json->elements + more;
    if (need <= json->capacity)
        return WEIR_OK;
    size_t capacity = json->capacity ? json->capacity + json->capacity / 2 : json->body_bytes / sizeof(float);
    if (json->body_bytes > 0 && capacity > json->body_bytes / 2 + 1)
        capacity = json->body_bytes / 2 + 1;
    if (capacity < need)
        capacity = need;
    float *data = reallocarray(json->data, capacity, sizeof *data);
    if (!data)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu numbers of the body", capacity);
    json->data = data;
    json->capacity = capacity;
    return WEIR_OK;
}

/* The quick way, as far as it goes. */
static enum weir_status take_numbers(struct json_decoder *json, struct weir_error *err) {
    size_t *count = &json->counts[json->level];
    size_t left = json_reader_left(&json->reader);
    if (*count >= width(json) || left < NUMBER_MARGIN_BYTES)
        return WEIR_OK;
    size_t room = width(json) - *count;
    if (room > left / 2 + 1)
        room = left / 2 + 1;
    enum weir_status status = make_room(json, room, err);
    if (status == WEIR_OK) {
        size_t taken = json_reader_numbers(&json->reader, json->data + json->elements, room);
        json->elements += taken;
        *count += taken;
    }
    return status;
}

static enum weir_status take_number(struct json_decoder *json, struct weir_error *err) {
    size_t *count = &json->counts[json->level];
    if (*count >= width(json)) { /* one too many: counted, so that the error can say how many there are */
        ++*count;
        return WEIR_OK;
    }
    char place[PLACE_TEXT_BYTES];
    if (isinf(json->reader.number))
        return weir_fail(err, WEIR_INVALID, "%s: the number is outside the float32 range (offset %zu)",
                         place_now(json, json->level + 1, place), json->reader.token_offset);
    enum weir_status status = make_room(json, 1, err);
    if (status == WEIR_OK) {
        json->data[json->elements++] = json->reader.number;
        ++*count;
    }
    return status;
}

static enum weir_status open_array(struct json_decoder *json) {
    if (json->counts[json->level] < width(json)) {
        json->counts[++json->level] = 0;
    } else {
        json->stage = STAGE_SKIP;
        json->after_skip = STAGE_ROWS;
        json->skip_depth = json->reader.depth - 1;
    }
    return WEIR_OK;
}

static enum weir_status close_array(struct json_decoder *json, struct weir_error *err) {
    if (json->level == 0) {
        json->stage = STAGE_MEMBERS;
        if (json->counts[0] == 0)
            return weir_fail(err, WEIR_INVALID, "\"instances\" is empty: at least one row is needed");
        return WEIR_OK;
    }
    if (json->counts[json->level] != width(json))
        return fail_count(json, err);
    json->level--;
    json->counts[json->level]++;
    return WEIR_OK;
}

static enum weir_status take_in_rows(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    if (token == JSON_ARRAY_END)
        return close_array(json, err);
    if (json->level == 0 && json->counts[0] == json->max_rows)
        return weir_fail(err, WEIR_TOO_LARGE, "more than %u rows in \"instances\" (offset %zu)", json->max_rows,
                         json->reader.token_offset);
    if (token == JSON_NUMBER && is_innermost(json))
        return take_number(json, err);
    if (token == JSON_ARRAY && !is_innermost(json))
        return open_array(json);
    return fail_type(json, token, err);
}

/* After a token of a value to skip. */
static void skip_value(struct json_decoder *json) {
    if (json->reader.depth != json->skip_depth)
        return;
    json->stage = json->after_skip;
    if (json->stage == STAGE_ROWS)
        json->counts[json->level]++;
}

static enum weir_status take_member(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    if (token != JSON_KEY) /* the object's end */
        return WEIR_OK;
    const struct json_string *name = &json->reader.string;
    if (name->cut || name->size != strlen("instances") || memcmp(name->text, "instances", name->size) != 0) {
        json->stage = STAGE_SKIP;
        json->after_skip = STAGE_MEMBERS;
        json->skip_depth = json->reader.depth;
        return WEIR_OK;
    }
    if (json->seen) /* the reader saw it already, unless the names before were too many to remember */
        return json_reader_fail(&json->reader, err, "member \"instances\" comes twice");
    json->seen = true;
    json->stage = STAGE_INSTANCES;
    return WEIR_OK;
}

static enum weir_status take_token(struct json_decoder *json, enum json_token token, struct weir_error *err) {
    char expected[PLACE_TEXT_BYTES];
    switch (json->stage) {
    case STAGE_ROOT:
        if (token != JSON_OBJECT)
            return weir_fail(err, WEIR_INVALID, "the body is %s, expected an object with member \"instances\"",
                             token_text(token));
        json->stage = STAGE_MEMBERS;
        return WEIR_OK;
    case STAGE_MEMBERS:
        return take_member(json, token, err);
    case STAGE_INSTANCES:
        if (token != JSON_ARRAY)
            return weir_fail(err, WEIR_INVALID, "\"instances\" is %s, expected an array of rows, each %s",
                             token_text(token), place_expected(expected, &json->input->shape, 1));
        json->stage = STAGE_ROWS;
        return WEIR_OK;
    case STAGE_ROWS:
        return take_in_rows(json, token, err);
    case STAGE_SKIP:
        skip_value(json);
        return WEIR_OK;
    }
    return WEIR_OK;
}

/* Takes tokens until the piece, or after the last one the document, is used up. */
static enum weir_status drain(struct json_decoder *json, struct weir_error *err) {
    for (;;) {
        enum weir_status status = WEIR_OK;
        if (json->stage == STAGE_ROWS && is_innermost(json))
            status = take_numbers(json, err);
        if (status != WEIR_OK)
            return status;
        enum json_token token;
        status = json_reader_next(&json->reader, &token, err);
        if (status != WEIR_OK) {
            char place[PLACE_TEXT_BYTES];
            if (err && json->stage == STAGE_ROWS && json_reader_at_value(&json->reader))
                return weir_fail_in(err, "%s", place_now(json, json->level + 1, place));
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
    if (!json->seen)
        return weir_fail(err, WEIR_INVALID, "member \"instances\" is missing");
    struct job_tensor *inputs = malloc(sizeof *inputs);
    if (!inputs)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
    inputs[0] = (struct job_tensor){.data = json->data, .row_bytes = json->input->row_bytes};
    json->data = NULL;
    *out = (struct decoded){.rows = (uint32_t)json->counts[0], .inputs = inputs};
    return WEIR_OK;
}

static void close_decoder(struct decoder *decoder) {
    struct json_decoder *json = (struct json_decoder *)decoder;
    free(json->data);
    free(json);
}

enum weir_status codec_json_open(const struct decoder_options *options, struct decoder **out, struct weir_error *err) {
    static const struct decoder_kind kind = {.feed = feed, .finish = finish, .close = close_decoder};
    struct json_decoder *json = malloc(sizeof *json);
    if (!json)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a JSON reader");
    json->decoder.kind = &kind;
    json->input = &options->signature->inputs[0];
    json->max_rows = options->max_rows;
    json->body_bytes = options->body_bytes;
    json->stage = STAGE_ROOT;
    json->seen = false;
    json->level = 0;
    json->counts[0] = 0;
    json->data = NULL;
    json->elements = json->capacity = 0;
    json_reader_init(&json->reader);
    *out = &json->decoder;
    return WEIR_OK;
}

static bool is_finite(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7F800000) != 0x7F800000;
}

/* Appends numbers with commas between. Returns how many: fewer than count if the next one is not finite (or memory ran
 * out, which out knows). */
static size_t write_numbers(struct bytes *out, const float *values, size_t count) {
    enum { AT_ONCE = 64 };
    for (size_t i = 0; i < count;) {
        size_t stop = count - i < AT_ONCE ? count : i + AT_ONCE;
        char *start = bytes_reserve(out, AT_ONCE * (JSON_WRITER_FLOAT_BYTES + 1));
        if (!start)
            return i;
        char *to = start;
        for (; i < stop; i++) {
            if (!is_finite(values[i]))
                return i;
            *to = ',';
            to = json_writer_float(to + (i > 0), values[i]);
        }
        out->size += (size_t)(to - start);
    }
    return count;
}

/* How many arrays of a row begin with its run'th innermost array (or end before it). */
static size_t count_brackets(const struct tensor_shape *shape, size_t run) {
    size_t brackets = 1;
    size_t runs = 1;
    for (int i = shape->rank - 2; i > 0; i--) {
        runs *= (size_t)shape->dims[i];
        if (run % runs != 0)
            break;
        brackets++;
    }
    return brackets;
}

/* Appends one row. Returns how many of its numbers could be written, as write_numbers. */
static size_t write_row(struct bytes *out, const struct tensor_spec *spec, const float *values) {
    static const char opening[] = "[[[[[[[[", closing[] = "]]]]]]]]";
    _Static_assert(sizeof opening - 1 == TENSOR_MAX_RANK, "one bracket for each dimension");
    const struct tensor_shape *shape = &spec->shape;
    if (shape->rank == 1)
        return write_numbers(out, values, 1);
    size_t wide = (size_t)shape->dims[shape->rank - 1];
    for (size_t done = 0, run = 0; done < spec->row_elements; done += wide) {
        if (run > 0)
            bytes_append(out, ",", 1);
        bytes_append(out, opening, count_brackets(shape, run++));
        size_t written = write_numbers(out, values + done, wide);
        if (written < wide)
            return done + written;
        bytes_append(out, closing, count_brackets(shape, run));
    }
    return spec->row_elements;
}

static enum weir_status check_outputs(const struct signature *signature, struct weir_error *err) {
    for (int i = 0; i < signature->output_count; i++) {
        const struct tensor_spec *spec = &signature->outputs[i];
        size_t elements;
        char shape[PLACE_TEXT_BYTES];
        if (spec->dtype != TENSOR_F32 || spec->shape.rank < 1 || !tensor_shape_elements(&spec->shape, 1, &elements) ||
            elements == 0 || elements != spec->row_elements)
            return weir_fail(err, WEIR_UNSUPPORTED,
                             "output \"%s\" is %s %s: JSON answers carry float32 of a fixed row shape", spec->name,
                             tensor_dtype_text(spec->dtype), tensor_shape_text(&spec->shape, shape, sizeof shape));
    }
    return WEIR_OK;
}

static enum weir_status encode_row(const struct signature *signature, uint32_t row, const struct job_tensor *outputs,
                                   struct bytes *out, struct weir_error *err) {
    bool named = signature->output_count > 1;
    for (int i = 0; i < signature->output_count; i++) {
        const struct tensor_spec *spec = &signature->outputs[i];
        const float *values = (const float *)outputs[i].data + row * spec->row_elements;
        if (named) {
            bytes_append(out, i == 0 ? "{" : ",", 1);
            bytes_json_string(out, spec->name, strlen(spec->name));
            bytes_append(out, ":", 1);
        }
        size_t written = write_row(out, spec, values);
        if (written < spec->row_elements && !out->failed) {
            char place[PLACE_TEXT_BYTES];
            return weir_fail(err, WEIR_NON_FINITE, "output \"%s\", %s is %s, which JSON cannot carry", spec->name,
                             place_of_element(place, &spec->shape, row, written),
                             isnan(values[written]) ? "NaN" : "infinite");
        }
    }
    if (named)
        bytes_append(out, "}", 1);
    return WEIR_OK;
}

enum weir_status codec_json_encode(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                   struct bytes *out, struct weir_error *err) {
    size_t before = out->size;
    enum weir_status status = check_outputs(signature, err);
    if (status != WEIR_OK)
        return status;
    bytes_text(out, "{\"predictions\":[");
    for (uint32_t row = 0; row < rows && status == WEIR_OK; row++) {
        if (row > 0)
            bytes_append(out, ",", 1);
        status = encode_row(signature, row, outputs, out, err);
    }
    bytes_text(out, "]}");
    if (status == WEIR_OK && out->failed)
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for the answer");
    if (status != WEIR_OK)
        out->size = before;
    return status;
}
