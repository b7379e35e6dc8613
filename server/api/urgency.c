#include "server/api/urgency.h"

#include "engine/clock.h"
#include "server/api/api.h"

/* Reads size digits. Returns -1 if there are none, too many, or something else. */
static int64_t read_number(const char *text, uint32_t size) {
    int64_t number = 0;
    if (size == 0 || size > 15)
        return -1;
    for (uint32_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* 1 to 8 digits and a unit: H, M, S, m, u, n. Returns -1 if it is malformed, INT64_MAX if it is longer than that. */
static int64_t read_grpc_timeout(const struct request_field *field) {
    static const struct {
        char letter;
        int64_t ns;
    } units[] = {
        {'H', 3600 * CLOCK_NS_PER_S}, {'M', 60 * CLOCK_NS_PER_S}, {'S', CLOCK_NS_PER_S},
        {'m', CLOCK_NS_PER_MS},       {'u', CLOCK_NS_PER_US},     {'n', 1},
    };
    if (field->value_size < 2 || field->value_size > 9)
        return -1;
    int64_t number = read_number(field->value, field->value_size - 1), ns;
    if (number < 0)
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].letter == field->value[field->value_size - 1])
            return __builtin_mul_overflow(number, units[i].ns, &ns) ? INT64_MAX : ns;
    return -1;
}

/* A number of milliseconds as nanoseconds, bounded by what anybody waits for. */
static int64_t ms_to_ns(int64_t ms) {
    const int64_t most_ms = INT64_C(1000) * 3600 * 24;
    return (ms < most_ms ? ms : most_ms) * CLOCK_NS_PER_MS;
}

enum weir_status urgency_timeout(const struct request *request, int64_t limit_ns, int64_t *out_ns,
                                 struct weir_error *err) {
    int64_t timeout_ns = limit_ns;
    const struct request_field *field = request_find(request, "x-request-timeout-ms");
    if (field) {
        int64_t ms = read_number(field->value, field->value_size);
        if (ms <= 0)
            return weir_fail(err, WEIR_INVALID, "X-Request-Timeout-Ms must be a whole number of milliseconds above 0");
        if (ms_to_ns(ms) < timeout_ns)
            timeout_ns = ms_to_ns(ms);
    }
    field = request_find(request, "x-envoy-expected-rq-timeout-ms");
    if (field) {
        int64_t ms = read_number(field->value, field->value_size);
        if (ms > 0 && ms_to_ns(ms) < timeout_ns)
            timeout_ns = ms_to_ns(ms);
    }
    field = request_find(request, "grpc-timeout");
    if (field) {
        int64_t ns = read_grpc_timeout(field);
        if (ns > 0 && ns < timeout_ns)
            timeout_ns = ns;
    }
    *out_ns = timeout_ns;
    return WEIR_OK;
}

enum weir_status urgency_priority(const struct request *request, enum job_priority *out, struct weir_error *err) {
    const struct request_field *field = request_find(request, "x-priority");
    if (!field || request_field_is(field, "normal"))
        *out = JOB_NORMAL;
    else if (request_field_is(field, "high"))
        *out = JOB_HIGH;
    else if (request_field_is(field, "low"))
        *out = JOB_LOW;
    else
        return weir_fail(err, WEIR_INVALID, "X-Priority must be high, normal or low");
    return WEIR_OK;
}

uint32_t urgency_spared_slots(struct api *api, enum job_priority priority, int64_t now_ns) {
    uint32_t slots = atomic_load_explicit(&api->admission.max_slots, memory_order_relaxed);
    if (priority == JOB_HIGH)
        atomic_store_explicit(&api->high_seen_ns, now_ns, memory_order_relaxed);
    else if (priority == JOB_LOW)
        return slots / 2;
    else if (now_ns - atomic_load_explicit(&api->high_seen_ns, memory_order_relaxed) < CLOCK_NS_PER_S)
        return slots / 8;
    return 0;
}
