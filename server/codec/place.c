#include "server/codec/place.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Appends "[0][2]". At most 8 numbers of 20 digits: they fit. */
static void put_index(char *text, size_t used, const size_t *index, int depth) {
    for (int i = 1; i < depth; i++)
        used += (size_t)snprintf(text + used, PLACE_TEXT_BYTES - used, "[%zu]", index[i]);
}

const char *place_text(char *text, int rank, const size_t *index, int depth) {
    size_t used = (size_t)snprintf(text, PLACE_TEXT_BYTES, "row %zu", index[0]);
    if (depth > 1 && rank == 1) {
        snprintf(text + used, PLACE_TEXT_BYTES - used, ", column %zu", index[1]);
    } else if (depth > 1) {
        used += (size_t)snprintf(text + used, PLACE_TEXT_BYTES - used, ", element ");
        put_index(text, used, index, depth);
    }
    return text;
}

const char *place_in_tensor(char *text, const size_t *index, int depth) {
    size_t used = (size_t)snprintf(text, PLACE_TEXT_BYTES, depth > 1 ? "element " : "the tensor");
    put_index(text, used, index, depth);
    return text;
}

const char *place_of_element(char *text, const struct tensor_shape *shape, bool has_rows, size_t row, size_t element) {
    size_t index[PLACE_MAX_DEPTH];
    index[0] = row;
    for (int i = shape->rank; i > 0; i--) {
        assert(shape->dims[i - 1] > 0);
        index[i] = element % (size_t)shape->dims[i - 1];
        element /= (size_t)shape->dims[i - 1];
    }
    return has_rows ? place_text(text, shape->rank, index, shape->rank + 1)
                    : place_in_tensor(text, index, shape->rank + 1);
}

static const char *noun(enum tensor_dtype dtype) {
    switch (dtype) {
    case TENSOR_BOOL:
        return "boolean";
    case TENSOR_U8:
    case TENSOR_I8:
    case TENSOR_I32:
    case TENSOR_I64:
        return "integer";
    default:
        return "number";
    }
}

const char *place_expected(char *text, const struct tensor_spec *spec, const struct tensor_shape *shape, int depth) {
    const char *what = noun(spec->dtype);
    const int64_t *dims = shape->dims + (depth - 1);
    int rank = shape->rank - (depth - 1);
    if (rank == 0) {
        snprintf(text, PLACE_TEXT_BYTES, "%s %s", *what == 'i' ? "an" : "a", what);
    } else if (rank == 1 && dims[0] < 0) {
        snprintf(text, PLACE_TEXT_BYTES, "an array of %ss", what);
    } else if (rank == 1) {
        snprintf(text, PLACE_TEXT_BYTES, "an array of %lld %ss", (long long)dims[0], what);
    } else {
        struct tensor_shape inner = {.rank = rank};
        char sizes[PLACE_TEXT_BYTES - 32];
        memcpy(inner.dims, dims, (size_t)rank * sizeof inner.dims[0]);
        snprintf(text, PLACE_TEXT_BYTES, "an array of shape %s", tensor_shape_text(&inner, sizes, sizeof sizes));
    }
    return text;
}

const char *place_names(char *text, size_t size, const struct signature *signature) {
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < signature->input_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", i > 0 ? ", " : "", signature->inputs[i].name);
    return text;
}
