/* Resize and Upsample. Source of the older rounding: before opset 11 the file says nothing; ONNX Runtime rounds down
 * where it enlarges and up where it shrinks. */
#include <math.h>
#include <string.h>

#include "engine/graph/lower_move.h"
#include "engine/graph/node.h"
#include "engine/graph/shapes.h"

/* Up to `most` floats. count is -1 where there are none. */
struct resize_floats {
    float items[2 * TENSOR_MAX_RANK];
    int most, count;
};

/* Reads them from a known input, or from the attribute "scales" where it is omitted. */
static enum weir_status read_floats(const struct lowering *lowering, const struct graph_node *node, int input,
                                    struct resize_floats *list, struct weir_error *err) {
    const struct fact *fact = lower_input(lowering, node, input);
    const struct graph_attribute *found = fact ? NULL : graph_attribute(node, "scales");
    size_t elements = fact ? fact->elements : found ? found->item_count : 0;
    list->count = -1;
    if (elements == 0)
        return WEIR_OK;
    if (fact && !fact->known)
        return node_fail(
            lowering->graph, node, err, WEIR_UNSUPPORTED,
            "input %d is computed from the input's numbers; supported: a constant, or computed from shapes", input);
    if ((fact && fact->dtype != TENSOR_F32) || (found && found->type != GRAPH_ATTRIBUTE_FLOATS) ||
        elements > (size_t)list->most)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its scales or regions are not up to %d floats",
                         list->most);
    memcpy(list->items, fact ? fact->known : found->floats, elements * sizeof list->items[0]);
    list->count = (int)elements;
    for (int i = 0; i < list->count; i++)
        if (!isfinite(list->items[i]))
            return node_fail(lowering->graph, node, err, WEIR_INVALID, "a scale or region is not finite");
    return WEIR_OK;
}

/* Sizes or scales and the region of interest, as the node has them. Places of the inputs differ by opset. */
struct resize_wants {
    struct shapes_list axes, sizes;
    struct resize_floats scales, regions;
    int policy;
};

static enum weir_status read_wants(struct lowering *lowering, const struct graph_node *node, int rank,
                                   struct resize_wants *wants, struct weir_error *err) {
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    bool old = strcmp(node->op, "Upsample") == 0 || lowering->graph->opset < 11;
    wants->scales.most = TENSOR_MAX_RANK;
    wants->regions = (struct resize_floats){.most = 2 * TENSOR_MAX_RANK, .count = -1};
    wants->sizes.count = -1;
    wants->policy = 0;
    if (read_floats(lowering, node, old ? 1 : 2, &wants->scales, err) != WEIR_OK ||
        lower_move_axes(lowering, node, -1, rank, &wants->axes, err) != WEIR_OK ||
        node_word(lowering->graph, node, "keep_aspect_ratio_policy", policies, &wants->policy, err) != WEIR_OK)
        return err->status;
    if (!old && (lower_list(lowering, node, 3, NULL, &wants->sizes, err) != WEIR_OK ||
                 read_floats(lowering, node, 1, &wants->regions, err) != WEIR_OK))
        return err->status;
    bool by_size = wants->sizes.count > 0, by_scale = wants->scales.count > 0;
    if (by_size == by_scale || (by_size && wants->sizes.count != wants->axes.count) ||
        (by_scale && wants->scales.count != wants->axes.count))
        return node_fail(lowering->graph, node, err, WEIR_INVALID,
                         "its sizes or scales are missing, both there, or not as many as axes");
    return WEIR_OK;
}

/* Exported sizes hold the file's batch. */
static void exchange_batch(const struct lowering *lowering, const struct graph_node *node, const struct fact *x,
                           struct resize_wants *wants) {
    const struct graph_value *sizes = node_input(lowering->graph, node, 3);
    for (int i = 0; sizes && sizes->constant && lowering->graph->fixed_batch > 0 && i < wants->sizes.count; i++)
        if (wants->axes.items[i] == 0 && wants->sizes.items[i] == (int64_t)lowering->graph->fixed_batch &&
            x->shape.dims[0] == (int64_t)lowering->rows)
            wants->sizes.items[i] = x->shape.dims[0];
}

/* Gives every dimension its size and its scale. */
static bool apply_wants(const struct fact *x, const struct resize_wants *wants, struct resize *resize,
                        struct tensor_shape *shape) {
    float common = 0;
    for (int i = 0; i < wants->sizes.count; i++) {
        int64_t size = x->shape.dims[wants->axes.items[i]];
        if (wants->sizes.items[i] <= 0 || wants->sizes.items[i] > GRAPH_MAX_ELEMENTS || size == 0)
            return false;
        float scale = (float)wants->sizes.items[i] / (float)size;
        bool closer = wants->policy == 1 ? scale < common : scale > common;
        common = i == 0 || closer ? scale : common;
    }
    for (int i = 0; i < wants->axes.count; i++) {
        int d = (int)wants->axes.items[i];
        float size = (float)x->shape.dims[d];
        bool by_size = wants->sizes.count > 0;
        float scale = !by_size ? wants->scales.items[i] : wants->policy ? common : (float)wants->sizes.items[i] / size;
        float part = resize->coordinates == RESIZE_TF_CROP && wants->regions.count > 0
                         ? wants->regions.items[wants->axes.count + i] - wants->regions.items[i]
                         : 1;
        float wanted = by_size ? floorf(scale * size + 0.5F) : floorf(size * part * scale);
        if (!(scale > 0 && wanted >= 0 && wanted <= (float)GRAPH_MAX_ELEMENTS))
            return false;
        shape->dims[d] = by_size && !wants->policy ? wants->sizes.items[i] : (int64_t)wanted;
        resize->scales[d] = scale;
        if (wants->regions.count > 0) {
            resize->roi_start[d] = wants->regions.items[i];
            resize->roi_end[d] = wants->regions.items[wants->axes.count + i];
        }
    }
    return true;
}

