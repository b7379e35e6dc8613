/* Words for error texts: where in a batch of rows something is, and what should be there. */
#ifndef WEIR_SERVER_CODEC_PLACE_H
#define WEIR_SERVER_CODEC_PLACE_H

#include <stddef.h>

#include "engine/tensor.h"

enum { PLACE_TEXT_BYTES = 256 };

/* Writes where index[0..depth) is in a tensor of this rank, index[0] being the row: "row 3" (depth 1), "row 3, column
 * 2" (rank 2), "row 3, element [0][2]" (higher ranks). text holds PLACE_TEXT_BYTES. Returns text. */
const char *place_text(char *text, int rank, const size_t *index, int depth);

/* As place_text, for the element'th number of a row. */
const char *place_of_element(char *text, const struct tensor_shape *shape, size_t row, size_t element);

/* Writes what stands at a depth of that shape, the batch dimension's own array being depth 0: "a number", "an array of
 * 4 numbers", "an array of shape [2,3]". text holds PLACE_TEXT_BYTES. Returns text. */
const char *place_expected(char *text, const struct tensor_shape *shape, int depth);

/* Writes the shape of one row, such as "[2,3]", or "[]" if a row is a number. text holds PLACE_TEXT_BYTES. Returns
 * text. */
const char *place_row_shape(char *text, const struct tensor_shape *shape);

#endif
