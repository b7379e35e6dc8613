/* The member names of the objects that are open, to find a name that comes twice. */
#ifndef WEIR_SERVER_CODEC_JSON_NAMES_H
#define WEIR_SERVER_CODEC_JSON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bounded on purpose, so that a request's memory is: names past these bounds (over all open objects) are taken without
 * being remembered. */
enum { JSON_NAMES_MAX = 64, JSON_NAMES_BYTES = 2048 };

struct json_names {
    int count;
    struct json_name {
        uint16_t start, size; /* in text */
        int16_t level;        /* of the object, 1 for the outermost */
    } names[JSON_NAMES_MAX];
    char text[JSON_NAMES_BYTES];
};

void json_names_init(struct json_names *names);

/* Remembers a name of the innermost open object, whose level is `level`. Returns false if that object already has it.
 */
bool json_names_add(struct json_names *names, int level, const char *name, size_t size);

/* Forgets the names of the innermost object, at its end. */
void json_names_leave(struct json_names *names, int level);

#endif
