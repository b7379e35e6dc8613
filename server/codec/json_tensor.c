#include "server/codec/json_tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/codec/element_check.h"

void json_tensor_init(struct json_tensor *tensor, const struct json_tensor_options *options) {
    const struct tensor_spec *spec = options->spec;
    tensor->spec = spec;
    tensor->free_sizes = options->free_sizes;
    tensor->has_rows = spec->batch_axis >= 0;
    tensor->max_rows = tensor->has_rows ? options->max_rows : 1;
    tensor->row.rank = 0;
    for (int i = 0; i < spec->shape.rank; i++)
        if (i != spec->batch_axis)
            tensor->row.dims[tensor->row.rank++] = spec->shape.dims[i];
    tensor->element_bytes = tensor_dtype_bytes(spec->dtype);
    tensor->level = 0;
    tensor->counts[0] = 0;
    tensor->skip_depth = -1;
    tensor->data = NULL;
    tensor->elements = tensor->capacity = 0;
    tensor->first_bytes = options->body_bytes / (size_t)options->input_count;
    tensor->most_elements = options->body_bytes > 0 ? options->body_bytes / 2 + 1 : 0;
}

void json_tensor_release(struct json_tensor *tensor) {
    free(tensor->data);
    tensor->data = NULL;
}

void json_tensor_take_whole(struct json_tensor *tensor, int batch_free) {
    tensor->row = tensor->spec->shape;
    tensor->row.dims[tensor->spec->batch_axis] = TENSOR_FREE(batch_free);
    tensor->has_rows = false;
    tensor->max_rows = 1;
}

bool json_tensor_is_between(const struct json_tensor *tensor) {
    return tensor->level == 0 && tensor->skip_depth < 0;
}

static bool is_innermost(const struct json_tensor *tensor) {
    return tensor->level == tensor->row.rank;
}

/* How many elements the open array may have. */
static size_t width(struct json_tensor *tensor) {
    if (tensor->level == 0)
        return tensor->max_rows;
    int64_t *dim = &tensor->row.dims[tensor->level - 1];
    if (*dim < 0) {
        int64_t known = tensor->free_sizes[TENSOR_FREE(0) - *dim];
        if (known == 0)
            return SIZE_MAX;
        *dim = known;
    }
    return (size_t)*dim;
}

/* Fills in the sizes that are known by now. */
static void resolve(struct json_tensor *tensor) {
    for (int i = 0; i < tensor->row.rank; i++) {
        int64_t *dim = &tensor->row.dims[i];
        if (*dim < 0 && tensor->free_sizes[TENSOR_FREE(0) - *dim] > 0)
            *dim = tensor->free_sizes[TENSOR_FREE(0) - *dim];
    }
}

/* The place at a depth: level + 1 is the element that comes next, level its array. */
static const char *place_at(const struct json_tensor *tensor, int depth, char *text) {
    return tensor->has_rows ? place_text(text, tensor->row.rank, tensor->counts, depth)
                            : place_in_tensor(text, tensor->counts, depth);
}

const char *json_tensor_place(const struct json_tensor *tensor, char *text) {
    return place_at(tensor, tensor->level + 1, text);
}

