/* JSON number text to float32 and float64, correctly rounded: the same bits that strtof and strtod give; and to
 * integers. thread: any, in the "C" locale (the process never calls setlocale). */
#ifndef WEIR_SERVER_CODEC_NUMBER_H
#define WEIR_SERVER_CODEC_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NUMBER_MAX_BYTES = 1024,  /* a longer token is refused by the reader */
    NUMBER_MARGIN_BYTES = 36, /* number_read_run looks at most this far past the start of a number */
};

/* Reads text[0..size) as one JSON number (RFC 8259, section 6) and nothing else; size <= NUMBER_MAX_BYTES. What lies
 * past float32 becomes an infinity. Returns false if it is no number: *bad is then the index of the first byte that
 * cannot stand there, or size if the text ends too soon. */
bool number_parse(const char *text, size_t size, float *out, size_t *bad);

/* Reads a text that number_parse took as float64. What lies past its range becomes an infinity. */
double number_parse_double(const char *text, size_t size);

/* The quick way through a list of numbers: *text points where a value may begin. Reads numbers, the commas between them
 * and white space after commas, up to room of them, and moves *text past what it read. It stops early, without
 * complaint, before every number that is not of everyday form (a fault, a rounding that hangs by a hair, a subnormal,
 * an overflow) and before the last NUMBER_MARGIN_BYTES of the text: those are number_parse's. Returns how many it wrote
 * to out; *after_comma tells whether *text stands behind a comma or behind a number. */
size_t number_read_run(const char **text, const char *end, float *out, size_t room, bool *after_comma);

/* The same to float64. It stops before every number that needs more than one rounding: of more than 15 digits, or a
 * large power. */
size_t number_read_doubles(const char **text, const char *end, double *out, size_t room, bool *after_comma);

struct number_range {
    int64_t least, most;
};

/* The same for integers, written without fraction and exponent and within range; it also stops before every other. */
size_t number_read_integers(const char **text, const char *end, const struct number_range *range, int64_t *out,
                            size_t room, bool *after_comma);

#endif
