#include "server/codec/v2_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/codec/element_check.h"
#include "server/codec/place.h"
#include "server/codec/v2_datatype.h"

void v2_input_begin(struct v2_input *input) {
    input->index = -1;
    input->has_shape = input->has_datatype = input->has_data = input->has_binary = false;
    input->is_kept = input->is_reading = false;
    input->shape.rank = 0;
    input->kept.size = 0;
}

void v2_input_release(struct v2_input *input) {
    if (input->is_reading)
        json_tensor_release(&input->tensor);
    bytes_release(&input->kept);
}

static const struct tensor_spec *spec_of(const struct v2_input *input) {
    return &input->signature->inputs[input->index];
}

static enum weir_status fail_in(const struct v2_input *input, enum weir_status status, struct weir_error *err) {
    if (status != WEIR_OK && input->index >= 0)
        weir_fail_in(err, "input \"%s\"", spec_of(input)->name);
    return status;
}

bool v2_input_count(const struct json_reader *reader, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < reader->text_size; i++) {
        char c = reader->text[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(c - '0'), &value))
            return false;
    }
    *out = value;
    return reader->text_size > 0;
}

enum weir_status v2_input_name(struct v2_input *input, const struct json_string *name, struct weir_error *err) {
    char names[PLACE_TEXT_BYTES];
    if (name->cut) /* how much of it is kept depends on how the body came */
        return weir_fail(err, WEIR_INVALID, "there is no input of a name of more than %d bytes, the model takes %s",
                         JSON_STRING_KEPT_BYTES, place_names(names, sizeof names, input->signature));
    for (int i = 0; i < input->signature->input_count; i++) {
        const char *known = input->signature->inputs[i].name;
        if (strlen(known) == name->size && memcmp(known, name->text, name->size) == 0)
            input->index = i;
    }
    if (input->index < 0)
        return weir_fail(err, WEIR_INVALID, "there is no input \"%.*s\", the model takes %s", (int)name->size,
                         name->text, place_names(names, sizeof names, input->signature));
    if (input->slots[input->index].is_given)
        return weir_fail(err, WEIR_INVALID, "input \"%s\" is given twice", spec_of(input)->name);
    return WEIR_OK;
}

enum weir_status v2_input_datatype(struct v2_input *input, const struct json_string *text, struct weir_error *err) {
    if (text->cut || text->size >= sizeof input->datatype)
        return fail_in(input, weir_fail(err, WEIR_INVALID, "\"datatype\" is not the name of a type"), err);
    memcpy(input->datatype, text->text, text->size);
    input->datatype[text->size] = 0;
    input->has_datatype = true;
    return WEIR_OK;
}

enum weir_status v2_input_dimension(struct v2_input *input, const struct json_reader *reader, struct weir_error *err) {
    uint64_t size;
    if (!v2_input_count(reader, &size) || size > INT64_MAX)
        return fail_in(input,
                       weir_fail(err, WEIR_INVALID, "\"shape\" holds %.*s: sizes are whole numbers of 0 or more",
                                 (int)(reader->text_size < 40 ? reader->text_size : 40), reader->text),
                       err);
    if (input->shape.rank == TENSOR_MAX_RANK)
        return fail_in(input, weir_fail(err, WEIR_INVALID, "\"shape\" has more than %d dimensions", TENSOR_MAX_RANK),
                       err);
    input->shape.dims[input->shape.rank++] = (int64_t)size;
    return WEIR_OK;
}

bool v2_input_is_ready(const struct v2_input *input) {
    return input->index >= 0 && input->has_datatype && input->has_shape;
}

static enum weir_status fail_shape(const struct v2_input *input, const char *why, struct weir_error *err) {
    char got[PLACE_TEXT_BYTES], expected[PLACE_TEXT_BYTES];
    return weir_fail(err, WEIR_INVALID, "shape %s does not fit %s%s", tensor_shape_text(&input->shape, got, sizeof got),
                     tensor_shape_text(&spec_of(input)->shape, expected, sizeof expected), why);
}

