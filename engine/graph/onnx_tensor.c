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
    FIELD_EXTERNAL = 13,
    FIELD_LOCATION = 14
};

struct parts {
    const char *name;
    int32_t onnx_type;
    enum tensor_dtype dtype;
    struct tensor_shape shape;
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

/* The typed field that holds elements of dtype. float16 and bfloat16 are bit patterns among the int32s. */
static uint32_t field_of(enum tensor_dtype dtype) {
    switch (dtype) {
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
static enum weir_status read_name(struct onnx_source *source, struct wire message, struct parts *parts,
                                  struct weir_error *err) {
    struct wire_field field;
    enum wire_result result;
    parts->name = "";
    while ((result = wire_next(&message, &field)) == WIRE_FIELD)
        if (field.number == FIELD_NAME && onnx_text(source->region, &field, &parts->name, err) != WEIR_OK)
            return err->status;
    return result == WIRE_END ? WEIR_OK : broken(err, parts->name, "its message is cut off or broken");
}

static enum weir_status measure(struct parts *parts, struct weir_error *err) {
    if (!tensor_dtype_from_onnx(parts->onnx_type, &parts->dtype))
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "tensor '%.64s': ONNX data type %d; supported: float32, float16, bfloat16, float64, int64, "
                         "int32, int8, uint8, bool",
                         parts->name, (int)parts->onnx_type);
    struct tensor_shape without_zeros = parts->shape; /* so that no part of the product overflows either */
    size_t ignored;
    for (int i = 0; i < without_zeros.rank; i++)
        without_zeros.dims[i] += without_zeros.dims[i] == 0;
    if (!tensor_shape_elements(&without_zeros, 0, &ignored) || ignored > INT64_MAX ||
        !tensor_shape_elements(&parts->shape, 0, &parts->elements) ||
        __builtin_mul_overflow(parts->elements, tensor_dtype_bytes(parts->dtype), &parts->bytes))
        return broken(err, parts->name, "its dimensions overflow");
    return WEIR_OK;
}

static void fill_typed(const struct parts *parts, struct wire message, unsigned char *bytes) {
    struct wire_field field;
    size_t each = tensor_dtype_bytes(parts->dtype);
    while (wire_next(&message, &field) == WIRE_FIELD) {
        size_t count;
        if (field.number != parts->typed_field || !wire_count(&field, scalar_type(field.number), &count))
            continue;
        for (; count > 0; count--, bytes += each) {
            uint64_t value = wire_take(&field, scalar_type(field.number));
            memcpy(bytes, &value, each); /* the low bytes: little-endian */
        }
    }
}

static enum weir_status fill_external(struct onnx_source *source, struct parts *parts, struct graph_constant **out,
                                      struct weir_error *err) {
    int file;
    unsigned char *bytes;
    if (external_data_open(source->directory, &parts->external, parts->bytes, &file, err) != WEIR_OK)
        return err->status;
    enum weir_status status = WEIR_OK;
    if (parts->bytes > ONNX_MAX_EXTERNAL_BYTES - source->external_bytes)
        status = weir_fail(err, WEIR_TOO_LARGE, "tensor '%.64s': more than %zu bytes of external data", parts->name,
                           ONNX_MAX_EXTERNAL_BYTES);
    else if (!(*out = constant_make(source->region, parts->dtype, &parts->shape, &bytes)))
        status = weir_fail(err, WEIR_NO_MEMORY, "tensor '%.64s': no memory for %zu bytes", parts->name, parts->bytes);
    else
        status = external_data_read(file, &parts->external, bytes, parts->bytes, err);
    source->external_bytes += parts->bytes;
    close(file);
    return status;
}

enum weir_status onnx_tensor_read(struct onnx_source *source, struct wire message, const char **name,
                                  const struct graph_constant **out, struct weir_error *err) {
    struct parts parts = {.external = {.location = "", .length_bytes = UINT64_MAX}};
    struct graph_constant *constant = NULL;
    struct wire rest = message;
    struct wire_field field;
    unsigned char *bytes;
    if (read_name(source, message, &parts, err) != WEIR_OK)
        return err->status;
    while (wire_next(&rest, &field) == WIRE_FIELD)
        if (read_field(&parts, &field, err) != WEIR_OK)
            return err->status;
    if (measure(&parts, err) != WEIR_OK)
        return err->status;
    parts.external.tensor = parts.name;
    if (parts.is_external) {
        if (fill_external(source, &parts, &constant, err) != WEIR_OK)
            return err->status;
    } else if (parts.has_raw) {
        if (wire_size(parts.raw) != parts.bytes || parts.typed_count > 0)
            return weir_fail(err, WEIR_INVALID, "tensor '%.64s': %zu bytes of raw data for a tensor of %zu", parts.name,
                             wire_size(parts.raw), parts.bytes);
        if (!(constant = region_take(source->region, 1, sizeof *constant)))
            return weir_fail(err, WEIR_NO_MEMORY, "tensor '%.64s': no memory", parts.name);
        *constant = (struct graph_constant){parts.dtype, parts.shape, parts.elements, parts.raw.at};
    } else {
        if (parts.typed_count != parts.elements || (parts.elements > 0 && parts.typed_field != field_of(parts.dtype)))
            return weir_fail(err, WEIR_INVALID, "tensor '%.64s': %zu elements of data for a %s tensor of %zu",
                             parts.name, parts.typed_count, tensor_dtype_text(parts.dtype), parts.elements);
        if (!(constant = constant_make(source->region, parts.dtype, &parts.shape, &bytes)))
            return weir_fail(err, WEIR_NO_MEMORY, "tensor '%.64s': no memory", parts.name);
        fill_typed(&parts, message, bytes);
    }
    *name = parts.name;
    *out = constant;
    return WEIR_OK;
}
