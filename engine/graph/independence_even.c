#include <string.h>

#include "engine/graph/independence_rules.h"

/* Are all slices of a constant along that dimension the same? */
static bool slices_are_equal(const struct view *view, int axis) {
    size_t block = view_product(view, axis + 1, view->rank) * view_element_bytes(view->element);
    size_t groups = view_product(view, 0, axis), dim = view->dims[axis];
    const unsigned char *at = view->data;
    if (!at || dim == 0)
        return false;
    for (size_t i = 0; i < groups; i++, at += dim * block)
        for (size_t slice = 1; slice < dim; slice++)
            if (memcmp(at, at + slice * block, block) != 0)
                return false;
    return true;
}

/* Is the input, seen from dimension `axis` of an output of that rank, the same in all of it? */
static bool input_is_even(const struct independence_step *step, int input, int rank, int axis) {
    const struct view *view = &step->inputs[input];
    int own = axis - (rank - view->rank);
    return own < 0 || view->dims[own] == 1 || (step->even[input] >> own & 1) || slices_are_equal(view, own);
}

/* Equal indices take equal parts of the table. */
static unsigned char even_of_gather(const struct independence_step *step) {
    const struct view *indices = &step->inputs[1];
    unsigned char even = 0;
    for (int i = 0; i < indices->rank && step->input_count > 1; i++)
        if (input_is_even(step, 1, indices->rank, i))
            even |= (unsigned char)(1u << (step->operation->gather.axis + i));
    return even;
}

unsigned char independence_even(const struct independence_step *step) {
    const struct view *y = &step->outputs[0];
    unsigned char even = 0;
    switch (step->operation->kind) {
    case OPERATION_GATHER:
        return even_of_gather(step);
    case OPERATION_COPY:
    case OPERATION_UNARY:
    case OPERATION_CAST:
    case OPERATION_BINARY:
    case OPERATION_WHERE:
    case OPERATION_EXPAND:
        break;
    default:
        return 0;
    }
    if (step->operation->kind == OPERATION_COPY && step->inputs[0].rank != y->rank)
        return 0;
    for (int axis = 0; axis < y->rank; axis++) {
        bool all = true;
        for (int i = 0; i < step->input_count && all; i++)
            all = input_is_even(step, i, y->rank, axis);
        if (all)
            even |= (unsigned char)(1u << axis);
    }
    return even;
}

unsigned char independence_even_reshaped(unsigned char even, const struct tensor_shape *before,
                                         const struct tensor_shape *after) {
    unsigned char kept = 0;
    for (int i = 0; i < before->rank && i < after->rank && before->dims[i] == after->dims[i]; i++)
        kept |= (unsigned char)(even & 1u << i);
    return kept;
}
