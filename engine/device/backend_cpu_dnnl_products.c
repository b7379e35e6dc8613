#include "engine/device/backend_cpu_dnnl_products.h"

#include <string.h>

#include "engine/device/backend_cpu_choose.h"
#include "engine/device/backend_cpu_layout.h"

/* A matrix for each place of the batch: strides in elements. */
struct operand {
    size_t row, col;
    size_t batch[VIEW_MAX_RANK];
};

/* One product for each place; operation comes first, since it is what the kernel is given. */
struct products {
    struct operation operation;
    float alpha;
    int batch_rank;
    size_t counts[VIEW_MAX_RANK];
    size_t rows, inner, cols;
    struct operand a, b, y;
};

static bool is_transposed(const struct operand *operand) {
    return operand->col != 1;
}

static dnnl_dim_t leading(const struct operand *operand, size_t cols) {
    size_t stride = is_transposed(operand) ? operand->col : operand->row;
    return (dnnl_dim_t)(stride > cols ? stride : cols);
}

/* Source of the arguments' meaning: oneDNN's reference of dnnl_sgemm (row-major). */
static void run(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch) {
    (void)scratch;
    const struct products *products = (const struct products *)operation;
    const struct operand *a = &products->a, *b = &products->b, *y = &products->y;
    const float *a_data = inputs[0].data, *b_data = inputs[1].data;
    float *y_data = outputs[0].data;
    size_t place[VIEW_MAX_RANK] = {0};
    char a_order = is_transposed(a) ? 'T' : 'N', b_order = is_transposed(b) ? 'T' : 'N';
    dnnl_dim_t lda = leading(a, a_order == 'T' ? products->rows : products->inner);
    dnnl_dim_t ldb = leading(b, b_order == 'T' ? products->inner : products->cols);
    dnnl_dim_t ldy = leading(y, products->cols);
    for (;;) {
        size_t a_at = 0, b_at = 0, y_at = 0;
        for (int i = 0; i < products->batch_rank; i++) {
            a_at += place[i] * a->batch[i];
            b_at += place[i] * b->batch[i];
            y_at += place[i] * y->batch[i];
        }
        /* fails for wrong arguments alone, which build has checked */
        (void)dnnl_sgemm(a_order, b_order, (dnnl_dim_t)products->rows, (dnnl_dim_t)products->cols,
                         (dnnl_dim_t)products->inner, products->alpha, a_data + a_at, lda, b_data + b_at, ldb, 0,
                         y_data + y_at, ldy);
        int i = products->batch_rank - 1;
        while (i >= 0 && ++place[i] == products->counts[i])
            place[i--] = 0;
        if (i < 0)
            return;
    }
}

static void row_major(const struct view *view, size_t *strides) {
    size_t stride = 1;
    for (int i = view->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= view->dims[i];
    }
}

/* Strides of the dimensions of an input, of which a TRANSPOSE may be the maker. */
static void input_strides(const struct program *program, int buffer, const struct program_step *transpose,
                          size_t *strides) {
    size_t base[VIEW_MAX_RANK];
    struct view view = program_view(program, transpose ? transpose->inputs[0] : buffer);
    row_major(&view, base);
    for (int i = 0; i < view.rank; i++)
        strides[i] = base[transpose ? transpose->operation.transpose.order[i] : i];
}

/* The same of the output, which a TRANSPOSE may take. */
static void output_strides(const struct program *program, int buffer, const struct program_step *transpose,
                           size_t *strides) {
    size_t base[VIEW_MAX_RANK];
    struct view view = program_view(program, transpose ? transpose->outputs[0] : buffer);
    row_major(&view, base);
    for (int i = 0; i < view.rank; i++)
        strides[transpose ? transpose->operation.transpose.order[i] : i] = base[i];
}

/* Rows and columns of an operand from its strides. A dimension of one element may have any stride: one that fits is
 * taken. Returns false if neither rows nor columns are dense. */
