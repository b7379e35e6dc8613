#include "engine/utf8.h"

size_t utf8_length(const char *text, size_t left) {
    const unsigned char *p = (const unsigned char *)text;
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } rows[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    if (p[0] < 0x80)
        return 1;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        if (p[0] < rows[r].first_low || p[0] > rows[r].first_high)
            continue;
        if (left < rows[r].length || p[1] < rows[r].second_low || p[1] > rows[r].second_high)
            return 0;
        for (size_t i = 2; i < rows[r].length; i++)
            if ((p[i] & 0xC0) != 0x80)
                return 0;
        return rows[r].length;
    }
    return 0;
}
