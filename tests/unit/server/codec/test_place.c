#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "server/codec/place.h"

static const struct tensor_shape flat = {.rank = 1, .dims = {-1}};
static const struct tensor_shape row4 = {.rank = 2, .dims = {-1, 4}};
static const struct tensor_shape deep = {.rank = 4, .dims = {-1, 2, 3, 4}};

Test(place, a_place_is_named_by_row_and_column_or_by_its_indices) {
    char text[PLACE_TEXT_BYTES];
    const size_t index[] = {7, 1, 2, 3};
    cr_expect(eq(str, (char *)place_text(text, 1, index, 1), "row 7"));
    cr_expect(eq(str, (char *)place_text(text, 2, index, 1), "row 7"));
    cr_expect(eq(str, (char *)place_text(text, 2, index, 2), "row 7, column 1"));
    cr_expect(eq(str, (char *)place_text(text, 4, index, 2), "row 7, element [1]"));
    cr_expect(eq(str, (char *)place_text(text, 4, index, 4), "row 7, element [1][2][3]"));
}

Test(place, an_element_number_is_turned_into_its_indices) {
    char text[PLACE_TEXT_BYTES];
    cr_expect(eq(str, (char *)place_of_element(text, &flat, 3, 0), "row 3"));
    cr_expect(eq(str, (char *)place_of_element(text, &row4, 3, 2), "row 3, column 2"));
    cr_expect(eq(str, (char *)place_of_element(text, &deep, 3, 23), "row 3, element [1][2][3]"));
    cr_expect(eq(str, (char *)place_of_element(text, &deep, 3, 5), "row 3, element [0][1][1]"));
}

Test(place, what_is_expected_is_told_for_every_depth) {
    char text[PLACE_TEXT_BYTES];
    cr_expect(eq(str, (char *)place_expected(text, &flat, 1), "a number"));
    cr_expect(eq(str, (char *)place_expected(text, &row4, 1), "an array of 4 numbers"));
    cr_expect(eq(str, (char *)place_expected(text, &row4, 2), "a number"));
    cr_expect(eq(str, (char *)place_expected(text, &deep, 1), "an array of shape [2,3,4]"));
    cr_expect(eq(str, (char *)place_expected(text, &deep, 3), "an array of 4 numbers"));
}

Test(place, the_row_shape_leaves_the_batch_dimension_out) {
    char text[PLACE_TEXT_BYTES];
    cr_expect(eq(str, (char *)place_row_shape(text, &flat), "[]"));
    cr_expect(eq(str, (char *)place_row_shape(text, &row4), "[4]"));
    cr_expect(eq(str, (char *)place_row_shape(text, &deep), "[2,3,4]"));
}

Test(place, the_largest_indices_fit_the_text) {
    char text[PLACE_TEXT_BYTES];
    size_t index[TENSOR_MAX_RANK];
    for (int i = 0; i < TENSOR_MAX_RANK; i++)
        index[i] = SIZE_MAX;
    place_text(text, TENSOR_MAX_RANK, index, TENSOR_MAX_RANK);
    cr_assert(text[strlen(text) - 1] == ']');
}
