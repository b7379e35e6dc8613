/* Well-formed UTF-8. */
#ifndef WEIR_ENGINE_UTF8_H
#define WEIR_ENGINE_UTF8_H

#include <stddef.h>

/* Length (1 to 4) of the well-formed sequence that text[0..left) begins with, left > 0; 0 if it begins with none.
 * Source: RFC 3629, section 4. */
size_t utf8_length(const char *text, size_t left);

#endif
