/* Rules of products, convolutions, pools and recurrent layers. */
#include "engine/graph/independence_rules.h"

/* A product's operands: the dimensions of each by their dimension in the result. */
struct product {
    const struct view *a, *b, *y;
    int row, col;       /* of a and b, where they reach the result; -1: it has none (rank 1) */
    int a_lead, b_lead; /* leading dimensions */
    int lead;           /* of the result */
};

static struct product measure(const struct independence_step *step, int a, int b, bool transpose_a, bool transpose_b) {
    struct product product = {.a = &step->inputs[a], .b = &step->inputs[b], .y = &step->outputs[0]};
    int ra = product.a->rank, rb = product.b->rank;
    product.row = ra < 2 ? -1 : transpose_a ? ra - 1 : ra - 2;
    product.col = rb < 2 ? -1 : transpose_b ? rb - 2 : rb - 1;
    product.a_lead = ra < 2 ? 0 : ra - 2;
    product.b_lead = rb < 2 ? 0 : rb - 2;
    product.lead = product.y->rank - (ra >= 2) - (rb >= 2);
    return product;
}

/* The result's dimension that an operand's dimension becomes; -1: it is summed over. */
static int axis_of_a(const struct product *product, int axis) {
    if (axis < product->a_lead)
        return axis + product->lead - product->a_lead;
    return axis == product->row ? product->lead : -1;
}

static int axis_of_b(const struct product *product, int axis) {
    if (axis < product->b_lead)
        return axis + product->lead - product->b_lead;
    return axis == product->col ? product->lead + (product->row >= 0) : -1;
}

/* The operand's dimension that lies along the result's; -1: it has none. */
static int axis_in(int axis, int lead, int own_lead, int own, int own_in_result) {
    if (axis < lead)
        return axis - (lead - own_lead) >= 0 ? axis - (lead - own_lead) : -1;
    return own >= 0 && axis == own_in_result ? own : -1;
}

static bool follow_product(struct independence_step *step, int a, int b, const struct product *product) {
    bool from_a = independence_has_rows(step, a);
    if (!from_a && !independence_has_rows(step, b))
        return independence_mixes(step, "its parameters are of the batch");
    struct independence_place place = step->in[from_a ? a : b];
    int axis = from_a ? axis_of_a(product, place.axis) : axis_of_b(product, place.axis);
    if (axis < 0)
        return independence_mixes(step, "it sums over the rows");
    int in_a = axis_in(axis, product->lead, product->a_lead, product->row, product->lead);
    int in_b = axis_in(axis, product->lead, product->b_lead, product->col, product->lead + (product->row >= 0));
    return independence_fits(step, a, in_a, &place) && independence_fits(step, b, in_b, &place) &&
           independence_put(step, 0, axis, &place);
}

bool independence_matmul(struct independence_step *step) {
    const struct matmul *matmul = &step->operation->matmul;
    struct product product = measure(step, 0, 1, matmul->transpose_a, matmul->transpose_b);
    if (independence_rowless(step, 0, 2)) /* c alone is of the batch */
        return independence_mixes(step, "its sum has rows that its product has not");
    if (!follow_product(step, 0, 1, &product))
        return false;
    const struct independence_place *out = &step->out[0];
    return step->input_count < 3 ||
           independence_fits(step, 2, out->axis - (product.y->rank - step->inputs[2].rank), out);
}

/* Scales and zero points are of no row. Those in whole are one number; those in columns may be lists along the right
 * operand's columns, while these are no rows. */
static bool scales_fit(struct independence_step *step, int b, const int whole[4], const int columns[2]) {
    for (int i = 0; i < 6; i++) {
        int input = i < 4 ? whole[i] : columns[i - 4];
        if (input < 0 || input >= step->input_count)
            continue;
        if (independence_has_rows(step, input))
            return independence_mixes(step, "its scales are of the batch");
        if (view_count(&step->inputs[input]) > 1 && (i < 4 || independence_has_rows(step, b)))
            return independence_mixes(step, "a list of scales may run along the rows");
    }
    return true;
}

bool independence_matmul_integer(struct independence_step *step) {
    struct product product = measure(step, 0, 1, false, false);
    return follow_product(step, 0, 1, &product) &&
           scales_fit(step, 1, (const int[4]){2, -1, -1, -1}, (const int[2]){3, -1});
}

bool independence_qlinear_matmul(struct independence_step *step) {
    struct product product = measure(step, 0, 3, false, false);
    return follow_product(step, 0, 3, &product) &&
           scales_fit(step, 3, (const int[4]){1, 2, 6, 7}, (const int[2]){4, 5});
}

/* Of x the first dimension is a batch, and nothing else has rows but what is added to the result. */
bool independence_window(struct independence_step *step) {
    const struct independence_place *place = &step->in[0];
    int sum = step->operation->kind == OPERATION_CONV ? 3 : step->input_count;
    if (place->axis != 0)
        return independence_mixes(step, "rows are outside the first dimension of its input");
    if (!independence_rowless(step, 1, sum))
        return independence_mixes(step, "its weights are of the batch");
    return independence_fits(step, sum, 0, place) && independence_put(step, 0, 0, place);
}

bool independence_pool(struct independence_step *step) {
    if (step->output_count > 1 && step->output_buffers[1] >= 0)
        return independence_mixes(step, "its indices count through all rows");
    return independence_window(step);
}

bool independence_recurrent(struct independence_step *step) {
    const struct recurrent *recurrent = &step->operation->recurrent;
    static const struct { int input, axis, batch_first_axis; } parts[] = {{0, 1, 0}, {4, 0, 0}, {5, 1, 0}, {6, 1, 0}};
    struct independence_place place = {-1, 1, 1};
    if (!independence_rowless(step, 1, 4) || independence_has_rows(step, 7))
        return independence_mixes(step, "its weights are of the batch");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && place.axis < 0; i++)
        if (independence_has_rows(step, parts[i].input))
            place = step->in[parts[i].input];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int axis = recurrent->batch_first ? parts[i].batch_first_axis : parts[i].axis;
        if (!independence_fits(step, parts[i].input, axis, &place))
            return false;
    }
    for (int i = 0; i < 3; i++) {
        int axis = recurrent->batch_first ? 0 : i == 0 ? 2 : 1;
        if (!independence_put(step, i, axis, &place))
            return false;
    }
    return true;
}

/* The dimension of that label among count labels, -1: none, -2: several. */
static int find_label(const signed char *labels, int count, int label) {
    int found = -1;
    for (int i = 0; i < count; i++)
        if (labels[i] == label)
            found = found == -1 ? i : -2;
    return found;
}

bool independence_einsum(struct independence_step *step) {
    const struct einsum *einsum = &step->operation->einsum;
    struct independence_place place = {-1, 1, 1};
    int label = -1;
    if (step->input_count > OPERATION_MAX_TERMS)
        return independence_mixes(step, "it has more terms than are followed");
    for (int i = 0; i < step->input_count && label < 0; i++)
        if (independence_has_rows(step, i)) {
            place = step->in[i];
            label = (unsigned char)einsum->inputs[i][place.axis]; /* 0..25 */
        }
    for (int i = 0; i < step->input_count; i++) {
        int axis = find_label(einsum->inputs[i], step->inputs[i].rank, label);
        if (axis == -2)
            return independence_mixes(step, "it takes a diagonal of the rows");
        if (!independence_fits(step, i, axis, &place))
            return false;
    }
    int axis = find_label(einsum->output, step->outputs[0].rank, label);
    if (axis < 0)
        return independence_mixes(step, "it sums over the rows");
    return independence_put(step, 0, axis, &place);
}
