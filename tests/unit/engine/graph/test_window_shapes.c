#include "engine/graph/window_shapes.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/node_run.h"

/* The window that the last node got, and the numbers after padding of its first two dimensions. */
static struct window window;
static struct tensor_shape shape;
static struct window_shape measured;
static struct node_result result;

/* A node of which only the sizes count: x is input 0, w (if there) input 1. */
static enum weir_status measure(struct lowering *lowering, const struct graph_node *node, bool spread,
                                struct weir_error *err) {
    const struct fact *x = lower_input(lowering, node, 0), *w = lower_input(lowering, node, 1);
    memset(&measured, 0, sizeof measured);
    enum weir_status status =
        spread ? window_shapes_spread(lowering, node, &x->shape, w ? &w->shape : NULL, &measured, err)
               : window_shapes_slide(lowering, node, &x->shape, w ? &w->shape : NULL, &measured, err);
    if (status != WEIR_OK)
        return status;
    window = measured.window;
    shape = measured.y;
    return lower_define(lowering, node, 0, TENSOR_F32, &shape, err);
}

static enum weir_status slide(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    return measure(lowering, node, false, err);
}

static enum weir_status spread(struct lowering *lowering, const struct graph_node *node, struct weir_error *err) {
    return measure(lowering, node, true, err);
}

static const struct operator_entry entries[] = {{"Slide", " ", 1, 2, 1, slide}, {"Spread", " ", 1, 2, 1, spread}};
static const struct operator_family family = {entries, 2};

static enum weir_status run(const char *op, const char *x, const char *w, const char *attributes) {
    static const float none[1];
    struct node_case node = {op, attributes, {{TENSOR_F32, x, none}, {TENSOR_F32, w, none}}, 2, 1};
    return node_run(&family, &node, &result);
}

/* Sizes of one dimension: x, the attributes, and the y and pads that must come of them. */
static const struct {
    const char *op, *x, *attributes;
    int64_t y;
    size_t before, behind;
} rows[] = {
    {"Slide", "1,1,5", "kernel_shape:l=3", 3, 0, 0},
    {"Slide", "1,1,5", "kernel_shape:l=3 strides:l=2 pads:l=1,1", 3, 1, 1},
    {"Slide", "1,1,5", "kernel_shape:l=2 dilations:l=3", 2, 0, 0},
    {"Slide", "1,1,6", "kernel_shape:l=3 strides:l=2", 2, 0, 0},
    {"Slide", "1,1,6", "kernel_shape:l=3 strides:l=2 ceil_mode:i=1", 3, 0, 0},
    {"Slide", "1,1,5", "kernel_shape:l=3 strides:l=2 ceil_mode:i=1", 2, 0, 0},
    /* The window that would begin in the padding behind is left out. */
    {"Slide", "1,1,2", "kernel_shape:l=3 strides:l=3 pads:l=1,1 ceil_mode:i=1", 1, 1, 1},
    {"Slide", "1,1,5", "kernel_shape:l=2 strides:l=2 auto_pad:s=SAME_UPPER", 3, 0, 1},
    {"Slide", "1,1,5", "kernel_shape:l=2 strides:l=2 auto_pad:s=SAME_LOWER", 3, 1, 0},
    {"Slide", "1,1,5", "kernel_shape:l=1 strides:l=2 auto_pad:s=SAME_UPPER", 3, 0, 0},
    {"Slide", "1,1,5", "kernel_shape:l=3 dilations:l=2 auto_pad:s=SAME_UPPER", 5, 2, 2},
    {"Slide", "1,1,6", "kernel_shape:l=3 strides:l=2 auto_pad:s=VALID ceil_mode:i=1", 2, 0, 0},
    {"Slide", "1,1,5", "kernel_shape:l=3 pads:l=4,0 auto_pad:s=VALID", 3, 0, 0},
    {"Slide", "1,1,0", "kernel_shape:l=3 auto_pad:s=SAME_UPPER", 0, 0, 0},
    {"Spread", "1,1,3", "kernel_shape:l=3", 5, 0, 0},
    {"Spread", "1,1,3", "kernel_shape:l=3 strides:l=3 output_padding:l=1", 10, 0, 0},
    {"Spread", "1,1,3", "kernel_shape:l=2 dilations:l=4 pads:l=1,2", 4, 1, 2},
    {"Spread", "1,1,3", "kernel_shape:l=3 strides:l=2 auto_pad:s=SAME_UPPER", 6, 0, 1},
    {"Spread", "1,1,3", "kernel_shape:l=3 strides:l=2 auto_pad:s=SAME_LOWER", 6, 1, 0},
    {"Spread", "1,1,3", "kernel_shape:l=3 strides:l=2 output_shape:l=6", 6, 1, 0},
    {"Spread", "1,1,3", "kernel_shape:l=3 strides:l=2 output_shape:l=1,1,6 auto_pad:s=SAME_UPPER", 6, 0, 1},
    {"Spread", "1,1,3", "kernel_shape:l=3 strides:l=3 output_shape:l=10", 10, 0, 0},
    {"Spread", "1,1,3", "kernel_shape:l=3 strides:l=2 auto_pad:s=VALID", 7, 0, 0},
};

