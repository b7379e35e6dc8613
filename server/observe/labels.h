/* The closed sets that metric labels are taken from: nothing a client sends becomes a label. */
#ifndef WEIR_SERVER_OBSERVE_LABELS_H
#define WEIR_SERVER_OBSERVE_LABELS_H

/* X(name, text): the route template of a request; predictions first. */
#define ROUTE_LIST(X)                                                                                                  \
    X(PREDICT, "/predict")                                                                                             \
    X(MODEL_PREDICT, "/models/{model}/predict")                                                                        \
    X(V1_PREDICT, "/v1/models/{model}:predict")                                                                        \
    X(V2_INFER, "/v2/models/{model}/infer")                                                                            \
    X(V2, "/v2")                                                                                                       \
    X(V1, "/v1")                                                                                                       \
    X(OPENAPI, "/openapi.json")                                                                                        \
    X(ADMIN, "/admin")                                                                                                 \
    X(HEALTH, "/health")                                                                                               \
    X(METRICS, "/metrics")                                                                                             \
    X(UI, "/ui")                                                                                                       \
    X(ROOT, "/")                                                                                                       \
    X(OTHER, "other")

/* X(name, text): why a request got its code. */
#define REASON_LIST(X)                                                                                                 \
    X(OK, "ok")                                                                                                        \
    X(BAD_REQUEST, "bad_request")                                                                                      \
    X(FRAMING, "framing")                                                                                              \
    X(FORBIDDEN, "forbidden")                                                                                          \
    X(NOT_FOUND, "not_found")                                                                                          \
    X(METHOD, "method")                                                                                                \
    X(MEDIA_TYPE, "media_type")                                                                                        \
    X(TOO_LARGE, "too_large")                                                                                          \
    X(HEAD_TIMEOUT, "head_timeout")                                                                                    \
    X(BODY_TIMEOUT, "body_timeout")                                                                                    \
    X(FULL, "full")                                                                                                    \
    X(BYTES, "bytes")                                                                                                  \
    X(DEADLINE, "deadline")                                                                                            \
    X(DELAY_TARGET, "delay_target")                                                                                    \
    X(CONFLICT, "conflict")                                                                                            \
    X(DRAINING, "draining")                                                                                            \
    X(NOT_READY, "not_ready")                                                                                          \
    X(ENGINE, "engine")                                                                                                \
    X(NON_FINITE, "non_finite")                                                                                        \
    X(GONE, "gone")                                                                                                    \
    X(INTERNAL, "internal")

enum route {
#define ROUTE_ENUM(name, text) ROUTE_##name,
    ROUTE_LIST(ROUTE_ENUM)
#undef ROUTE_ENUM
        ROUTE_COUNT
};

enum reason {
#define REASON_ENUM(name, text) REASON_##name,
    REASON_LIST(REASON_ENUM)
#undef REASON_ENUM
        REASON_COUNT
};

enum { ROUTE_LAST_PREDICTION = ROUTE_V2_INFER };

const char *route_text(enum route route);
const char *reason_text(enum reason reason);

#endif
