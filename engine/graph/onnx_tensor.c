#include "engine/graph/onnx_tensor.h"

#include <string.h>
#include <unistd.h>

#include "engine/graph/constant.h"
#include "engine/graph/external_data.h"

/* Field numbers of TensorProto. */
enum {
    FIELD_DIMS = 1,
    FIELD_DATA_TYPE = 2,
    FIELD_SEGMENT = 3,
    FIELD_FLOATS = 4,
    FIELD_INT32S = 5,
    FIELD_INT64S = 7,
    FIELD_NAME = 8,
    FIELD_RAW = 9,
    FIELD_DOUBLES = 10,
    FIELD_UINT64S = 11,
    FIELD_EXTERNAL = 13,
    FIELD_LOCATION = 14
};

/* Integers that are made wider when they are read. Source of the numbers: onnx.proto, TensorProto.DataType. */
static const struct wider {
    int32_t onnx_type;
    size_t bytes; /* of an element in the file */
    bool is_signed;
    enum tensor_dtype dtype;
} wider_types[] = {
    {4, 2, false, TENSOR_I32}, {5, 2, true, TENSOR_I32}, {12, 4, false, TENSOR_I64}, {13, 8, false, TENSOR_I64}};

struct parts {
    const char *name;
    int32_t onnx_type;
    enum tensor_dtype dtype;
    const struct wider *wider; /* NULL: used as it lies in the file */
    struct tensor_shape shape;
    size_t each; /* bytes of an element in the file */
    size_t elements, bytes;
    bool has_raw, is_external;
    struct wire raw;
    uint32_t typed_field; /* the typed field in use, 0: none */
    size_t typed_count;
    struct external_data external;
};

static enum weir_status broken(struct weir_error *err, const char *name, const char *what) {
    return weir_fail(err, WEIR_INVALID, "tensor '%.64s': %s", name, what);
}

enum weir_status onnx_text(struct region *region, const struct wire_field *field, const char **out,
                           struct weir_error *err) {
    size_t size = wire_size(field->bytes);
    if (field->type != WIRE_BYTES || size > GRAPH_MAX_NAME_BYTES || (size > 0 && memchr(field->bytes.at, 0, size)))
        return weir_fail(err, WEIR_INVALID, "a name is not a string, holds a NUL byte or is longer than %d bytes",
                         GRAPH_MAX_NAME_BYTES);
    const char *text = region_copy_text(region, field->bytes.at, size);
    if (!text)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the names of the model");
    *out = text;
    return WEIR_OK;
}

static enum wire_type scalar_type(uint32_t field) {
    return field == FIELD_FLOATS ? WIRE_FIXED32 : field == FIELD_DOUBLES ? WIRE_FIXED64 : WIRE_VARINT;
}

/* The typed field that holds the elements. float16 and bfloat16 are bit patterns among the int32s. */
static uint32_t field_of(const struct parts *parts) {
    if (parts->wider)
        return parts->wider->dtype == TENSOR_I64 ? FIELD_UINT64S : FIELD_INT32S;
    switch (parts->dtype) {
    case TENSOR_F32:
        return FIELD_FLOATS;
    case TENSOR_F64:
        return FIELD_DOUBLES;
    case TENSOR_I64:
        return FIELD_INT64S;
    default:
        return FIELD_INT32S;
    }
}

static bool read_number(struct wire text, uint64_t *out) {
    uint64_t number = 0;
    if (text.at == text.end)
        return false;
    for (; text.at != text.end; text.at++)
        if (*text.at < '0' || *text.at > '9' || __builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text.at - '0'), &number))
            return false;
    *out = number;
    return true;
}

static bool key_is(struct wire key, const char *name) {
    return wire_size(key) == strlen(name) && memcmp(key.at, name, strlen(name)) == 0;
}

/* One StringStringEntryProto of external_data. */
static bool read_external_entry(struct parts *parts, struct wire message) {
    struct wire key = wire_over("", 0), value = key;
    struct wire_field field;
    enum wire_result result;
    while ((result = wire_next(&message, &field)) == WIRE_FIELD) {
        if (field.type == WIRE_BYTES && field.number == 1)
            key = field.bytes;
        else if (field.type == WIRE_BYTES && field.number == 2)
            value = field.bytes;
    }
    if (result == WIRE_BROKEN)
        return false;
    if (key_is(key, "location")) {
        parts->external.location = (const char *)value.at;
        parts->external.location_size = wire_size(value);
    }
    return !(key_is(key, "offset") && !read_number(value, &parts->external.offset_bytes)) &&
           !(key_is(key, "length") && !read_number(value, &parts->external.length_bytes));
}