/* Checks the shape, and learns the request's rows and free sizes from it. */
static enum weir_status check_shape(struct v2_input *input, struct weir_error *err) {
    const struct tensor_spec *spec = spec_of(input);
    if (input->shape.rank != spec->shape.rank)
        return fail_shape(input, "", err);
    for (int i = 0; i < spec->shape.rank; i++) {
        int64_t size = input->shape.dims[i], dim = spec->shape.dims[i];
        if (dim >= 0 && size != dim)
            return fail_shape(input, "", err);
        if (size == 0 && dim < 0)
            return fail_shape(input, ": there must be at least one of everything", err);
        if (dim == TENSOR_BATCH && *input->rows != 0 && *input->rows != (uint64_t)size)
            return fail_shape(input, ": other inputs have another number of rows", err);
        if (dim == TENSOR_BATCH && size > input->max_rows)
            return weir_fail(err, WEIR_TOO_LARGE, "%lld rows are more than the %u that one request may have",
                             (long long)size, input->max_rows);
        if (dim == TENSOR_BATCH)
            *input->rows = (uint32_t)size;
        if (dim > TENSOR_FREE(0) || dim == TENSOR_DERIVED)
            continue;
        int64_t *known = &input->free_sizes[TENSOR_FREE(0) - dim];
        if (*known != 0 && *known != size)
            return fail_shape(input, ": other inputs have another size there", err);
        *known = size;
    }
    return WEIR_OK;
}

/* Checks what was said of the input, and notes it in its slot. */
static enum weir_status settle(struct v2_input *input, struct weir_error *err) {
    char names[PLACE_TEXT_BYTES];
    enum tensor_dtype dtype;
    if (input->index < 0)
        return weir_fail(err, WEIR_INVALID, "an input has no \"name\": the model takes %s",
                         place_names(names, sizeof names, input->signature));
    const struct tensor_spec *spec = spec_of(input);
    struct v2_slot *slot = &input->slots[input->index];
    if (slot->is_given)
        return weir_fail(err, WEIR_INVALID, "is given twice");
    if (!input->has_datatype || !v2_datatype_read(input->datatype, strlen(input->datatype), &dtype) ||
        dtype != spec->dtype)
        return weir_fail(err, WEIR_INVALID, "\"datatype\" is %s%s%s, the model takes %s",
                         input->has_datatype ? "\"" : "missing", input->has_datatype ? input->datatype : "",
                         input->has_datatype ? "\"" : "", v2_datatype_text(spec->dtype));
    if (!input->has_shape)
        return weir_fail(err, WEIR_INVALID, "\"shape\" is missing");
    enum weir_status status = check_shape(input, err);
    if (status != WEIR_OK)
        return status;
    slot->is_given = true;
    slot->whole = input->shape;
    if (!tensor_shape_elements(&slot->whole, 0, &slot->elements) ||
        __builtin_mul_overflow(slot->elements, tensor_dtype_bytes(spec->dtype), &slot->bytes))
        return weir_fail(err, WEIR_TOO_LARGE, "its shape is too large");
    return WEIR_OK;
}

/* A value that is not a list within the list: then it is one list of them all. */
static void flatten(struct v2_input *input) {
    const struct v2_slot *slot = &input->slots[input->index];
    input->tensor.row = (struct tensor_shape){.rank = 1, .dims = {(int64_t)slot->elements}};
}

enum weir_status v2_input_begin_data(struct v2_input *input, struct weir_error *err) {
    enum weir_status status = settle(input, err);
    if (status != WEIR_OK)
        return fail_in(input, status, err);
    const struct tensor_spec *spec = spec_of(input);
    if (spec->dtype == TENSOR_F16 || spec->dtype == TENSOR_BF16)
        return fail_in(input,
                       weir_fail(err, WEIR_INVALID, "%s travels as bytes alone (binary_data_size), not as JSON",
                                 v2_datatype_text(spec->dtype)),
                       err);
    input->spec = *spec;
    input->spec.batch_axis = -1;
    input->spec.shape = input->shape;
    struct json_tensor_options options = {.spec = &input->spec,
                                          .free_sizes = input->free_sizes,
                                          .max_rows = 1,
                                          .body_bytes = input->body_bytes,
                                          .input_count = input->signature->input_count};
    json_tensor_init(&input->tensor, &options);
    input->is_reading = true;
    if (input->shape.rank == 0)
        flatten(input);
    return WEIR_OK;
}

