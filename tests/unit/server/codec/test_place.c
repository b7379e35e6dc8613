#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "server/codec/place.h"

static const struct tensor_shape number = {.rank = 0};
static const struct tensor_shape row4 = {.rank = 1, .dims = {4}};
static const struct tensor_shape deep = {.rank = 3, .dims = {2, 3, 4}};
static const struct tensor_spec floats = {.dtype = TENSOR_F32};

Test(place, a_place_is_named_by_row_and_column_or_by_its_indices) {
    char text[PLACE_TEXT_BYTES];
    const size_t index[] = {7, 1, 2, 3};
    cr_expect(eq(str, (char *)place_text(text, 0, index, 1), "row 7"));
    cr_expect(eq(str, (char *)place_text(text, 1, index, 1), "row 7"));
    cr_expect(eq(str, (char *)place_text(text, 1, index, 2), "row 7, column 1"));
    cr_expect(eq(str, (char *)place_text(text, 3, index, 2), "row 7, element [1]"));
    cr_expect(eq(str, (char *)place_text(text, 3, index, 4), "row 7, element [1][2][3]"));
}

Test(place, a_tensor_without_rows_has_places_of_its_own) {
    char text[PLACE_TEXT_BYTES];
    const size_t index[] = {0, 1, 2};
    cr_expect(eq(str, (char *)place_in_tensor(text, index, 1), "the tensor"));
    cr_expect(eq(str, (char *)place_in_tensor(text, index, 2), "element [1]"));
    cr_expect(eq(str, (char *)place_in_tensor(text, index, 3), "element [1][2]"));
    cr_expect(eq(str, (char *)place_of_element(text, &row4, false, 0, 3), "element [3]"));
}

Test(place, an_element_number_is_turned_into_its_indices) {
    char text[PLACE_TEXT_BYTES];
    cr_expect(eq(str, (char *)place_of_element(text, &number, true, 3, 0), "row 3"));
    cr_expect(eq(str, (char *)place_of_element(text, &row4, true, 3, 2), "row 3, column 2"));
    cr_expect(eq(str, (char *)place_of_element(text, &deep, true, 3, 23), "row 3, element [1][2][3]"));
    cr_expect(eq(str, (char *)place_of_element(text, &deep, true, 3, 5), "row 3, element [0][1][1]"));
}

Test(place, what_is_expected_is_told_for_every_depth) {
    char text[PLACE_TEXT_BYTES];
    cr_expect(eq(str, (char *)place_expected(text, &floats, &number, 1), "a number"));
    cr_expect(eq(str, (char *)place_expected(text, &floats, &row4, 1), "an array of 4 numbers"));
    cr_expect(eq(str, (char *)place_expected(text, &floats, &row4, 2), "a number"));
    cr_expect(eq(str, (char *)place_expected(text, &floats, &deep, 1), "an array of shape [2,3,4]"));
    cr_expect(eq(str, (char *)place_expected(text, &floats, &deep, 3), "an array of 4 numbers"));
}

Test(place, what_is_expected_names_the_type_and_leaves_out_what_is_free) {
    char text[PLACE_TEXT_BYTES];
    const struct tensor_spec integers = {.dtype = TENSOR_I64}, booleans = {.dtype = TENSOR_BOOL};
    const struct tensor_shape open = {.rank = 1, .dims = {TENSOR_FREE(0)}};
    cr_expect(eq(str, (char *)place_expected(text, &integers, &number, 1), "an integer"));
    cr_expect(eq(str, (char *)place_expected(text, &booleans, &row4, 1), "an array of 4 booleans"));
    cr_expect(eq(str, (char *)place_expected(text, &integers, &open, 1), "an array of integers"));
}

Test(place, the_largest_indices_fit_the_text) {
    char text[PLACE_TEXT_BYTES];
    size_t index[PLACE_MAX_DEPTH];
    for (int i = 0; i < PLACE_MAX_DEPTH; i++)
        index[i] = SIZE_MAX;
    place_text(text, TENSOR_MAX_RANK, index, PLACE_MAX_DEPTH);
    cr_assert(text[strlen(text) - 1] == ']');
}