static bool matrix_of(const struct view *view, const size_t *strides, bool transposed, bool is_column,
                      struct operand *out) {
    int rank = view->rank;
    memset(out, 0, sizeof *out);
    if (rank == 1) {
        out->row = is_column ? strides[0] : view->dims[0];
        out->col = 1;
        return is_column ? true : strides[0] == 1;
    }
    int row = rank - (transposed ? 1 : 2), col = rank - (transposed ? 2 : 1);
    out->row = strides[row];
    out->col = strides[col];
    if (view->dims[col] == 1)
        out->col = 1;
    else if (out->col != 1 && view->dims[row] == 1)
        out->row = 1;
    return out->col == 1 || out->row == 1;
}

/* Batch dimensions count from the end: the operand may have fewer, or one element where y has many. */
static void place_batch(const struct products *products, const struct view *view, const size_t *strides,
                        struct operand *out) {
    int own = view->rank - 2;
    for (int i = 0; i < products->batch_rank; i++) {
        int at = i - (products->batch_rank - own);
        out->batch[i] = at >= 0 && view->dims[at] != 1 ? strides[at] : 0;
    }
}

/* Makes fewer and larger products: batch dimensions of one element go, and those along which b stays the same become
 * rows. */
static void collapse(struct products *products) {
    struct operand *a = &products->a, *b = &products->b, *y = &products->y;
    int kept = 0;
    for (int i = 0; i < products->batch_rank; i++) {
        if (products->counts[i] == 1)
            continue;
        products->counts[kept] = products->counts[i];
        a->batch[kept] = a->batch[i];
        b->batch[kept] = b->batch[i];
        y->batch[kept++] = y->batch[i];
    }
    products->batch_rank = kept;
    while (products->batch_rank > 0) {
        int last = products->batch_rank - 1;
        if (b->batch[last] != 0 || is_transposed(a) || a->batch[last] != a->row * products->rows ||
            y->batch[last] != y->row * products->rows)
            return;
        products->rows *= products->counts[last];
        products->batch_rank--;
    }
}

static bool measure(const struct program *program, const struct program_step *step,
                    const struct program_step *const *movers, struct products *products) {
    const struct matmul *how = &step->operation.matmul;
    struct view a = program_view(program, step->inputs[0]), b = program_view(program, step->inputs[1]),
                y = program_view(program, step->outputs[0]);
    size_t a_strides[VIEW_MAX_RANK] = {0}, b_strides[VIEW_MAX_RANK] = {0}, y_strides[VIEW_MAX_RANK] = {0};
    bool a_swapped = how->transpose_a && a.rank > 1, b_swapped = how->transpose_b && b.rank > 1;
    memset(products, 0, sizeof *products);
    products->alpha = how->alpha;
    products->rows = a.rank > 1 ? a.dims[a.rank - (a_swapped ? 1 : 2)] : 1;
    products->inner = a.dims[a.rank - (a_swapped ? 2 : 1)];
    products->cols = b.rank > 1 ? b.dims[b.rank - (b_swapped ? 2 : 1)] : 1;
    products->batch_rank = y.rank - (a.rank > 1) - (b.rank > 1);
    input_strides(program, step->inputs[0], movers[0], a_strides);
    input_strides(program, step->inputs[1], movers[1], b_strides);
    output_strides(program, step->outputs[0], movers[2], y_strides);
    if (!matrix_of(&a, a_strides, a_swapped, false, &products->a) ||
        !matrix_of(&b, b_strides, b_swapped, true, &products->b))
        return false;
    place_batch(products, &a, a_strides, &products->a);
    place_batch(products, &b, b_strides, &products->b);
    for (int i = 0; i < products->batch_rank; i++) {
        products->counts[i] = y.dims[i];
        products->y.batch[i] = y_strides[i];
    }
    products->y.row = a.rank > 1 ? y_strides[products->batch_rank] : products->cols;
    products->y.col = b.rank > 1 ? y_strides[y.rank - 1] : 1;
    if (products->cols == 1)
        products->y.col = 1;
    collapse(products);
    return products->y.col == 1;
}

bool backend_cpu_dnnl_products_can_move(const struct program *program, const struct program_step *matmul, int input,
                                        const struct program_step *transpose) {
    const struct program_step *movers[3] = {NULL};
    struct products products;
    movers[input < 0 ? 2 : input] = transpose;
    if (input < 0 && matmul->input_count > 2 && matmul->inputs[2] >= 0)
        return false; /* what is added would have to be moved too */
    return measure(program, matmul, movers, &products);
}