static enum weir_status read_dims(struct parts *parts, struct wire_field *field, struct weir_error *err) {
    size_t count;
    if (!wire_count(field, WIRE_VARINT, &count))
        return broken(err, parts->name, "broken dimensions");
    if (count > (size_t)(TENSOR_MAX_RANK - parts->shape.rank))
        return weir_fail(err, WEIR_UNSUPPORTED, "tensor '%.64s': more than %d dimensions", parts->name,
                         TENSOR_MAX_RANK);
    while (count-- > 0) {
        int64_t dim = (int64_t)wire_take(field, WIRE_VARINT);
        if (dim < 0)
            return broken(err, parts->name, "a negative dimension");
        parts->shape.dims[parts->shape.rank++] = dim;
    }
    return WEIR_OK;
}

static enum weir_status read_field(struct parts *parts, struct wire_field *field, struct weir_error *err) {
    size_t count = 0;
    switch (field->number) {
    case FIELD_DIMS:
        return read_dims(parts, field, err);
    case FIELD_DATA_TYPE:
        parts->onnx_type = (int32_t)field->scalar;
        break;
    case FIELD_SEGMENT:
        return broken(err, parts->name, "tensors in segments are not supported");
    case FIELD_FLOATS:
    case FIELD_INT32S:
    case FIELD_INT64S:
    case FIELD_DOUBLES:
    case FIELD_UINT64S:
        if (!wire_count(field, scalar_type(field->number), &count))
            return broken(err, parts->name, "a data field is broken");
        if (count > 0 && parts->typed_field && parts->typed_field != field->number)
            return broken(err, parts->name, "elements in two different fields");
        if (count > 0)
            parts->typed_field = field->number;
        parts->typed_count += count;
        break;
    case FIELD_RAW:
        if (field->type != WIRE_BYTES)
            return broken(err, parts->name, "raw_data is not bytes");
        parts->has_raw = true;
        parts->raw = field->bytes;
        break;
    case FIELD_EXTERNAL:
        if (field->type != WIRE_BYTES || !read_external_entry(parts, field->bytes))
            return broken(err, parts->name, "broken external data entry");
        break;
    case FIELD_LOCATION:
        parts->is_external = field->scalar == 1;
        break;
    default:
        break;
    }
    return WEIR_OK;
}

/* The name comes first, since every later error shows it. */
static enum weir_status read_name(struct region *region, struct wire message, struct parts *parts,
                                  struct weir_error *err) {
    struct wire_field field;
    enum wire_result result;
    parts->name = "";
    while ((result = wire_next(&message, &field)) == WIRE_FIELD)
        if (field.number == FIELD_NAME && onnx_text(region, &field, &parts->name, err) != WEIR_OK)
            return err->status;
    return result == WIRE_END ? WEIR_OK : broken(err, parts->name, "its message is cut off or broken");
}

static bool find_type(struct parts *parts) {
    if (tensor_dtype_from_onnx(parts->onnx_type, &parts->dtype)) {
        parts->each = tensor_dtype_bytes(parts->dtype);
        return true;
    }
    for (size_t i = 0; i < sizeof wider_types / sizeof wider_types[0]; i++)
        if (wider_types[i].onnx_type == parts->onnx_type) {
            parts->wider = &wider_types[i];
            parts->dtype = parts->wider->dtype;
            parts->each = parts->wider->bytes;
            return true;
        }
    return false;
}

static enum weir_status measure(struct parts *parts, struct weir_error *err) {
    struct tensor_shape without_zeros = parts->shape; /* so that no part of the product overflows either */
    size_t ignored;
    for (int i = 0; i < without_zeros.rank; i++)
        without_zeros.dims[i] += without_zeros.dims[i] == 0;
    if (!tensor_shape_elements(&without_zeros, 0, &ignored) || ignored > INT64_MAX / 8 ||
        !tensor_shape_elements(&parts->shape, 0, &parts->elements) ||
        __builtin_mul_overflow(parts->elements, parts->each, &parts->bytes))
        return broken(err, parts->name, "its dimensions overflow");
    return WEIR_OK;
}

static void fill_typed(const struct parts *parts, struct wire message, unsigned char *bytes) {
    struct wire_field field;
    while (wire_next(&message, &field) == WIRE_FIELD) {
        size_t count;
        if (field.number != parts->typed_field || !wire_count(&field, scalar_type(field.number), &count))
            continue;
        for (; count > 0; count--, bytes += parts->each) {
            uint64_t value = wire_take(&field, scalar_type(field.number));
            memcpy(bytes, &value, parts->each); /* the low bytes: little-endian */
        }
    }
}

static enum weir_status no_memory(const struct parts *parts, struct weir_error *err) {
    return weir_fail(err, WEIR_NO_MEMORY, "tensor '%.64s': no memory for %zu bytes", parts->name, parts->bytes);
}

