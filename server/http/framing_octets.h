/* What each byte may be in a head or a trailer. Private to the framing files. */
#ifndef WEIR_SERVER_HTTP_FRAMING_OCTETS_H
#define WEIR_SERVER_HTTP_FRAMING_OCTETS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/http/framing.h"

enum {
    OCTET_TOKEN = 1,  /* tchar of RFC 9110, 5.6.2: methods and field names */
    OCTET_VALUE = 2,  /* field values: printable, HTAB, and bytes above ASCII */
    OCTET_TARGET = 4, /* request targets: 0x21 to 0x7E without `#` */
    OCTET_HOST = 8,   /* the unreserved set of RFC 3986, 2.3: what host names are made of */
    OCTET_HEX = 16,
};

extern const uint8_t framing_octets[256];

static inline bool octet_is(char c, unsigned kinds) {
    return (framing_octets[(unsigned char)c] & kinds) != 0;
}

/* Fills fault and returns false. Texts name places, and never repeat what the client sent. */
bool framing_refuse(struct framing_fault *fault, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool framing_refuse_target(size_t limit, struct framing_fault *fault); /* 414 */
bool framing_refuse_count(size_t limit, struct framing_fault *fault);  /* 431 */

#endif