Test(window_shapes, sizes_and_padding_follow_the_definition) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(run(rows[i].op, rows[i].x, NULL, rows[i].attributes), WEIR_OK, "%zu: %s", i, result.err.text);
        cr_assert_eq(shape.dims[2], rows[i].y, "%zu: %lld", i, (long long)shape.dims[2]);
        cr_assert_eq(window.pads[0], rows[i].before, "%zu", i);
        cr_assert_eq(window.pads_end[0], rows[i].behind, "%zu", i);
    }
}

Test(window_shapes, the_kernel_comes_from_the_weights_and_every_dimension_is_its_own) {
    cr_assert_eq(run("Slide", "1,1,9,9,9", "1,1,1,2,3", "strides:l=1,2,3 dilations:l=1,1,2 pads:l=0,1,2,0,0,1"),
                 WEIR_OK, "%s", result.err.text);
    cr_assert(window.spatial == 3 && window.kernel[0] == 1 && window.kernel[1] == 2 && window.kernel[2] == 3);
    cr_assert(window.strides[2] == 3 && window.dilations[2] == 2);
    cr_assert(window.pads[0] == 0 && window.pads[1] == 1 && window.pads[2] == 2 && window.pads_end[2] == 1);
    cr_assert(shape.dims[2] == 9 && shape.dims[3] == 5 && shape.dims[4] == 3); /* (9+3-5)/3+1 */
}

Test(window_shapes, wrong_attributes_are_named) {
    static const struct {
        const char *op, *x, *w, *attributes;
        enum weir_status status;
        const char *says;
    } faults[] = {
        {"Slide", "1,1", NULL, "kernel_shape:l=1", WEIR_INVALID, "[batch, channels, spatial...]"},
        {"Slide", "1,1,2,2,2,2", NULL, "kernel_shape:l=1,1,1,1", WEIR_UNSUPPORTED, "supported: 1 to 3"},
        {"Slide", "1,1,5", NULL, NULL, WEIR_INVALID, "kernel_shape is missing"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=1,1", WEIR_INVALID, "kernel_shape has 2 numbers, expected 1"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=0", WEIR_INVALID, "kernel_shape[0] is 0"},
        {"Slide", "1,1,5", "1,1,3", "kernel_shape:l=2", WEIR_INVALID, "kernel_shape[0] is 2"},
        {"Slide", "1,1,5", "1,1,0", NULL, WEIR_INVALID, "dimension 2 of the weights is 0"},
        {"Slide", "1,1,5", "1,1,1,1", NULL, WEIR_INVALID, "the same rank"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=2 strides:l=0", WEIR_INVALID, "strides[0] is 0"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=2 dilations:l=-1", WEIR_INVALID, "dilations[0] is -1"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=2 pads:l=-1,0", WEIR_INVALID, "pads[0] is -1"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=2 pads:l=1", WEIR_INVALID, "pads has 1 numbers, expected 2"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=6", WEIR_INVALID, "the kernel of 6"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=2147483648", WEIR_INVALID, "kernel_shape[0] is 2147483648"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=2147483647 dilations:l=2147483647", WEIR_INVALID, "does not fit"},
        {"Slide", "1,1,5", NULL, "kernel_shape:l=2 auto_pad:s=HALF", WEIR_UNSUPPORTED, "auto_pad"},
        {"Slide", "0,1,3000000000", NULL, "kernel_shape:l=2", WEIR_TOO_LARGE, "dimension 2 of X"},
        {"Spread", "1,1,3", NULL, "kernel_shape:l=1 output_shape:l=1,1", WEIR_INVALID, "output_shape has 2"},
        {"Spread", "1,1,3", NULL, "kernel_shape:l=1 output_shape:l=0", WEIR_INVALID, "output_shape[0] is 0"},
        {"Spread", "1,1,3", NULL, "kernel_shape:l=1 output_padding:l=-1", WEIR_INVALID, "output_padding[0] is -1"},
        {"Spread", "1,1,3", NULL, "kernel_shape:l=3 pads:l=3,2", WEIR_INVALID, "would be 0"},
        {"Spread", "1,1,0", NULL, "kernel_shape:l=3", WEIR_INVALID, "out of range"},
        {"Spread", "0,1,2147483647", NULL, "kernel_shape:l=2147483647 strides:l=2147483647 dilations:l=2147483647",
         WEIR_TOO_LARGE, "supported: to 2147483647"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        cr_assert_eq(run(faults[i].op, faults[i].x, faults[i].w, faults[i].attributes), faults[i].status, "%zu: %s", i,
                     result.err.text);
        cr_assert_not_null(strstr(result.err.text, faults[i].says), "%zu: %s", i, result.err.text);
    }
}
