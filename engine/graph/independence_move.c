/* Rules of what only moves elements. */
#include "engine/graph/independence_rules.h"

static bool needs_no_rows(struct independence_step *step, int from) {
    return independence_rowless(step, from, step->input_count) ||
           independence_mixes(step, "its parameters are of the batch");
}

bool independence_transpose(struct independence_step *step) {
    const struct independence_place *place = &step->in[0];
    int axis = 0;
    while (axis < step->inputs[0].rank && step->operation->transpose.order[axis] != place->axis)
        axis++;
    return needs_no_rows(step, 1) && independence_put(step, 0, axis, place);
}

bool independence_slice(struct independence_step *step) {
    struct independence_place place = step->in[0];
    if (!needs_no_rows(step, 1))
        return false;
    size_t before = step->inputs[0].dims[place.axis], after = step->outputs[0].dims[place.axis];
    size_t all = place.inner * step->rows;
    int64_t start = step->operation->slice.start[place.axis];
    if (before != after || start != 0 || step->operation->slice.step[place.axis] != 1) {
        /* whole groups of all rows may be cut off */
        if (step->operation->slice.step[place.axis] != 1 || start < 0 || (size_t)start % all != 0 || after % all != 0 ||
            after == 0)
            return independence_mixes(step, "it takes some of the rows");
        place.outer = after / all;
    }
    return independence_put(step, 0, place.axis, &place);
}

/* Along the rows' dimension: every input holds whole groups of all rows. */
static bool join_groups(struct independence_step *step, const struct independence_place *first) {
    struct independence_place place = *first;
    place.outer = 0;
    for (int i = 0; i < step->input_count; i++) {
        if (step->in[i].axis != first->axis || step->in[i].inner != first->inner)
            return independence_mixes(step, "it puts something between the rows");
        place.outer += step->in[i].outer;
    }
    return independence_put(step, 0, first->axis, &place);
}

bool independence_concat(struct independence_step *step) {
    int first = 0;
    while (!independence_has_rows(step, first))
        first++;
    const struct independence_place *place = &step->in[first];
    if (place->axis == step->operation->axis)
        return join_groups(step, place);
    for (int i = 0; i < step->input_count; i++)
        if (!independence_fits(step, i, place->axis, place))
            return false;
    return independence_put(step, 0, place->axis, place);
}

/* y has the indices' dimensions in place of data's dimension axis. */
bool independence_gather(struct independence_step *step) {
    int axis = step->operation->gather.axis;
    if (!independence_has_rows(step, 0))
        return independence_put(step, 0, axis + step->in[1].axis, &step->in[1]);
    const struct independence_place *place = &step->in[0];
    if (independence_has_rows(step, 1))
        return independence_mixes(step, "rows pick from other rows");
    if (place->axis == axis)
        return independence_mixes(step, "it picks some of the rows");
    return independence_put(step, 0, place->axis < axis ? place->axis : place->axis - 1 + step->inputs[1].rank, place);
}

bool independence_gather_elements(struct independence_step *step) {
    int axis = step->operation->gather.axis;
    bool table = !independence_has_rows(step, 0);
    struct independence_place place = step->in[table ? 1 : 0];
    if (place.axis == axis && !table)
        return independence_mixes(step, "it picks some of the rows");
    if (!(table && place.axis == axis) && !independence_fits(step, 0, place.axis, &place))
        return false;
    if (!independence_fits(step, 1, place.axis, &place))
        return false;
    return independence_put(step, 0, place.axis, &place);
}

