#include <criterion/criterion.h>

#include "server/http/reply.h"

Test(reply, every_outcome_has_a_code_and_a_reason_of_its_kind) {
    static const struct {
        enum weir_status status;
        int code;
        enum reason reason;
    } rows[] = {
        {WEIR_INVALID, 400, REASON_BAD_REQUEST},
        {WEIR_TOO_LARGE, 413, REASON_TOO_LARGE},
        {WEIR_FULL, 503, REASON_FULL},
        {WEIR_DEADLINE, 504, REASON_DEADLINE},
        {WEIR_NOT_READY, 503, REASON_NOT_READY},
        {WEIR_DRAINING, 503, REASON_DRAINING},
        {WEIR_NON_FINITE, 500, REASON_NON_FINITE},
        {WEIR_DEVICE, 500, REASON_ENGINE},
        {WEIR_INTERNAL, 500, REASON_INTERNAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum reason reason;
        cr_assert_eq(reply_code(rows[i].status, &reason), rows[i].code, "%s", weir_status_text(rows[i].status));
        cr_assert_eq(reason, rows[i].reason, "%s", weir_status_text(rows[i].status));
    }
}

Test(reply, no_outcome_but_ok_is_a_success) {
    for (int status = WEIR_OK + 1; status < WEIR_STATUS_COUNT; status++) {
        enum reason reason;
        int code = reply_code((enum weir_status)status, &reason);
        cr_assert(code >= 400 && code < 600, "%s", weir_status_text((enum weir_status)status));
        cr_assert_neq(reason, REASON_OK);
        cr_assert_str_neq(reply_phrase(code), "Unknown");
    }
}
