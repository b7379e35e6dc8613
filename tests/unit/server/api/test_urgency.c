#include "server/api/urgency.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/clock.h"

static const int64_t limit_ns = 3 * CLOCK_NS_PER_S;
static struct weir_error err;

static struct request request_with(const char *name, const char *value) {
    struct request request = {.field_count = 1};
    request.fields[0] = (struct request_field){
        .name = name, .name_size = (uint32_t)strlen(name), .value = value, .value_size = (uint32_t)strlen(value)};
    return request;
}

Test(urgency, timeouts) {
    static const struct {
        const char *name, *value;
        int64_t wanted_ns; /* -1: refused */
    } rows[] = {
        {"X-Request-Timeout-Ms", "100", 100 * CLOCK_NS_PER_MS},
        {"x-request-timeout-ms", "5000", 3 * CLOCK_NS_PER_S},
        {"X-Request-Timeout-Ms", "999999999999999", 3 * CLOCK_NS_PER_S},
        {"X-Request-Timeout-Ms", "0", -1},
        {"X-Request-Timeout-Ms", "-5", -1},
        {"X-Request-Timeout-Ms", "1.5", -1},
        {"X-Request-Timeout-Ms", "9999999999999999", -1},
        {"X-Request-Timeout-Ms", "", -1},
        {"x-envoy-expected-rq-timeout-ms", "250", 250 * CLOCK_NS_PER_MS},
        {"x-envoy-expected-rq-timeout-ms", "soon", 3 * CLOCK_NS_PER_S},
        {"x-envoy-expected-rq-timeout-ms", "0", 3 * CLOCK_NS_PER_S},
        {"grpc-timeout", "1S", CLOCK_NS_PER_S},
        {"grpc-timeout", "20m", 20 * CLOCK_NS_PER_MS},
        {"grpc-timeout", "20M", 3 * CLOCK_NS_PER_S},
        {"grpc-timeout", "99999999H", 3 * CLOCK_NS_PER_S},
        {"grpc-timeout", "500u", 500 * CLOCK_NS_PER_US},
        {"grpc-timeout", "7n", 7},
        {"grpc-timeout", "100000000m", 3 * CLOCK_NS_PER_S},
        {"grpc-timeout", "m", 3 * CLOCK_NS_PER_S},
        {"grpc-timeout", "5x", 3 * CLOCK_NS_PER_S},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = request_with(rows[i].name, rows[i].value);
        int64_t timeout_ns = 0;
        enum weir_status status = urgency_timeout(&request, limit_ns, &timeout_ns, &err);
        cr_assert_eq(status, rows[i].wanted_ns < 0 ? WEIR_INVALID : WEIR_OK, "%s: %s", rows[i].name, rows[i].value);
        if (status == WEIR_OK)
            cr_assert_eq(timeout_ns, rows[i].wanted_ns, "%s: %s", rows[i].name, rows[i].value);
    }
}

Test(urgency, the_shortest_timeout_counts) {
    struct request request = request_with("X-Request-Timeout-Ms", "500");
    int64_t timeout_ns;
    request.fields[1] =
        (struct request_field){.name = "grpc-timeout", .name_size = 12, .value = "200m", .value_size = 4};
    request.field_count = 2;
    cr_assert_eq(urgency_timeout(&request, limit_ns, &timeout_ns, &err), WEIR_OK);
    cr_assert_eq(timeout_ns, 200 * CLOCK_NS_PER_MS);
}

Test(urgency, priorities) {
    static const struct {
        const char *value;
        int wanted; /* -1: refused */
    } rows[] = {{"high", JOB_HIGH}, {"HIGH", JOB_HIGH}, {"normal", JOB_NORMAL},
                {"low", JOB_LOW},   {"urgent", -1},     {"", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = request_with("X-Priority", rows[i].value);
        enum job_priority priority = JOB_LOW;
        enum weir_status status = urgency_priority(&request, &priority, &err);
        cr_assert_eq(status, rows[i].wanted < 0 ? WEIR_INVALID : WEIR_OK, "%s", rows[i].value);
        if (status == WEIR_OK)
            cr_assert_eq((int)priority, rows[i].wanted);
    }
    struct request none = {.field_count = 0};
    enum job_priority priority = JOB_LOW;
    cr_assert_eq(urgency_priority(&none, &priority, &err), WEIR_OK);
    cr_assert_eq(priority, JOB_NORMAL);
}
