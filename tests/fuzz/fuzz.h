/* What every fuzz target has: its entry, and how it tells what it finds. Included once, by the target itself. */
#ifndef WEIR_TESTS_FUZZ_FUZZ_H
#define WEIR_TESTS_FUZZ_FUZZ_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/status.h"
#include "engine/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    abort();
}

/* What an error says: something, in UTF-8. */
static inline void require_text(const char *text) {
    require(*text, "an error without a text");
    for (size_t length; *text; text += length) {
        length = utf8_length(text, strlen(text));
        require(length > 0, "an error text is not UTF-8");
    }
}

#endif
