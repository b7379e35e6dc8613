#include "engine/version_number.h"

bool version_number_read(const char *text, uint64_t *out) {
    uint64_t number = 0;
    text += *text == 'v';
    if (!*text)
        return false;
    for (; *text; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
            return false;
    *out = number;
    return true;
}
