#include "server/observe/labels.h"

const char *route_text(enum route route) {
    static const char *const texts[] = {
#define ROUTE_TEXT(name, text) text,
        ROUTE_LIST(ROUTE_TEXT)
#undef ROUTE_TEXT
    };
    return (unsigned)route < ROUTE_COUNT ? texts[route] : texts[ROUTE_OTHER];
}

const char *reason_text(enum reason reason) {
    static const char *const texts[] = {
#define REASON_TEXT(name, text) text,
        REASON_LIST(REASON_TEXT)
#undef REASON_TEXT
    };
    return (unsigned)reason < REASON_COUNT ? texts[reason] : texts[REASON_INTERNAL];
}
