#include "engine/graph/patterns.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/graph_case.h"

static struct graph_case test;

static void destroy(void) {
    graph_case_release(&test);
}

TestSuite(patterns, .fini = destroy);

Test(patterns, what_only_passes_on_is_skipped) {
    graph_case_node(&test, "Identity", "x", "a", NULL);
    graph_case_node(&test, "Dropout", "a", "b -", "ratio:f=0.5");
    graph_case_node(&test, "Identity", "b", "c", NULL);
    graph_case_node(&test, "Relu", "c", "y", NULL);
    cr_assert_str_eq(graph_case_apply(&test, "4"), "Relu");
    cr_assert_eq(graph_case_last(&test)->inputs[0], test.graph->inputs[0].value);
}

Test(patterns, a_dropout_whose_mask_is_read_stays) {
    graph_case_node(&test, "Dropout", "x", "a mask", NULL);
    graph_case_node(&test, "Where", "mask a x", "y", NULL);
    cr_assert_str_eq(graph_case_apply(&test, "4"), "Dropout Where");
}

Test(patterns, an_identity_that_gives_an_output_stays) {
    graph_case_node(&test, "Relu", "x", "a", NULL);
    graph_case_node(&test, "Identity", "a", "y", NULL);
    cr_assert_str_eq(graph_case_apply(&test, "4"), "Relu Identity");
}

Test(patterns, transpositions_one_behind_the_other_are_one) {
    graph_case_node(&test, "Transpose", "x", "a", "perm:l=0,2,3,1");
    graph_case_node(&test, "Transpose", "a", "y", "perm:l=1,0,2,3");
    cr_assert_str_eq(graph_case_apply(&test, "2,3,4"), "Transpose");
    const struct graph_attribute *order = graph_attribute(graph_case_last(&test), "perm");
    static const int64_t expected[] = {2, 0, 3, 1};
    cr_assert(order->item_count == 4 && memcmp(order->ints, expected, sizeof expected) == 0);
}

Test(patterns, transpositions_that_undo_each_other_go) {
    graph_case_node(&test, "Transpose", "x", "a", "perm:l=0,2,3,1");
    graph_case_node(&test, "Transpose", "a", "y", "perm:l=0,3,1,2");
    cr_assert_str_eq(graph_case_apply(&test, "2,3,4"), "Identity");
}

Test(patterns, transpositions_without_an_order_stay) {
    graph_case_node(&test, "Transpose", "x", "a", NULL);
    graph_case_node(&test, "Transpose", "a", "y", "perm:l=1,0");
    cr_assert_str_eq(graph_case_apply(&test, "4"), "Transpose Transpose");
}

Test(patterns, what_matches_nothing_is_left_alone) {
    graph_case_node(&test, "Relu", "x", "a", NULL);
    graph_case_node(&test, "Softmax", "a", "y", NULL);
    cr_assert_str_eq(graph_case_apply(&test, "4"), "Relu Softmax");
}
