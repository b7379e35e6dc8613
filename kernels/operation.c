#include "kernels/operation.h"

const char *operation_text(enum operation_kind kind) {
    static const char *const texts[] = {
#define OPERATION_TEXT(name, text) text,
        OPERATION_LIST(OPERATION_TEXT)
#undef OPERATION_TEXT
    };
    return texts[kind];
}

const char *operation_unary_text(enum unary_kind kind) {
    static const char *const texts[] = {
#define UNARY_TEXT(name, text) text,
        UNARY_LIST(UNARY_TEXT)
#undef UNARY_TEXT
    };
    return texts[kind];
}

const char *operation_binary_text(enum binary_kind kind) {
    static const char *const texts[] = {
#define BINARY_TEXT(name, text) text,
        BINARY_LIST(BINARY_TEXT)
#undef BINARY_TEXT
    };
    return texts[kind];
}