/* Indices hold the first dimensions behind the batch ones as coordinates, in their last dimension. */
bool independence_gather_nd(struct independence_step *step) {
    int batch = step->operation->gather.batch_dims, rank = step->inputs[1].rank;
    int coordinates = (int)step->inputs[1].dims[rank - 1];
    bool table = !independence_has_rows(step, 0);
    struct independence_place place = step->in[table ? 1 : 0];
    if (place.axis < batch)
        return independence_fits(step, 0, place.axis, &place) && independence_fits(step, 1, place.axis, &place) &&
               independence_put(step, 0, place.axis, &place);
    if (table)
        return place.axis < rank - 1 ? independence_put(step, 0, place.axis, &place)
                                     : independence_mixes(step, "rows are coordinates");
    if (independence_has_rows(step, 1) || place.axis < batch + coordinates)
        return independence_mixes(step, "it picks some of the rows");
    return independence_put(step, 0, rank - 1 + place.axis - batch - coordinates, &place);
}

bool independence_scatter_elements(struct independence_step *step) {
    struct independence_place place = {-1, 1, 1};
    for (int i = 0; i < 3 && place.axis < 0; i++)
        place = step->in[i];
    if (place.axis < 0 || place.axis == step->operation->gather.axis)
        return independence_mixes(step, "it writes into some of the rows");
    for (int i = 0; i < 3; i++)
        if (step->inputs[i].dims[place.axis] != step->outputs[0].dims[place.axis] ||
            !independence_fits(step, i, place.axis, &place))
            return step->fault ? false : independence_mixes(step, "it writes into some of the rows");
    return independence_put(step, 0, place.axis, &place);
}

/* Rows must be in a dimension that is written whole: behind those that the coordinates name. */
bool independence_scatter_nd(struct independence_step *step) {
    int rank = step->inputs[1].rank, coordinates = (int)step->inputs[1].dims[rank - 1];
    int shift = rank - 1 - coordinates; /* from data's dimensions to those of the updates */
    struct independence_place place = step->in[0];
    if (independence_has_rows(step, 1))
        return independence_mixes(step, "rows say where it writes");
    if (place.axis < 0) {
        place = step->in[2];
        place.axis -= shift;
    }
    if (place.axis < coordinates)
        return independence_mixes(step, "it writes into some of the rows");
    return independence_fits(step, 0, place.axis, &place) && independence_fits(step, 2, place.axis + shift, &place) &&
           independence_put(step, 0, place.axis, &place);
}

/* Repetitions stand outside what they repeat. */
bool independence_tile(struct independence_step *step) {
    struct independence_place place = step->in[0];
    if (!needs_no_rows(step, 1))
        return false;
    size_t before = step->inputs[0].dims[place.axis], after = step->outputs[0].dims[place.axis];
    if (before == 0 || after == 0)
        return independence_mixes(step, "no rows are left");
    place.outer *= after / before;
    return independence_put(step, 0, place.axis, &place);
}

bool independence_pad(struct independence_step *step) {
    const struct independence_place *place = &step->in[0];
    if (!needs_no_rows(step, 1))
        return false;
    if (step->operation->pad.before[place->axis] != 0 ||
        step->inputs[0].dims[place->axis] != step->outputs[0].dims[place->axis])
        return independence_mixes(step, "it adds or cuts off rows");
    return independence_put(step, 0, place->axis, place);
}

/* Along the rows it must take every element as it is. */
bool independence_resize(struct independence_step *step) {
    const struct resize *resize = &step->operation->resize;
    const struct independence_place *place = &step->in[0];
    int axis = place->axis;
    if (!needs_no_rows(step, 1))
        return false;
    if (resize->scales[axis] != 1.0f || step->inputs[0].dims[axis] != step->outputs[0].dims[axis] ||
        resize->coordinates == RESIZE_TF_CROP || resize->coordinates == RESIZE_TF_HALF_PIXEL_FOR_NN)
        return independence_mixes(step, "it resizes the dimension of the rows");
    return independence_put(step, 0, axis, place);
}

bool independence_one_hot(struct independence_step *step) {
    const struct independence_place *place = &step->in[0];
    if (place->axis < 0 || !needs_no_rows(step, 1))
        return independence_mixes(step, "its values are of the batch");
    return independence_put(step, 0, place->axis + (step->operation->axis <= place->axis), place);
}
