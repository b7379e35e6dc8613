/* Functions of one number that exporters write as products: Gelu, SiLU, Mish, HardSwish. */
#include <math.h>
#include <string.h>

#include "engine/graph/pattern.h"

/* Add of the number 1; *other is what it is added to. */
static bool adds_one(const struct patterns *patterns, int value, int *other) {
    const struct graph_node *add = pattern_producer(patterns, value, "Add");
    double number;
    int at;
    return add && pattern_split(patterns, add, &number, other, &at) && number == 1;
}

static bool rewrite(struct patterns *patterns, struct graph_node *node, const char *op, int x,
                    struct graph_attribute attribute) {
    struct pattern_node form = {.op = op, .inputs = {x}, .input_count = 1};
    if (attribute.name) {
        form.attributes = pattern_take_attributes(patterns, 1);
        if (!form.attributes)
            return false;
        form.attributes[0] = attribute;
        form.attribute_count = 1;
    }
    return pattern_replace(patterns, node, &form);
}

/* Is value sqrt(2 / pi) * (x + 0.044715 x^3), in one of the ways to write it? Source: Hendrycks and Gimpel, "Gaussian
 * Error Linear Units". */
static bool is_tanh_argument(const struct patterns *patterns, int value, int x) {
    static const double cubic = 0.044715;
    struct pattern_product outer = pattern_multiply(patterns, value);
    const struct graph_node *add;
    int other;
    if (!pattern_is_near(outer.scale, sqrt(2 / 3.14159265358979323846)))
        return false;
    if (outer.count == 2) /* x (1 + 0.044715 x^2) */
        for (int i = 0; i < 2; i++)
            if (outer.factors[i] == x && adds_one(patterns, outer.factors[1 - i], &other)) {
                struct pattern_product square = pattern_multiply(patterns, other);
                return pattern_is_power(&square, x, 2) && pattern_is_near(square.scale, cubic);
            }
    if (outer.count != 1 || !(add = pattern_producer(patterns, outer.factors[0], "Add")) || add->input_count != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        struct pattern_product cube = pattern_multiply(patterns, add->inputs[i]);
        if (add->inputs[1 - i] == x && pattern_is_power(&cube, x, 3) && pattern_is_near(cube.scale, cubic))
            return true;
    }
    return false;
}

static bool match_gelu(struct patterns *patterns, struct graph_node *node, int x, int gate) {
    static const struct graph_attribute none = {.name = NULL}, tanh_text = {.name = "approximate",
                                                                            .type = GRAPH_ATTRIBUTE_STRING,
                                                                            .text = "tanh"};
    int inner;
    if (!adds_one(patterns, gate, &inner))
        return false;
    const struct graph_node *erf = pattern_producer(patterns, inner, "Erf");
    const struct graph_node *tanh = pattern_producer(patterns, inner, "Tanh");
    if (erf) {
        struct pattern_product argument = pattern_multiply(patterns, erf->inputs[0]);
        return pattern_is_power(&argument, x, 1) && pattern_is_near(argument.scale, sqrt(0.5)) &&
               rewrite(patterns, node, "Gelu", x, none);
    }
    return tanh && is_tanh_argument(patterns, tanh->inputs[0], x) && rewrite(patterns, node, "Gelu", x, tanh_text);
}

static bool match_swish(struct patterns *patterns, struct graph_node *node, int x, int gate) {
    const struct graph_node *sigmoid = pattern_producer(patterns, gate, "Sigmoid");
    const struct graph_node *tanh = pattern_producer(patterns, gate, "Tanh");
    struct graph_attribute attribute = {.name = NULL};
    if (sigmoid) {
        struct pattern_product argument = pattern_multiply(patterns, sigmoid->inputs[0]);
        bool plain = sigmoid->inputs[0] == x;
        if (!plain && !pattern_is_power(&argument, x, 1))
            return false;
        attribute = (struct graph_attribute){
            .name = "alpha", .type = GRAPH_ATTRIBUTE_FLOAT, .number = plain ? 1.0f : (float)argument.scale};
        return rewrite(patterns, node, "Swish", x, attribute);
    }
    const struct graph_node *softplus = tanh ? pattern_producer(patterns, tanh->inputs[0], "Softplus") : NULL;
    return softplus && softplus->inputs[0] == x && rewrite(patterns, node, "Mish", x, attribute);
}

/* The bound of a Clip, which is an attribute before opset 11 and an input since. */
static bool bound_is(const struct patterns *patterns, const struct graph_node *clip, int input, double wanted) {
    const struct graph_attribute *attribute = graph_attribute(clip, input == 1 ? "min" : "max");
    double number;
    if (attribute)
        return attribute->type == GRAPH_ATTRIBUTE_FLOAT && (double)attribute->number == wanted;
    return pattern_number(patterns, pattern_input(clip, input), &number) && number == wanted;
}

static float number_of(const struct graph_node *node, const char *name, float otherwise) {
    const struct graph_attribute *attribute = graph_attribute(node, name);
    return attribute && attribute->type == GRAPH_ATTRIBUTE_FLOAT ? attribute->number : otherwise;
}

/* x times HardSigmoid with 1/6 and 1/2, or x times Clip(x + 3, 0, 6), to be divided by 6. */
static bool match_hard_swish(struct patterns *patterns, struct graph_node *node, int x, int gate, double scale) {
    static const struct graph_attribute none = {.name = NULL};
    const struct graph_node *hard = pattern_producer(patterns, gate, "HardSigmoid");
    const struct graph_node *clip = pattern_producer(patterns, gate, "Clip");
    double number;
    int other, at;
    if (hard)
        return scale == 1 && hard->inputs[0] == x && pattern_is_near((double)number_of(hard, "alpha", 0.2f), 1.0 / 6) &&
               pattern_is_near((double)number_of(hard, "beta", 0.5f), 0.5) &&
               rewrite(patterns, node, "HardSwish", x, none);
    const struct graph_node *add = clip ? pattern_producer(patterns, clip->inputs[0], "Add") : NULL;
    return add && pattern_is_near(scale, 1.0 / 6) && pattern_split(patterns, add, &number, &other, &at) && other == x &&
           number == 3 && bound_is(patterns, clip, 1, 0) && bound_is(patterns, clip, 2, 6) &&
           rewrite(patterns, node, "HardSwish", x, none);
}

bool pattern_gelu_apply(struct patterns *patterns, struct graph_node *node) {
    if (strcmp(node->op, "Mul") != 0 && strcmp(node->op, "Div") != 0)
        return false;
    struct pattern_product product = pattern_multiply(patterns, node->outputs[0]);
    if (product.count != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        int x = product.factors[i], gate = product.factors[1 - i];
        if ((pattern_is_near(product.scale, 0.5) && match_gelu(patterns, node, x, gate)) ||
            (product.scale == 1 && match_swish(patterns, node, x, gate)) ||
            match_hard_swish(patterns, node, x, gate, product.scale))
            return true;
    }
    return false;
}