enum weir_status v2_input_data(struct v2_input *input, struct json_reader *reader, enum json_token token, bool *done,
                               struct weir_error *err) {
    struct json_tensor *tensor = &input->tensor;
    struct v2_slot *slot = &input->slots[input->index];
    bool is_first = tensor->level == 1 && tensor->counts[1] == 0 && tensor->row.rank > 1;
    *done = false;
    if (is_first && token != JSON_ARRAY)
        flatten(input);
    enum weir_status status = json_tensor_take(tensor, reader, token, err);
    if (status != WEIR_OK)
        return fail_in(input, status, err);
    if (!json_tensor_is_between(tensor))
        return WEIR_OK;
    struct job_tensor out;
    *done = true;
    json_tensor_finish(tensor, &out);
    input->is_reading = false;
    slot->data = out.data;
    input->has_data = true;
    return WEIR_OK;
}

/* Reads "data" that was kept as text. */
static enum weir_status read_kept(struct v2_input *input, struct weir_error *err) {
    struct json_reader *reader = malloc(sizeof *reader);
    size_t skip = 0;
    bool done = false;
    if (!reader || input->kept.failed) {
        free(reader);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for its data");
    }
    while (skip < input->kept.size && strchr(" \t\r\n:", input->kept.data[skip]))
        skip++;
    json_reader_init(reader);
    json_reader_feed(reader, input->kept.data + skip, input->kept.size - skip);
    enum weir_status status = v2_input_begin_data(input, err);
    while (status == WEIR_OK && !done) {
        enum json_token token;
        if (!json_tensor_is_between(&input->tensor) && input->tensor.counts[input->tensor.level] > 0)
            status = json_tensor_take_numbers(&input->tensor, reader, err);
        if (status == WEIR_OK)
            status = json_reader_next(reader, &token, err);
        if (status == WEIR_OK && token == JSON_MORE) {
            json_reader_end(reader);
            continue;
        }
        if (status == WEIR_OK)
            status = v2_input_data(input, reader, token, &done, err);
    }
    free(reader);
    input->kept.size = 0;
    return status;
}

enum weir_status v2_input_end(struct v2_input *input, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    if (input->is_kept && input->has_binary)
        return fail_in(input, weir_fail(err, WEIR_INVALID, "\"data\" and binary_data_size are both given"), err);
    if (input->is_kept)
        return read_kept(input, err);
    if (input->has_data && input->has_binary)
        return fail_in(input, weir_fail(err, WEIR_INVALID, "\"data\" and binary_data_size are both given"), err);
    if (input->has_data)
        return WEIR_OK;
    status = settle(input, err);
    if (status == WEIR_OK && !input->has_binary)
        status = weir_fail(err, WEIR_INVALID, "neither \"data\" nor binary_data_size is given");
    struct v2_slot *slot = status == WEIR_OK ? &input->slots[input->index] : NULL;
    if (slot && slot->bytes != input->binary_bytes)
        status = weir_fail(err, WEIR_INVALID, "binary_data_size is %llu, its shape and datatype make %zu bytes",
                           (unsigned long long)input->binary_bytes, slot->bytes);
    if (status == WEIR_OK)
        slot->is_binary = true;
    return fail_in(input, status, err);
}

enum weir_status v2_input_check_bytes(const struct tensor_spec *spec, const struct v2_slot *slot,
                                      struct weir_error *err) {
    enum weir_status status = slot->is_binary ? element_check(spec->dtype, slot->data, slot->bytes, "", err) : WEIR_OK;
    if (status != WEIR_OK)
        weir_fail_in(err, "input \"%s\"", spec->name);
    return status;
}
