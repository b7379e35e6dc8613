#include "server/codec/place.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *place_text(char *text, int rank, const size_t *index, int depth) {
    size_t used = (size_t)snprintf(text, PLACE_TEXT_BYTES, "row %zu", index[0]);
    if (depth > 1 && rank == 2) {
        snprintf(text + used, PLACE_TEXT_BYTES - used, ", column %zu", index[1]);
        return text;
    }
    for (int i = 1; i < depth; i++) /* at most 7 numbers of 20 digits: they fit */
        used += (size_t)snprintf(text + used, PLACE_TEXT_BYTES - used, "%s[%zu]", i == 1 ? ", element " : "", index[i]);
    return text;
}

const char *place_of_element(char *text, const struct tensor_shape *shape, size_t row, size_t element) {
    size_t index[TENSOR_MAX_RANK];
    index[0] = row;
    for (int i = shape->rank - 1; i > 0; i--) {
        assert(shape->dims[i] > 0);
        index[i] = element % (size_t)shape->dims[i];
        element /= (size_t)shape->dims[i];
    }
    return place_text(text, shape->rank, index, shape->rank);
}

static void inner_shape(const struct tensor_shape *shape, int from, struct tensor_shape *inner) {
    inner->rank = shape->rank - from;
    for (int i = 0; i < inner->rank; i++)
        inner->dims[i] = shape->dims[from + i];
}

const char *place_expected(char *text, const struct tensor_shape *shape, int depth) {
    if (depth == shape->rank)
        return strcpy(text, "a number");
    if (depth == shape->rank - 1) {
        snprintf(text, PLACE_TEXT_BYTES, "an array of %lld numbers", (long long)shape->dims[depth]);
        return text;
    }
    struct tensor_shape inner;
    inner_shape(shape, depth, &inner);
    char numbers[PLACE_TEXT_BYTES - 32];
    snprintf(text, PLACE_TEXT_BYTES, "an array of shape %s", tensor_shape_text(&inner, numbers, sizeof numbers));
    return text;
}

const char *place_row_shape(char *text, const struct tensor_shape *shape) {
    struct tensor_shape row;
    inner_shape(shape, 1, &row);
    return tensor_shape_text(&row, text, PLACE_TEXT_BYTES);
}