/* The operand's memory: that of the TRANSPOSE's input where the product does its work. */
static enum weir_status read_operand(struct backend_cpu_builder *builder, int buffer, const struct program_step *mover,
                                     struct view *view, int *memory) {
    return backend_cpu_layout_operand(builder, mover ? mover->inputs[0] : buffer, view, memory);
}

enum weir_status backend_cpu_dnnl_products_build(struct backend_cpu_builder *builder, bool *built) {
    const struct program *source = &builder->made->source;
    const struct program_step *step = backend_cpu_builder_step(builder);
    const struct program_step *movers[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        int mover = builder->moved_by[i < 2 ? step->inputs[i] : step->outputs[0]];
        movers[i] = mover >= 0 ? &source->steps[mover] : NULL;
    }
    struct products *products = region_take(&builder->made->source.region, 1, sizeof *products);
    if (!products)
        return backend_cpu_builder_no_memory(builder);
    if (!measure(source, step, movers, products))
        return WEIR_OK;
    int y = movers[2] ? movers[2]->outputs[0] : step->outputs[0], memories[3];
    struct view views[3] = {[2] = program_view(source, y)};
    struct backend_cpu_kernel kernel = {.kernel = run,
                                        .operation = &products->operation,
                                        .inputs = views,
                                        .outputs = views + 2,
                                        .input_memories = memories,
                                        .output_memories = memories + 2,
                                        .input_count = 2,
                                        .output_count = 1};
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < 2 && status == WEIR_OK; i++)
        status = read_operand(builder, step->inputs[i], movers[i], &views[i], &memories[i]);
    if (status == WEIR_OK)
        status = backend_cpu_layout_write(builder, y, NULL, &memories[2]);
    if (status == WEIR_OK)
        status = backend_cpu_builder_call(builder, &kernel);
    if (status == WEIR_OK && step->input_count > 2 && step->inputs[2] >= 0)
        status = backend_cpu_dnnl_products_add(builder, y, step->inputs[2], step->operation.matmul.beta);
    if (status == WEIR_OK && step->operation.then.kind != UNARY_NONE)
        status = backend_cpu_builder_activate(builder, memories[2], view_count(&views[2]), &step->operation.then);
    *built = true;
    return status;
}

enum weir_status backend_cpu_dnnl_products_add(struct backend_cpu_builder *builder, int y, int c, float factor) {
    struct operation *operations = region_take(&builder->made->source.region, 2, sizeof *operations);
    struct view views[2] = {program_view(&builder->made->source, y)};
    int memories[2] = {program_root(&builder->made->source, y)}, c_memory;
    if (!operations)
        return backend_cpu_builder_no_memory(builder);
    enum weir_status status = backend_cpu_layout_operand(builder, c, &views[1], &memories[1]);
    if (status == WEIR_OK && factor != 1) {
        operations[1].kind = OPERATION_UNARY;
        operations[1].unary = (struct unary){UNARY_SCALE, factor, 0};
        struct view scaled = views[1];
        scaled.data = NULL;
        c_memory = backend_cpu_builder_take(builder, view_count(&scaled) * sizeof(float));
        if (c_memory < 0)
            return backend_cpu_builder_no_memory(builder);
        struct backend_cpu_kernel kernel = {NULL, &operations[1], &views[1], &scaled, &memories[1], &c_memory, 1, 1, 0};
        backend_cpu_builder_find_kernel(&kernel);
        status = backend_cpu_builder_call(builder, &kernel);
        views[1] = scaled;
        memories[1] = c_memory;
    }
    if (status != WEIR_OK)
        return status;
    operations[0].kind = OPERATION_BINARY;
    operations[0].binary = BINARY_ADD;
    struct backend_cpu_kernel kernel = {NULL, &operations[0], views, views, memories, memories, 2, 1, 0};
    backend_cpu_builder_find_kernel(&kernel);
    return backend_cpu_builder_call(builder, &kernel);
}