const char *json_tensor_token_text(enum json_token token) {
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

/* "a row has shape [2,3]" */
static const char *shape_words(const struct json_tensor *tensor) {
    return tensor->has_rows ? "a row has shape" : "its shape is";
}

static enum weir_status fail_type(struct json_tensor *tensor, const char *got, struct weir_error *err) {
    char place[PLACE_TEXT_BYTES], expected[PLACE_TEXT_BYTES], row[PLACE_TEXT_BYTES];
    resolve(tensor);
    place_expected(expected, tensor->spec, &tensor->row, tensor->level + 1);
    return weir_fail(err, WEIR_INVALID, "%s: expected %s, got %s (%s %s)", json_tensor_place(tensor, place), expected,
                     got, shape_words(tensor), tensor_shape_text(&tensor->row, row, sizeof row));
}

static enum weir_status fail_count(const struct json_tensor *tensor, struct weir_error *err) {
    char place[PLACE_TEXT_BYTES], row[PLACE_TEXT_BYTES];
    int64_t wanted = tensor->row.dims[tensor->level - 1];
    size_t count = tensor->counts[tensor->level];
    const char *things = is_innermost(tensor) ? "values" : "arrays";
    bool nothing = tensor->has_rows && tensor->counts[0] == 0 && tensor->level == 1 && count == 0;
    place_at(tensor, tensor->level, place);
    if (wanted < 0)
        return weir_fail(err, WEIR_INVALID, "%s has no %s, expected at least one", place, things);
    bool is_free =
        tensor->spec->shape.dims[tensor->level - 1 + (tensor->has_rows && tensor->level > tensor->spec->batch_axis)] <
        0;
    return weir_fail(err, WEIR_INVALID, "%s has %zu %s, expected %lld%s (%s %s)%s", place, count, things,
                     (long long)wanted, is_free ? " as before" : "", shape_words(tensor),
                     tensor_shape_text(&tensor->row, row, sizeof row), nothing ? "; at least one row is needed" : "");
}

/* Makes room for `more` elements. Growth by half keeps the copying linear; an announced length bounds it, since an
 * element takes two bytes of body at least. */
static enum weir_status make_room(struct json_tensor *tensor, size_t more, struct weir_error *err) {
    size_t need = tensor->elements + more;
    if (need <= tensor->capacity)
        return WEIR_OK;
    size_t capacity =
        tensor->capacity ? tensor->capacity + tensor->capacity / 2 : tensor->first_bytes / tensor->element_bytes;
    if (tensor->most_elements > 0 && capacity > tensor->most_elements)
        capacity = tensor->most_elements;
    if (capacity < need)
        capacity = need;
    void *data = reallocarray(tensor->data, capacity, tensor->element_bytes);
    if (!data)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu numbers of the body", capacity);
    tensor->data = data;
    tensor->capacity = capacity;
    return WEIR_OK;
}

/* binary16, rounded to the nearest, halves to the even one. False: it would be infinite. */
static bool to_f16(float value, uint16_t *out) {
    uint32_t bits, sign;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7FFFFFFF;
    if (bits >= 0x477FF000)
        return false;
    if (bits < 0x38800000) { /* subnormal: the unit in the last place of 0.5 is that of these */
        float magnitude = fabsf(value) + 0.5F;
        memcpy(&bits, &magnitude, sizeof bits);
        bits -= 0x3F000000;
    } else {
        bits = ((bits + 0xFFF + (bits >> 13 & 1)) >> 13) - (112 << 10);
    }
    *out = (uint16_t)(sign | bits);
    return true;
}

/* bfloat16 likewise. */
static bool to_bf16(float value, uint16_t *out) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += 0x7FFF + (bits >> 16 & 1);
    *out = (uint16_t)(bits >> 16);
    return (bits & 0x7F800000) != 0x7F800000;
}

/* Writes the number as the spec's float type, which is not float64. False: it lies outside its range. */
static bool put_float(const struct json_tensor *tensor, float value, void *to) {
    uint16_t half = 0;
    bool fits = !isinf(value);
    switch (tensor->spec->dtype) {
    case TENSOR_F16:
        fits = to_f16(value, &half);
        memcpy(to, &half, sizeof half);
        break;
    case TENSOR_BF16:
        fits = fits && to_bf16(value, &half);
        memcpy(to, &half, sizeof half);
        break;
    default:
        memcpy(to, &value, sizeof value);
        break;
    }
    return fits;
}

/* reader may be NULL: the number was read the quick way, which keeps no offset. */
static enum weir_status fail_range(const struct json_tensor *tensor, const struct json_reader *reader,
                                   struct weir_error *err) {
    char place[PLACE_TEXT_BYTES];
    enum tensor_dtype dtype = tensor->spec->dtype == TENSOR_F64 ? TENSOR_F32 : tensor->spec->dtype; /* as computed in */
    json_tensor_place(tensor, place);
    if (!reader)
        return weir_fail(err, WEIR_INVALID, "%s: the number is outside the %s range", place, tensor_dtype_text(dtype));
    return weir_fail(err, WEIR_INVALID, "%s: the number is outside the %s range (offset %zu)", place,
                     tensor_dtype_text(dtype), reader->token_offset);
}

static bool is_float(enum tensor_dtype dtype) {
    return dtype == TENSOR_F32 || dtype == TENSOR_F16 || dtype == TENSOR_BF16 || dtype == TENSOR_F64;
}

