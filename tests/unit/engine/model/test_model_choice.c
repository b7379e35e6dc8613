#include "engine/model/model_choice.h"

#include <criterion/criterion.h>

static const struct model_choice READY[] = {
    {.number = 10}, {.number = 9}, {.number = 7, .is_rejected = true}, {.number = 2}};
enum { COUNT = sizeof READY / sizeof *READY };

Test(model_choice, without_a_choice_the_newest_serves) {
    cr_assert_eq(model_choice_stable(READY, COUNT, 0, 0), 10);
    cr_assert_eq(model_choice_stable(READY, COUNT, 0, 10), 10);
    cr_assert_eq(model_choice_stable(READY, 0, 0, 0), 0);
}

Test(model_choice, the_order_of_the_versions_does_not_matter) {
    const struct model_choice shuffled[] = {{.number = 2}, {.number = 10}, {.number = 9}};
    cr_assert_eq(model_choice_stable(shuffled, 3, 0, 0), 10);
    cr_assert_eq(model_choice_stable(shuffled, 3, 9, 9), 10);
}

Test(model_choice, the_chosen_one_stays) {
    cr_assert_eq(model_choice_stable(READY, COUNT, 9, 10), 9);
    cr_assert_eq(model_choice_stable(READY, COUNT, 7, 10), 7, "somebody chose it, although it was rejected");
}

Test(model_choice, a_version_that_was_never_seen_takes_over) {
    cr_assert_eq(model_choice_stable(READY, COUNT, 9, 9), 10);
    const struct model_choice many[] = {{.number = 12, .is_rejected = true}, {.number = 11}, {.number = 10}};
    cr_assert_eq(model_choice_stable(many, 3, 9, 9), 11, "the highest that is not rejected");
}

Test(model_choice, an_older_version_that_arrives_late_does_not_take_over) {
    cr_assert_eq(model_choice_stable(READY, COUNT, 9, 1), 10);
    const struct model_choice late[] = {{.number = 9}, {.number = 8}};
    cr_assert_eq(model_choice_stable(late, 2, 9, 5), 9);
}

Test(model_choice, where_versions_wait_for_a_rollout_none_takes_over) {
    cr_assert_eq(model_choice_stable(READY, COUNT, 2, UINT64_MAX), 2);
    cr_assert_eq(model_choice_stable(READY, COUNT, 0, UINT64_MAX), 10, "something must serve");
}

Test(model_choice, when_the_chosen_one_is_gone_the_next_lower_serves) {
    cr_assert_eq(model_choice_stable(READY, COUNT, 8, 10), 2, "7 is rejected");
    cr_assert_eq(model_choice_stable(READY, COUNT, 11, 11), 10);
}

Test(model_choice, when_none_is_lower_the_highest_serves) {
    cr_assert_eq(model_choice_stable(READY, COUNT, 1, 10), 10);
}

Test(model_choice, a_rejected_version_serves_only_when_chosen) {
    const struct model_choice bad[] = {{.number = 7, .is_rejected = true}};
    cr_assert_eq(model_choice_stable(bad, 1, 0, 0), 0);
    cr_assert_eq(model_choice_stable(bad, 1, 6, 6), 0);
}

Test(model_choice, a_version_whose_files_changed_after_it_was_rejected_takes_over_as_a_new_one) {
    const struct model_choice ready[] = {
        {.number = 3, .is_rejected = true}, {.number = 2, .is_mended = true}, {.number = 1}};
    cr_assert_eq(model_choice_stable(ready, 3, 1, 3), 2);
    cr_assert_eq(model_choice_stable(ready, 3, 1, UINT64_MAX), 1, "where new ones wait, it waits too");
    cr_assert_eq(model_choice_stable(ready, 3, 2, 3), 2);
    const struct model_choice older[] = {{.number = 2, .is_mended = true}, {.number = 5}};
    cr_assert_eq(model_choice_stable(older, 2, 5, 5), 5, "it is older than what was chosen");
}
