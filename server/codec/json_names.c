#include "server/codec/json_names.h"

#include <string.h>

void json_names_init(struct json_names *names) {
    names->count = 0;
}

bool json_names_add(struct json_names *names, int level, const char *name, size_t size) {
    for (int i = names->count - 1; i >= 0 && names->names[i].level == level; i--) {
        const struct json_name *seen = &names->names[i];
        if (seen->size == size && memcmp(names->text + seen->start, name, size) == 0)
            return false;
    }
    size_t used = 0;
    if (names->count > 0)
        used = (size_t)names->names[names->count - 1].start + names->names[names->count - 1].size;
    if (names->count == JSON_NAMES_MAX || size > JSON_NAMES_BYTES - used)
        return true;
    memcpy(names->text + used, name, size);
    names->names[names->count++] =
        (struct json_name){.start = (uint16_t)used, .size = (uint16_t)size, .level = (int16_t)level};
    return true;
}

void json_names_leave(struct json_names *names, int level) {
    while (names->count > 0 && names->names[names->count - 1].level == level)
        names->count--;
}
