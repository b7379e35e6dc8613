#include <criterion/criterion.h>

#include "server/admit/admission.h"

Test(admission, slots_run_out_and_come_back) {
    struct admission admission;
    admission_init(&admission, 2, 100);
    cr_assert(admission_take_slot(&admission, 0));
    cr_assert(admission_has_slot(&admission, 0));
    cr_assert(admission_take_slot(&admission, 0));
    cr_assert_not(admission_has_slot(&admission, 0));
    cr_assert_not(admission_take_slot(&admission, 0));
    admission_release_slot(&admission);
    cr_assert(admission_take_slot(&admission, 0));
}

Test(admission, bytes_are_bounded_over_all_requests) {
    struct admission admission;
    admission_init(&admission, 1, 100);
    cr_assert(admission_take_bytes(&admission, 60));
    cr_assert_not(admission_take_bytes(&admission, 41));
    cr_assert(admission_take_bytes(&admission, 40));
    admission_release_bytes(&admission, 100);
    cr_assert_eq(atomic_load(&admission.bytes), 0);
}

Test(admission, the_bound_holds_also_for_one_alone) {
    struct admission admission;
    admission_init(&admission, 1, 100);
    cr_assert_not(admission_take_bytes(&admission, 101));
    cr_assert(admission_take_bytes(&admission, 100));
    admission_release_bytes(&admission, 100);
}

Test(admission, a_size_that_would_overflow_is_refused) {
    struct admission admission;
    admission_init(&admission, 1, UINT64_MAX);
    cr_assert(admission_take_bytes(&admission, 10));
    cr_assert_not(admission_take_bytes(&admission, UINT64_MAX));
}

Test(admission, a_lower_limit_takes_nothing_back) {
    struct admission admission;
    admission_init(&admission, 2, 100);
    cr_assert(admission_take_slot(&admission, 0));
    cr_assert(admission_take_slot(&admission, 0));
    admission_set_limits(&admission, 1, 100);
    admission_release_slot(&admission);
    cr_assert_not(admission_take_slot(&admission, 0));
    admission_release_slot(&admission);
    cr_assert(admission_take_slot(&admission, 0));
}

Test(admission, the_spared_slots_are_left_to_others) {
    struct admission admission;
    admission_init(&admission, 4, 100);
    cr_assert(admission_take_slot(&admission, 2));
    cr_assert(admission_take_slot(&admission, 2));
    cr_assert_not(admission_has_slot(&admission, 2));
    cr_assert_not(admission_take_slot(&admission, 2));
    cr_assert(admission_take_slot(&admission, 0));
    cr_assert_not(admission_take_slot(&admission, UINT32_MAX));
}
