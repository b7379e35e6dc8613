/* Words for error texts: where in a batch of rows something is, and what should be there. Shapes are those of one row.
 * A depth counts from the list of all rows: depth 1 is a row, depth rank + 1 one of its elements. */
#ifndef WEIR_SERVER_CODEC_PLACE_H
#define WEIR_SERVER_CODEC_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/tensor.h"

enum { PLACE_TEXT_BYTES = 256, PLACE_MAX_DEPTH = TENSOR_MAX_RANK + 1 };

/* Writes where index[0..depth) is in rows of this rank, index[0] being the row: "row 3" (depth 1), "row 3, column 2"
 * (rank 1), "row 3, element [0][2]" (higher ranks). text holds PLACE_TEXT_BYTES. Returns text. */
const char *place_text(char *text, int rank, const size_t *index, int depth);

/* The same in a tensor that has no rows, whose index begins at index[1]: "the tensor" (depth 1), "element [0][2]". */
const char *place_in_tensor(char *text, const size_t *index, int depth);

/* As these, for the element'th element of a row; has_rows tells which. */
const char *place_of_element(char *text, const struct tensor_shape *shape, bool has_rows, size_t row, size_t element);

/* Writes what stands at a depth: "a number", "an array of 4 numbers", "an array of shape [2,3]". Sizes that are not
 * known are left out. text holds PLACE_TEXT_BYTES. Returns text. */
const char *place_expected(char *text, const struct tensor_spec *spec, const struct tensor_shape *shape, int depth);

/* Writes the names of a model's inputs, `"a", "b"`. Returns text. */
const char *place_names(char *text, size_t size, const struct signature *signature);

#endif
