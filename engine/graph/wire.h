/* Protocol Buffers wire format, reading only: fields of one message, one after another, never past its end. Nothing is
 * allocated and nothing recurses. Source: protobuf.dev, "Encoding". */
#ifndef WEIR_ENGINE_GRAPH_WIRE_H
#define WEIR_ENGINE_GRAPH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* The unread part of a message. */
struct wire {
    const unsigned char *at;
    const unsigned char *end;
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t scalar;   /* of VARINT, FIXED64 and FIXED32 */
    struct wire bytes; /* of BYTES: a string, a message or packed scalars */
};

enum wire_result { WIRE_FIELD, WIRE_END, WIRE_BROKEN };

struct wire wire_over(const void *bytes, size_t size);
size_t wire_size(struct wire wire);

/* Reads the next field. BROKEN: a length beyond the end, a varint of over ten bytes, field number 0, a group. */
enum wire_result wire_next(struct wire *wire, struct wire_field *field);

/* Counts the scalars of a repeated field's piece, packed or not. Returns false if its bytes are not whole scalars of
 * that type. */
bool wire_count(const struct wire_field *field, enum wire_type element, size_t *count);

/* Takes the next of the scalars that wire_count counted; to be called that often and no more. */
uint64_t wire_take(struct wire_field *field, enum wire_type element);

#endif
