#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/wire.h"

static struct wire_field only_field(const char *bytes, size_t size) {
    struct wire wire = wire_over(bytes, size);
    struct wire_field field;
    cr_assert_eq(wire_next(&wire, &field), WIRE_FIELD);
    cr_assert_eq(wire_size(wire), 0);
    return field;
}

Test(wire, each_type_of_field_is_read) {
    struct wire_field field = only_field("\x08\x96\x01", 3);
    cr_assert(field.number == 1 && field.type == WIRE_VARINT && field.scalar == 150);
    field = only_field("\x19\x01\x02\x03\x04\x05\x06\x07\x08", 9);
    cr_assert(field.number == 3 && field.type == WIRE_FIXED64 && field.scalar == 0x0807060504030201u);
    field = only_field("\x15\x01\x02\x03\x04", 5);
    cr_assert(field.number == 2 && field.type == WIRE_FIXED32 && field.scalar == 0x04030201u);
    field = only_field("\xA2\x01\x03"
                       "abc",
                       6);
    cr_assert(field.number == 20 && field.type == WIRE_BYTES && wire_size(field.bytes) == 3);
    cr_assert(memcmp(field.bytes.at, "abc", 3) == 0);
}

Test(wire, a_negative_number_takes_ten_bytes) {
    struct wire_field field = only_field("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11);
    cr_assert_eq((int64_t)field.scalar, -1);
}

Test(wire, an_empty_message_has_no_fields) {
    struct wire wire = wire_over("", 0);
    struct wire_field field;
    cr_assert_eq(wire_next(&wire, &field), WIRE_END);
}

Test(wire, whatever_is_cut_off_or_malformed_is_broken) {
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {{"\x08", 1},                                              /* no value */
                {"\x08\x80", 2},                                          /* half a varint */
                {"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 11},     /* 65 bits */
                {"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 12}, /* eleven bytes */
                {"\x15\x01\x02\x03", 4},                                  /* half a fixed32 */
                {"\x19\x01\x02\x03\x04\x05\x06\x07", 8},                  /* half a fixed64 */
                {"\x0A\x05"
                 "abcd",
                 6},                                                   /* a length beyond the end */
                {"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11},  /* a length of 2^64 - 1 */
                {"\x00\x01", 2},                                       /* field number 0 */
                {"\x0B\x0C", 2},                                       /* a group */
                {"\x0E", 1},                                           /* type 6 */
                {"\xF8\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x00", 11}}; /* a field number too large */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct wire wire = wire_over(rows[i].bytes, rows[i].size);
        struct wire_field field;
        cr_assert_eq(wire_next(&wire, &field), WIRE_BROKEN, "row %zu", i);
    }
}

Test(wire, packed_and_single_scalars_are_counted_and_taken_alike) {
    struct wire_field packed = only_field("\x0A\x04\x01\x96\x01\x07", 6);
    size_t count;
    cr_assert(wire_count(&packed, WIRE_VARINT, &count) && count == 3);
    cr_assert_eq(wire_take(&packed, WIRE_VARINT), 1);
    cr_assert_eq(wire_take(&packed, WIRE_VARINT), 150);
    cr_assert_eq(wire_take(&packed, WIRE_VARINT), 7);
    struct wire_field single = only_field("\x08\x07", 2);
    cr_assert(wire_count(&single, WIRE_VARINT, &count) && count == 1);
    cr_assert_eq(wire_take(&single, WIRE_VARINT), 7);
    struct wire_field floats = only_field("\x0A\x08\x00\x00\x80\x3F\x00\x00\x00\x40", 10);
    cr_assert(wire_count(&floats, WIRE_FIXED32, &count) && count == 2);
    cr_assert_eq(wire_take(&floats, WIRE_FIXED32), 0x3F800000u);
    cr_assert_eq(wire_take(&floats, WIRE_FIXED32), 0x40000000u);
}

Test(wire, packed_bytes_that_are_no_whole_scalars_are_refused) {
    size_t count;
    struct wire_field field = only_field("\x0A\x03\x01\x02\x80", 5);
    cr_assert_not(wire_count(&field, WIRE_VARINT, &count));
    field = only_field("\x0A\x05\x01\x02\x03\x04\x05", 7);
    cr_assert_not(wire_count(&field, WIRE_FIXED32, &count));
    cr_assert_not(wire_count(&field, WIRE_FIXED64, &count));
    field = only_field("\x08\x01", 2);
    cr_assert_not(wire_count(&field, WIRE_FIXED32, &count));
}