static const struct number_range ranges[TENSOR_DTYPE_COUNT] = {[TENSOR_U8] = {0, UINT8_MAX},
                                                               [TENSOR_I8] = {INT8_MIN, INT8_MAX},
                                                               [TENSOR_I32] = {INT32_MIN, INT32_MAX},
                                                               [TENSOR_I64] = {INT64_MIN, INT64_MAX},
                                                               [TENSOR_BOOL] = {0, 1}};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "integers are cut to their low bytes");

enum { AT_ONCE = 64 };

/* Numbers of a float type that the reader does not write itself. */
static enum weir_status take_converted(struct json_tensor *tensor, struct json_reader *reader, size_t room,
                                       struct weir_error *err) {
    float numbers[AT_ONCE];
    for (size_t taken = 1; taken > 0 && room > 0; room -= taken) {
        taken = json_reader_numbers(reader, numbers, room < AT_ONCE ? room : AT_ONCE);
        for (size_t i = 0; i < taken; i++) {
            if (!put_float(tensor, numbers[i], tensor->data + tensor->elements * tensor->element_bytes))
                return fail_range(tensor, NULL, err);
            tensor->elements++;
            tensor->counts[tensor->level]++;
        }
    }
    return WEIR_OK;
}

static enum weir_status take_doubles(struct json_tensor *tensor, struct json_reader *reader, size_t room,
                                     struct weir_error *err) {
    double numbers[AT_ONCE];
    for (size_t taken = 1; taken > 0 && room > 0; room -= taken) {
        taken = json_reader_doubles(reader, numbers, room < AT_ONCE ? room : AT_ONCE);
        for (size_t i = 0; i < taken; i++, tensor->elements++, tensor->counts[tensor->level]++) {
            if (!element_check_fits(numbers[i]))
                return fail_range(tensor, NULL, err);
            memcpy(tensor->data + tensor->elements * sizeof numbers[i], &numbers[i], sizeof numbers[i]);
        }
    }
    return WEIR_OK;
}

static void take_integers(struct json_tensor *tensor, struct json_reader *reader, size_t room) {
    int64_t numbers[AT_ONCE];
    for (size_t taken = 1; taken > 0 && room > 0; room -= taken) {
        taken = json_reader_integers(reader, &ranges[tensor->spec->dtype], numbers, room < AT_ONCE ? room : AT_ONCE);
        char *to = tensor->data + tensor->elements * tensor->element_bytes;
        for (size_t i = 0; i < taken; i++, to += tensor->element_bytes)
            memcpy(to, &numbers[i], tensor->element_bytes);
        tensor->elements += taken;
        tensor->counts[tensor->level] += taken;
    }
}

enum weir_status json_tensor_take_numbers(struct json_tensor *tensor, struct json_reader *reader,
                                          struct weir_error *err) {
    if (!is_innermost(tensor) || tensor->skip_depth >= 0)
        return WEIR_OK;
    size_t *count = &tensor->counts[tensor->level];
    size_t left = json_reader_left(reader), most = width(tensor);
    if (*count >= most || left < NUMBER_MARGIN_BYTES)
        return WEIR_OK;
    size_t room = most - *count;
    if (room > left / 2 + 1)
        room = left / 2 + 1;
    enum weir_status status = make_room(tensor, room, err);
    if (status != WEIR_OK)
        return status;
    if (!is_float(tensor->spec->dtype)) {
        take_integers(tensor, reader, room);
        return WEIR_OK;
    }
    if (tensor->spec->dtype == TENSOR_F64)
        return take_doubles(tensor, reader, room, err);
    if (tensor->spec->dtype != TENSOR_F32)
        return take_converted(tensor, reader, room, err);
    size_t taken = json_reader_numbers(reader, (float *)(void *)tensor->data + tensor->elements, room);
    tensor->elements += taken;
    *count += taken;
    return WEIR_OK;
}

/* Reads the token's text as an integer. False: it has a fraction or an exponent. *fits: it lies in the range. */
static bool read_integer(const struct json_reader *reader, const struct number_range *range, int64_t *out, bool *fits) {
    const char *text = reader->text, *end = text + reader->text_size;
    bool negative = *text == '-';
    int64_t value = 0;
    *fits = true;
    for (text += negative; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        int64_t digit = negative ? '0' - *text : *text - '0';
        if (__builtin_mul_overflow(value, INT64_C(10), &value) || __builtin_add_overflow(value, digit, &value))
            *fits = false;
    }
    *fits = *fits && value >= range->least && value <= range->most;
    *out = value;
    return true;
}

