/* Numbers to JSON. */
#ifndef WEIR_SERVER_CODEC_JSON_WRITER_H
#define WEIR_SERVER_CODEC_JSON_WRITER_H

#include <stdint.h>

enum {
    JSON_WRITER_FLOAT_BYTES = 24, /* room that json_writer_float needs; the longest text is 15 bytes */
    JSON_WRITER_NUMBER_BYTES = 32 /* room that the others need */
};

/* Writes a finite value with the fewest digits that read back as the same float32, the nearest of them to the value, as
 * a JSON number (RFC 8259, section 6): 0.1, 16777216, 9e-7, 1e20, -0. No terminating NUL. Returns the end. */
char *json_writer_float(char *to, float value);

/* The same for float64: 0.30000000000000004, 1e18, 5e-324; at most 24 bytes. */
char *json_writer_double(char *to, double value);

char *json_writer_integer(char *to, int64_t value);

#endif
