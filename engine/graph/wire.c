#include "engine/graph/wire.h"

#include <string.h>

struct wire wire_over(const void *bytes, size_t size) {
    return (struct wire){bytes, size > 0 ? (const unsigned char *)bytes + size : bytes};
}

size_t wire_size(struct wire wire) {
    return (size_t)(wire.end - wire.at);
}

static bool take_varint(struct wire *wire, uint64_t *out) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (wire->at == wire->end)
            return false;
        unsigned char byte = *wire->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = value;
            return shift < 63 || byte <= 1; /* the tenth byte has one bit left */
        }
    }
    return false;
}

static bool take_fixed(struct wire *wire, size_t bytes, uint64_t *out) {
    if (wire_size(*wire) < bytes)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)wire->at[i] << 8 * i;
    wire->at += bytes;
    *out = value;
    return true;
}

static bool take_bytes(struct wire *wire, struct wire *out) {
    uint64_t size;
    if (!take_varint(wire, &size) || size > wire_size(*wire))
        return false;
    *out = wire_over(wire->at, (size_t)size);
    wire->at += size;
    return true;
}

enum wire_result wire_next(struct wire *wire, struct wire_field *field) {
    uint64_t tag;
    if (wire->at == wire->end)
        return WIRE_END;
    if (!take_varint(wire, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF)
        return WIRE_BROKEN;
    memset(field, 0, sizeof *field);
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum wire_type)(tag & 7);
    bool whole = false;
    switch (field->type) {
    case WIRE_VARINT:
        whole = take_varint(wire, &field->scalar);
        break;
    case WIRE_FIXED64:
        whole = take_fixed(wire, 8, &field->scalar);
        break;
    case WIRE_FIXED32:
        whole = take_fixed(wire, 4, &field->scalar);
        break;
    case WIRE_BYTES:
        whole = take_bytes(wire, &field->bytes);
        break;
    }
    return whole ? WIRE_FIELD : WIRE_BROKEN;
}

bool wire_count(const struct wire_field *field, enum wire_type element, size_t *count) {
    if (field->type == element) {
        *count = 1;
        return true;
    }
    if (field->type != WIRE_BYTES)
        return false;
    size_t size = wire_size(field->bytes);
    if (element != WIRE_VARINT) {
        size_t each = element == WIRE_FIXED64 ? 8 : 4;
        *count = size / each;
        return size % each == 0;
    }
    struct wire rest = field->bytes;
    uint64_t ignored;
    for (*count = 0; rest.at != rest.end; ++*count)
        if (!take_varint(&rest, &ignored))
            return false;
    return true;
}

uint64_t wire_take(struct wire_field *field, enum wire_type element) {
    uint64_t value = field->scalar;
    if (field->type == WIRE_BYTES) {
        if (element == WIRE_VARINT)
            (void)take_varint(&field->bytes, &value);
        else
            (void)take_fixed(&field->bytes, element == WIRE_FIXED64 ? 8 : 4, &value);
    }
    return value;
}
