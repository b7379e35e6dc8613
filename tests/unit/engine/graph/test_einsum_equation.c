#include "engine/graph/einsum_equation.h"

#include <criterion/criterion.h>
#include <string.h>

static struct einsum einsum;
static int rank;
static const char *fault;

static enum weir_status read(const char *text, int count, const int *ranks) {
    memset(&einsum, 0, sizeof einsum);
    return einsum_equation_read(text, ranks, count, &einsum, &rank, &fault);
}

#define RANKS(...) ((const int[]){__VA_ARGS__})

Test(einsum_equation, letters_become_labels_in_order_of_appearance) {
    cr_assert_eq(read("bij, bjk -> bik", 2, RANKS(3, 3)), WEIR_OK);
    cr_assert(einsum.term_count == 2 && einsum.label_count == 4 && rank == 3);
    cr_assert_arr_eq(einsum.inputs[0], ((signed char[]){0, 1, 2}), 3);
    cr_assert_arr_eq(einsum.inputs[1], ((signed char[]){0, 2, 3}), 3);
    cr_assert_arr_eq(einsum.output, ((signed char[]){0, 1, 3}), 3);
}

Test(einsum_equation, without_an_arrow_single_letters_come_in_the_alphabets_order) {
    cr_assert_eq(read("ba,aC", 2, RANKS(2, 2)), WEIR_OK);
    cr_assert_eq(rank, 2);
    cr_assert(einsum.output[0] == 2 && einsum.output[1] == 0); /* C before b */
    cr_assert_eq(read("ii", 1, RANKS(2)), WEIR_OK);
    cr_assert(rank == 0 && einsum.label_count == 1);
    cr_assert_eq(read("i->", 1, RANKS(1)), WEIR_OK);
    cr_assert_eq(rank, 0);
}

Test(einsum_equation, an_ellipsis_stands_for_what_is_left_counted_from_the_end) {
    cr_assert_eq(read("a...b,...b->...a", 2, RANKS(4, 2)), WEIR_OK);
    cr_assert(einsum.label_count == 4 && rank == 3);
    cr_assert_arr_eq(einsum.inputs[0], ((signed char[]){0, 2, 3, 1}), 4);
    cr_assert_arr_eq(einsum.inputs[1], ((signed char[]){3, 1}), 2);
    cr_assert_arr_eq(einsum.output, ((signed char[]){2, 3, 0}), 3);
    cr_assert_eq(read("...i,i", 2, RANKS(3, 1)), WEIR_OK);
    cr_assert(rank == 2 && einsum.output[0] == 1 && einsum.output[1] == 2);
    cr_assert_eq(read("...", 1, RANKS(0)), WEIR_OK);
    cr_assert_eq(rank, 0);
}

Test(einsum_equation, what_is_wrong_is_said) {
    static const struct {
        const char *text;
        int count, first, second;
        enum weir_status status;
    } rows[] = {
        {"ij", 1, 3, 0, WEIR_INVALID},
        {"ijk", 1, 2, 0, WEIR_INVALID},
        {"i1", 1, 2, 0, WEIR_INVALID},
        {"ij,jk", 1, 2, 0, WEIR_INVALID},
        {"ij", 2, 2, 2, WEIR_INVALID},
        {"ij-ij", 1, 2, 0, WEIR_INVALID},
        {"ij->ik", 1, 2, 0, WEIR_INVALID},
        {"ij->ii", 1, 2, 0, WEIR_INVALID},
        {"ij->i,j", 1, 2, 0, WEIR_INVALID},
        {"i....", 1, 2, 0, WEIR_INVALID},
        {"......", 1, 2, 0, WEIR_INVALID},
        {"ij->i->j", 1, 2, 0, WEIR_INVALID},
        {"abcdefghi", 1, 8, 0, WEIR_INVALID},
        {"abcde,fghij", 2, 5, 5, WEIR_UNSUPPORTED},
        {"", 1, 1, 0, WEIR_INVALID},
        {"i..", 1, 1, 0, WEIR_INVALID},
        {"a...,b...->ab...", 2, 8, 1, WEIR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fault = NULL;
        cr_assert_eq(read(rows[i].text, rows[i].count, RANKS(rows[i].first, rows[i].second)), rows[i].status, "%s",
                     rows[i].text);
        cr_assert_not_null(fault);
    }
}

Test(einsum_equation, more_than_26_labels_are_unsupported) {
    cr_assert_eq(read("abcdefgh,ijklmnop,qrstuvwx,yzA->a", 4, RANKS(8, 8, 8, 3)), WEIR_UNSUPPORTED);
    cr_assert_eq(read("abcdefgh,ijklmnop,qrstuvwx,yz->a", 4, RANKS(8, 8, 8, 2)), WEIR_OK);
    cr_assert_eq(einsum.label_count, 26);
}