static enum weir_status fill_external(struct graph *graph, struct parts *parts, const unsigned char **out,
                                      struct weir_error *err) {
    int file;
    unsigned char *bytes = NULL;
    parts->external.tensor = parts->name;
    if (external_data_open(graph->directory, &parts->external, parts->bytes, &file, err) != WEIR_OK)
        return err->status;
    enum weir_status status = WEIR_OK;
    if (parts->bytes > ONNX_MAX_EXTERNAL_BYTES - graph->external_bytes)
        status = weir_fail(err, WEIR_TOO_LARGE, "tensor '%.64s': more than %zu bytes of external data", parts->name,
                           ONNX_MAX_EXTERNAL_BYTES);
    else if (!(bytes = region_take(&graph->region, parts->bytes, 1)))
        status = no_memory(parts, err);
    else
        status = external_data_read(file, &parts->external, bytes, parts->bytes, err);
    close(file);
    if (status != WEIR_OK)
        return status;
    graph->external_bytes += parts->bytes;
    *out = bytes;
    return WEIR_OK;
}

/* A bool is 0 or 1 here, whatever the file has. */
static const unsigned char *clean_bools(struct region *region, const struct parts *parts, const unsigned char *bytes) {
    size_t at = 0;
    while (at < parts->elements && bytes[at] <= 1)
        at++;
    if (at == parts->elements)
        return bytes;
    unsigned char *clean = region_take(region, parts->elements, 1);
    for (size_t i = 0; clean && i < parts->elements; i++)
        clean[i] = bytes[i] != 0;
    return clean;
}

/* The elements as the file has them: in its memory, or copied. */
static enum weir_status find_bytes(struct graph *graph, struct parts *parts, struct wire message,
                                   const unsigned char **out, struct weir_error *err) {
    if (parts->is_external)
        return fill_external(graph, parts, out, err);
    if (parts->has_raw) {
        if (wire_size(parts->raw) != parts->bytes || parts->typed_count > 0)
            return weir_fail(err, WEIR_INVALID, "tensor '%.64s': %zu bytes of raw data for a tensor of %zu",
                             parts->name, wire_size(parts->raw), parts->bytes);
        *out = parts->raw.at;
        return WEIR_OK;
    }
    if (parts->typed_count != parts->elements || (parts->elements > 0 && parts->typed_field != field_of(parts)))
        return weir_fail(err, WEIR_INVALID, "tensor '%.64s': %zu elements of data for a %s tensor of %zu", parts->name,
                         parts->typed_count, tensor_dtype_text(parts->dtype), parts->elements);
    unsigned char *bytes = region_take(&graph->region, parts->bytes, 1);
    if (!bytes)
        return no_memory(parts, err);
    fill_typed(parts, message, bytes);
    *out = bytes;
    return WEIR_OK;
}

/* *fits becomes false where an element has no place in the wider type (uint64 beyond int64). */
static void widen(const struct parts *parts, const unsigned char *from, unsigned char *to, bool *fits) {
    size_t wide = tensor_dtype_bytes(parts->dtype);
    for (size_t i = 0; i < parts->elements; i++) {
        uint64_t value = 0;
        memcpy(&value, from + i * parts->each, parts->each);
        if (parts->wider->is_signed)
            value = (uint64_t)(int64_t)(int16_t)value;
        else if (value > INT64_MAX)
            *fits = false;
        memcpy(to + i * wide, &value, wide);
    }
}

static enum weir_status make_constant(struct graph *graph, struct parts *parts, struct wire message,
                                      struct onnx_tensor *out, struct weir_error *err) {
    const unsigned char *bytes = NULL;
    unsigned char *wide;
    bool fits = true;
    if (measure(parts, err) != WEIR_OK || find_bytes(graph, parts, message, &bytes, err) != WEIR_OK)
        return err->status;
    if (parts->dtype == TENSOR_BOOL && !(bytes = clean_bools(&graph->region, parts, bytes)))
        return no_memory(parts, err);
    struct graph_constant *constant = parts->wider ? constant_make(&graph->region, parts->dtype, &parts->shape, &wide)
                                                   : region_take(&graph->region, 1, sizeof *constant);
    if (!constant)
        return no_memory(parts, err);
    if (parts->wider)
        widen(parts, bytes, wide, &fits);
    else
        *constant = (struct graph_constant){parts->dtype, parts->shape, parts->elements, bytes};
    *out = fits ? (struct onnx_tensor){.name = parts->name, .constant = constant}
                : (struct onnx_tensor){.name = parts->name, .unsupported_type = parts->onnx_type};
    return WEIR_OK;
}

enum weir_status onnx_tensor_read(struct graph *graph, struct wire message, struct onnx_tensor *out,
                                  struct weir_error *err) {
    struct parts parts = {.external = {.location = "", .length_bytes = UINT64_MAX}};
    struct wire rest = message;
    struct wire_field field;
    if (read_name(&graph->region, message, &parts, err) != WEIR_OK)
        return err->status;
    while (wire_next(&rest, &field) == WIRE_FIELD)
        if (read_field(&parts, &field, err) != WEIR_OK)
            return err->status;
    if (find_type(&parts))
        return make_constant(graph, &parts, message, out, err);
    if (parts.onnx_type == 0)
        return broken(err, parts.name, "it has no data type");
    *out = (struct onnx_tensor){.name = parts.name, .unsupported_type = parts.onnx_type};
    return WEIR_OK;
}