static enum weir_status take_integer(struct json_tensor *tensor, const struct json_reader *reader, void *to,
                                     struct weir_error *err) {
    enum tensor_dtype dtype = tensor->spec->dtype;
    int64_t value;
    bool fits;
    if (!read_integer(reader, &ranges[dtype], &value, &fits))
        return fail_type(tensor, "a number with a fraction or an exponent", err);
    if (!fits && dtype == TENSOR_BOOL)
        return fail_type(tensor, "a number that is neither 0 nor 1", err);
    if (!fits)
        return fail_range(tensor, reader, err);
    memcpy(to, &value, tensor->element_bytes);
    return WEIR_OK;
}

static enum weir_status take_double(struct json_tensor *tensor, const struct json_reader *reader, void *to,
                                    struct weir_error *err) {
    double value = number_parse_double(reader->text, reader->text_size);
    if (!isfinite(value) || !element_check_fits(value))
        return fail_range(tensor, reader, err);
    memcpy(to, &value, sizeof value);
    return WEIR_OK;
}

static enum weir_status take_element(struct json_tensor *tensor, const struct json_reader *reader,
                                     enum json_token token, struct weir_error *err) {
    size_t *count = &tensor->counts[tensor->level];
    bool is_bool = tensor->spec->dtype == TENSOR_BOOL && (token == JSON_TRUE || token == JSON_FALSE);
    if (token != JSON_NUMBER && !is_bool)
        return fail_type(tensor, json_tensor_token_text(token), err);
    if (*count >= width(tensor)) { /* one too many: counted, so that the error can say how many there are */
        ++*count;
        return WEIR_OK;
    }
    enum weir_status status = make_room(tensor, 1, err);
    if (status != WEIR_OK)
        return status;
    void *to = tensor->data + tensor->elements * tensor->element_bytes;
    if (is_bool)
        *(char *)to = token == JSON_TRUE;
    else if (!is_float(tensor->spec->dtype))
        status = take_integer(tensor, reader, to, err);
    else if (tensor->spec->dtype == TENSOR_F64)
        status = take_double(tensor, reader, to, err);
    else if (!put_float(tensor, reader->number, to))
        status = fail_range(tensor, tensor->element_bytes == sizeof(uint16_t) ? NULL : reader, err);
    if (status == WEIR_OK) {
        tensor->elements++;
        ++*count;
    }
    return status;
}

static enum weir_status close_array(struct json_tensor *tensor, struct weir_error *err) {
    size_t wide = width(tensor), count = tensor->counts[tensor->level];
    int64_t *dim = &tensor->row.dims[tensor->level - 1];
    if (wide == SIZE_MAX && count > 0 && count <= INT64_MAX) {
        tensor->free_sizes[TENSOR_FREE(0) - *dim] = (int64_t)count;
        *dim = (int64_t)count;
    } else if (count != wide) {
        return fail_count(tensor, err);
    }
    tensor->level--;
    tensor->counts[tensor->level]++;
    return WEIR_OK;
}

enum weir_status json_tensor_take(struct json_tensor *tensor, const struct json_reader *reader, enum json_token token,
                                  struct weir_error *err) {
    if (tensor->skip_depth >= 0) {
        if (reader->depth == tensor->skip_depth) {
            tensor->skip_depth = -1;
            tensor->counts[tensor->level]++;
        }
        return WEIR_OK;
    }
    if (token == JSON_ARRAY_END)
        return close_array(tensor, err);
    if (is_innermost(tensor))
        return take_element(tensor, reader, token, err);
    if (token != JSON_ARRAY)
        return fail_type(tensor, json_tensor_token_text(token), err);
    if (tensor->counts[tensor->level] < width(tensor))
        tensor->counts[++tensor->level] = 0;
    else /* one too many, as in take_element */
        tensor->skip_depth = reader->depth - 1;
    return WEIR_OK;
}

void json_tensor_finish(struct json_tensor *tensor, struct job_tensor *out) {
    size_t elements = 1;
    resolve(tensor);
    for (int i = 0; i < tensor->row.rank; i++)
        elements *= (size_t)tensor->row.dims[i];
    *out = (struct job_tensor){.data = tensor->data, .row_bytes = elements * tensor->element_bytes, .row = tensor->row};
    tensor->data = NULL;
}