static enum weir_status read_modes(struct lowering *lowering, const struct graph_node *node, struct resize *resize,
                                   struct weir_error *err) {
    /* In the order of the enums; before opset 9 "bilinear" was a word for linear. */
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear", NULL};
    static const char *const coordinates[] = {
        "half_pixel",           "pytorch_half_pixel", "align_corners",        "asymmetric",
        "tf_half_pixel_for_nn", "tf_crop_and_resize", "half_pixel_symmetric", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    bool old = strcmp(node->op, "Upsample") == 0 || lowering->graph->opset < 11;
    int mode = RESIZE_NEAREST, coordinate = old ? RESIZE_ASYMMETRIC : RESIZE_HALF_PIXEL;
    int rounding = old ? RESIZE_FLOOR : RESIZE_PREFER_FLOOR;
    int64_t exclude_outside = 0, antialias = 0;
    resize->cubic_a = -0.75F;
    if (node_word(lowering->graph, node, "mode", modes, &mode, err) != WEIR_OK ||
        node_word(lowering->graph, node, "coordinate_transformation_mode", coordinates, &coordinate, err) != WEIR_OK ||
        node_word(lowering->graph, node, "nearest_mode", roundings, &rounding, err) != WEIR_OK ||
        node_int(lowering->graph, node, "exclude_outside", &exclude_outside, err) != WEIR_OK ||
        node_int(lowering->graph, node, "antialias", &antialias, err) != WEIR_OK ||
        node_float(lowering->graph, node, "extrapolation_value", &resize->extrapolation, err) != WEIR_OK ||
        node_float(lowering->graph, node, "cubic_coeff_a", &resize->cubic_a, err) != WEIR_OK)
        return err->status;
    resize->mode = mode == 3 ? RESIZE_LINEAR : (enum resize_mode)mode;
    if (antialias != 0 && resize->mode != RESIZE_NEAREST)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "antialias; supported: without");
    resize->coordinates = (enum resize_coordinates)coordinate;
    resize->rounding = (enum resize_rounding)rounding;
    resize->exclude_outside = exclude_outside != 0;
    return WEIR_OK;
}

/* Before opset 11: down where it enlarges, up where it shrinks. */
static enum weir_status round_as_before(const struct lowering *lowering, const struct graph_node *node, int rank,
                                        struct resize *resize, struct weir_error *err) {
    bool larger = false, smaller = false;
    for (int d = 0; d < rank; d++) {
        larger = larger || resize->scales[d] > 1;
        smaller = smaller || resize->scales[d] < 1;
    }
    if (larger && smaller)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED,
                         "one dimension grows, another shrinks; supported in opset 10: either");
    resize->rounding = smaller ? RESIZE_CEIL : RESIZE_FLOOR;
    return WEIR_OK;
}

enum weir_status lower_resize(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    const struct fact *x;
    struct resize_wants wants = {0};
    struct operation operation = {.kind = OPERATION_RESIZE};
    struct resize *resize = &operation.resize;
    if (lower_need(lowering, node, 0, &x, err) != WEIR_OK || read_modes(lowering, node, resize, err) != WEIR_OK ||
        read_wants(lowering, node, x->shape.rank, &wants, err) != WEIR_OK)
        return err->status;
    struct tensor_shape shape = x->shape;
    bool crops = resize->coordinates == RESIZE_TF_CROP;
    if (crops && wants.regions.count != 2 * wants.axes.count)
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its region of interest is missing");
    wants.regions.count = crops ? wants.regions.count : -1;
    for (int d = 0; d < shape.rank; d++) {
        resize->scales[d] = 1;
        resize->roi_end[d] = 1;
    }
    exchange_batch(lowering, node, x, &wants);
    if (!apply_wants(x, &wants, resize, &shape))
        return node_fail(lowering->graph, node, err, WEIR_INVALID, "its sizes or scales do not fit its input");
    if (lowering->graph->opset < 11 && round_as_before(lowering, node, shape.rank, resize, err) != WEIR_OK)
        return err->status;
    bool same = shapes_equal(&shape, &x->shape) && !crops;
    for (int d = 0; d < shape.rank; d++)
        same = same && resize->scales[d] == 1;
    if (same)
        return lower_alias(lowering, node, 0, 0, &shape, err);
    if (resize->mode != RESIZE_NEAREST && x->dtype != TENSOR_F32)
        return node_fail(lowering->graph, node, err, WEIR_UNSUPPORTED, "linear or cubic of %s; supported: float",
                         tensor_dtype_text(x->dtype));
    return lower_move_step(lowering, node, &operation, &shape, 1, err);
}
