/* The arguments of `weir models`. */
#ifndef WEIR_SERVER_CLI_MODELS_CALL_H
#define WEIR_SERVER_CLI_MODELS_CALL_H

#include <stdbool.h>

#include "server/http_client.h"

/* X(name, text, operands, least, most) */
#define MODELS_ACTION_LIST(X)                                                                                          \
    X(LIST, "list", "[NAME]", 0, 1)                                                                                    \
    X(STATUS, "status", "NAME", 1, 1)                                                                                  \
    X(LOAD, "load", "NAME VERSION", 2, 2)                                                                              \
    X(UNLOAD, "unload", "NAME VERSION", 2, 2)                                                                          \
    X(VERIFY, "verify", "NAME VERSION", 2, 2)                                                                          \
    X(PROMOTE, "promote", "NAME [VERSION]", 1, 2)                                                                      \
    X(CANARY, "canary", "NAME VERSION --steps STEPS", 2, 2)                                                            \
    X(SHADOW, "shadow", "NAME VERSION --percent PERCENT", 2, 2)                                                        \
    X(PAUSE, "pause", "NAME", 1, 1)                                                                                    \
    X(RESUME, "resume", "NAME", 1, 1)                                                                                  \
    X(ROLLBACK, "rollback", "NAME", 1, 1)                                                                              \
    X(SCAN, "scan", "nothing", 0, 0)                                                                                   \
    X(SEAL, "seal", "DIR", 1, 1)                                                                                       \
    X(CHECK_SEAL, "check-seal", "DIR", 1, 1)

enum models_action {
#define MODELS_ACTION_ENUM(name, text, operands, least, most) MODELS_##name,
    MODELS_ACTION_LIST(MODELS_ACTION_ENUM)
#undef MODELS_ACTION_ENUM
        MODELS_ACTION_COUNT
};

struct models_call {
    enum models_action action;
    const char *name;    /* of a model, or the directory to seal; NULL: not given */
    const char *version; /* digits; NULL: not given */
    const char *admin, *file;
    bool json, watch;
    struct http_target target;
    char *body; /* what an order says as JSON; NULL: nothing */
};

/* Reads the arguments. Returns false after saying on stderr what is wrong. What out holds is borrowed from argv but for
 * body, which models_call_release frees. */
bool models_call_read(int argc, char **argv, struct models_call *out);
void models_call_release(struct models_call *call);

const char *models_call_text(enum models_action action);

#endif
