/* The one list of outcomes, and the error text that travels with them. */
#ifndef WEIR_ENGINE_STATUS_H
#define WEIR_ENGINE_STATUS_H

/* X(name, text). The only map from these to HTTP codes is server/http/reply.c. */
#define WEIR_STATUS_LIST(X)                                                                                            \
    X(OK, "ok")                                                                                                        \
    X(INVALID, "invalid input")                                                                                        \
    X(UNSUPPORTED, "not supported")                                                                                    \
    X(NOT_FOUND, "not found")                                                                                          \
    X(TOO_LARGE, "too large")                                                                                          \
    X(IO, "input or output failed")                                                                                    \
    X(NO_MEMORY, "out of memory")                                                                                      \
    X(FULL, "no free slot")                                                                                            \
    X(CROWDED, "too many bytes in progress")                                                                           \
    X(DEADLINE, "deadline passed")                                                                                     \
    X(TOO_LATE, "cannot be answered in time")                                                                          \
    X(BUSY, "the queue is too long")                                                                                   \
    X(CONFLICT, "conflicts with the present state")                                                                    \
    X(CANCELLED, "cancelled")                                                                                          \
    X(NOT_READY, "not ready")                                                                                          \
    X(DRAINING, "draining")                                                                                            \
    X(NON_FINITE, "non-finite value")                                                                                  \
    X(DEVICE, "device failed")                                                                                         \
    X(DEVICE_LOST, "device lost")                                                                                      \
    X(INTERNAL, "internal error")

enum weir_status {
#define WEIR_STATUS_ENUM(name, text) WEIR_##name,
    WEIR_STATUS_LIST(WEIR_STATUS_ENUM)
#undef WEIR_STATUS_ENUM
        WEIR_STATUS_COUNT
};

#define WEIR_CHECKED __attribute__((warn_unused_result))

/* Why a call failed, for people: it names what is wrong and where. Always valid UTF-8 once filled by weir_fail. */
struct weir_error {
    enum weir_status status;
    char text[512];
};

/* Fills err (which may be NULL) and returns status, so that `return weir_fail(err, WEIR_INVALID, "...")` reads well.
 * Text that does not fit is cut; bytes that are not UTF-8, and control characters, become '?'. */
enum weir_status weir_fail(struct weir_error *err, enum weir_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of err->text. Returns err->status. */
enum weir_status weir_fail_in(struct weir_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The status's short text, such as "deadline passed". */
const char *weir_status_text(enum weir_status status);

#endif
