#include "config/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static char fold(char c) {
    return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

enum { LONGEST_NAME = 40 };

/* Number of single-character edits between two names. Source: Wagner and Fischer's table, one row kept. */
static size_t edit_distance(const char *from, const char *to) {
    size_t row[LONGEST_NAME + 1];
    size_t columns = strlen(to);
    if (columns > LONGEST_NAME || strlen(from) > LONGEST_NAME)
        return LONGEST_NAME;
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 1; from[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t above = row[j];
            size_t best = diagonal + (fold(from[i - 1]) != to[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[columns];
}

static bool begins_with_folded(const char *text, const char *beginning) {
    for (; *beginning; text++, beginning++)
        if (*text != fold(*beginning))
            return false;
    return true;
}

int nearest_find(const char *written, const char *const *names, int count) {
    size_t length = strlen(written);
    size_t least = length < 4 ? 2 : length < 9 ? 3 : 4; /* one more than the distance that still counts as near */
    int nearest = -1;
    for (int i = 0; i < count; i++) {
        size_t distance = edit_distance(written, names[i]);
        if (distance < least) {
            least = distance;
            nearest = i;
        }
    }
    for (int i = 0; i < count && nearest < 0 && length >= 3; i++)
        if (begins_with_folded(names[i], written))
            nearest = i;
    return nearest;
}
