#include "engine/device/cuda/cuda_matmul.h"

enum cuda_form cuda_matmul_form(const struct cuda_lt *lt) {
    return lt->precision == BACKEND_FP16   ? CUDA_FORM_F16
           : lt->precision == BACKEND_BF16 ? CUDA_FORM_BF16
                                           : CUDA_FORM_PLAIN;
}

/* Size of the view's leading dimension `from_end` places in front of its matrix; 1 where it has none. */
static size_t lead(const struct view *view, int from_end) {
    int at = view->rank - 3 - from_end;
    return at >= 0 ? view->dims[at] : 1;
}

/* Leading dimensions, innermost first, those that lie behind one another in both operands taken together. */
static int collect_axes(const struct view *x, const struct view *w, const struct cuda_lt_product *product,
                        struct cuda_matmul_axis *axes) {
    size_t x_step = product->rows * product->inner, w_step = product->inner * product->cols;
    int rank = x->rank > w->rank ? x->rank : w->rank, count = 0;
    for (int i = 0; i < rank - 2; i++) {
        size_t of_x = lead(x, i), of_w = lead(w, i), size = of_x > of_w ? of_x : of_w;
        struct cuda_matmul_axis axis = {size, of_x == 1 ? 0 : x_step, of_w == 1 ? 0 : w_step};
        struct cuda_matmul_axis *last = count > 0 ? &axes[count - 1] : NULL;
        x_step *= of_x;
        w_step *= of_w;
        if (size == 1)
            continue;
        if (last && last->x_step * last->size == axis.x_step && last->w_step * last->size == axis.w_step)
            last->size *= size;
        else
            axes[count++] = axis;
    }
    return count;
}

static void measure(const struct matmul *how, const struct view *x, const struct view *w,
                    struct cuda_lt_product *product) {
    bool x_turned = how->transpose_a && x->rank > 1, w_turned = how->transpose_b && w->rank > 1;
    size_t x_rows = x->rank > 1 ? x->dims[x->rank - 2] : 1, x_cols = x->dims[x->rank - 1];
    size_t w_rows = w->rank > 1 ? w->dims[w->rank - 2] : w->dims[0], w_cols = w->rank > 1 ? w->dims[w->rank - 1] : 1;
    product->rows = x_turned ? x_cols : x_rows;
    product->inner = x_turned ? x_rows : x_cols;
    product->cols = w_turned ? w_rows : w_cols;
    product->x_transposed = x_turned && product->rows > 1 && product->inner > 1;
    product->w_transposed = w_turned && product->cols > 1 && product->inner > 1;
}

/* A batch of row blocks that lie behind one another and share W is one block; then the innermost axis is cuBLASLt's
 * batch, and the others are loops. */
static void divide_axes(struct cuda_matmul *matmul, const struct cuda_matmul_axis *axes, int count) {
    struct cuda_lt_product *product = &matmul->product;
    int at = 0;
    if (count > 0 && axes[0].w_step == 0 && axes[0].x_step == product->rows * product->inner &&
        !product->x_transposed) {
        product->rows *= axes[0].size;
        at++;
    }
    product->count = 1;
    product->y_pitch = product->cols;
    product->y_step = product->rows * product->cols;
    if (at < count) {
        product->count = axes[at].size;
        product->x_step = axes[at].x_step;
        product->w_step = axes[at].w_step;
        at++;
    }
    for (; at < count; at++)
        matmul->loops[matmul->loop_count++] = axes[at];
}

static size_t lowest_bit(size_t number) {
    return number & (~number + 1);
}

/* What the addresses of all calls are multiples of. */
static size_t find_alignment(const struct cuda_matmul *matmul, size_t bytes_each) {
    size_t bits = CUDA_ALIGNMENT;
    if (matmul->loop_count > 0)
        bits |= matmul->product.count * matmul->product.y_step * sizeof(float);
    for (int i = 0; i < matmul->loop_count; i++)
        bits |= (matmul->loops[i].x_step | matmul->loops[i].w_step) * bytes_each;
    return lowest_bit(bits);
}

/* Is it one number for each column, and nothing else? */
static bool is_row(const struct view *c, size_t cols) {
    return view_count(c) == cols && (cols == 1 || c->dims[c->rank - 1] == cols);
}

static bool is_like(const struct view *a, const struct view *b) {
    bool like = a->rank == b->rank;
    for (int i = 0; like && i < a->rank; i++)
        like = a->dims[i] == b->dims[i];
    return like;
}

static bool plan_addend(struct cuda_matmul *matmul, const struct program_step *step, const struct view *c,
                        const struct view *y) {
    const struct matmul *how = &step->operation.matmul;
    if (step->input_count < 3 || step->inputs[2] < 0 || how->beta == 0)
        return true;
    if (how->beta == 1 && is_row(c, matmul->product.cols)) {
        matmul->bias = step->inputs[2];
        matmul->product.bias = true;
        return true;
    }
    matmul->product.beta = how->beta;
    matmul->spread = step->inputs[2];
    matmul->spread_operation.kind = is_like(c, y) ? OPERATION_COPY : OPERATION_EXPAND;
    matmul->spreader = cuda_find(&matmul->spread_operation, c, y);
    return matmul->spreader != NULL;
}

/* Where the 16-bit copy of an operand goes that is no constant. */
static size_t take_copy(const struct cuda_program *program, const struct cuda_matmul *matmul, int buffer,
                        size_t *scratch_bytes) {
    if (matmul->form == CUDA_FORM_PLAIN || cuda_program_is_constant(program, buffer))
        return SIZE_MAX;
    size_t at = *scratch_bytes;
    *scratch_bytes += cuda_memory_plan_align(program->source.buffers[buffer].elements * sizeof(uint16_t));
    return at;
}

enum weir_status cuda_matmul_plan(const struct cuda_program_maker *maker, struct cuda_program *program,
                                  const struct program_step *step, struct cuda_matmul *matmul, size_t *scratch_bytes,
                                  struct weir_error *err) {
    const struct view *inputs = program->views, *outputs = program->views + program->view_count;
    struct cuda_matmul_axis axes[VIEW_MAX_RANK];
    const struct unary *then = &step->operation.then;
    matmul->x = step->inputs[0];
    matmul->w = step->inputs[1];
    matmul->y = step->outputs[0];
    matmul->bias = matmul->spread = -1;
    matmul->form = cuda_matmul_form(maker->lt);
    matmul->product.alpha = step->operation.matmul.alpha;
    measure(&step->operation.matmul, &inputs[0], &inputs[1], &matmul->product);
    if (matmul->product.inner == 0)
        return weir_fail(err, WEIR_UNSUPPORTED, "a product over an empty dimension");
    divide_axes(matmul, axes, collect_axes(&inputs[0], &inputs[1], &matmul->product, axes));
    if (!plan_addend(matmul, step, &inputs[2], &outputs[0]))
        return weir_fail(err, WEIR_UNSUPPORTED, "a product with an addend of this shape");
    matmul->product.relu = then->kind == UNARY_RELU;
    if (then->kind != UNARY_RELU)
        matmul->after = *then;
    matmul->product.alignment_bytes = find_alignment(matmul, cuda_lt_operand_bytes(maker->lt));
    *scratch_bytes = 0;
    if (matmul->spread >= 0)
        *scratch_bytes = cuda_memory_plan_align(cuda_scratch_bytes(&matmul->spread_operation, &inputs[2], outputs));
    matmul->x_scratch = take_copy(program, matmul, matmul->x, scratch_bytes);
    matmul->w_scratch = take_copy(program, matmul, matmul->w, scratch_bytes);
    return cuda_program_want(maker, program, matmul->x, matmul->form) &&
                   cuda_program_want(maker, program, matmul->w, matmul->form) &&
                   cuda_program_want(maker, program, matmul->bias, CUDA_FORM_PLAIN) &&
                   cuda_program_want(maker, program, matmul->spread, CUDA_FORM_PLAIN)
               ? WEIR_OK
               : weir_fail(err, WEIR_NO_MEMORY, "no memory for a list of constants");
}

enum weir_status cuda_matmul_prepare(const struct cuda_lt *lt, const struct cuda_program *program,
                                     const struct cuda_slot_memory *memory, struct cuda_matmul *matmul,
                                     struct weir_error *err) {
    const float *bias = cuda_program_address(program, memory, matmul->bias, CUDA_FORM_PLAIN);
    return cuda_lt_prepare(lt, &matmul->product, bias, &matmul->plan, err);
}

/* Where the operand is in the form of the product, once it has been rounded into scratch (SIZE_MAX: it is there
 * already). *code: how that went. */
static const void *bring(const struct cuda_lt *lt, const struct cuda_program *program,
                         const struct cuda_slot_memory *memory, int buffer, size_t scratch, cudaError_t *code) {
    bool ready = scratch == SIZE_MAX;
    enum cuda_form form = cuda_program_is_constant(program, buffer) ? cuda_matmul_form(lt) : CUDA_FORM_PLAIN;
    const void *from = cuda_program_address(program, memory, buffer, form);
    void *to = ready ? NULL : memory->device + program->scratch_at + scratch;
    size_t count = program->source.buffers[buffer].elements;
    if (!ready && *code == cudaSuccess)
        *code = lt->precision == BACKEND_FP16 ? cuda_to_f16(from, to, count, memory->stream)
                                              : cuda_to_bf16(from, to, count, memory->stream);
    return ready ? from : to;
}

static enum weir_status spread(const struct cuda_lt *lt, const struct cuda_program *program,
                               const struct cuda_slot_memory *memory, const struct cuda_matmul *matmul,
                               struct weir_error *err) {
    struct view c = program_view(&program->source, matmul->spread), y = program_view(&program->source, matmul->y);
    c.data = cuda_program_address(program, memory, matmul->spread, CUDA_FORM_PLAIN);
    y.data = cuda_program_address(program, memory, matmul->y, CUDA_FORM_PLAIN);
    cudaError_t code =
        matmul->spreader(&matmul->spread_operation, &c, &y, memory->device + program->scratch_at, memory->stream);
    return cuda_errors_check(lt->errors, code, "a product's addend", err);
}

/* Elements in front of the operands of call number `call`. */
static void locate(const struct cuda_matmul *matmul, size_t call, size_t *x, size_t *w) {
    *x = *w = 0;
    for (int i = 0; i < matmul->loop_count; i++) {
        size_t at = call % matmul->loops[i].size;
        call /= matmul->loops[i].size;
        *x += at * matmul->loops[i].x_step;
        *w += at * matmul->loops[i].w_step;
    }
}

enum weir_status cuda_matmul_run(const struct cuda_lt *lt, const struct cuda_program *program,
                                 const struct cuda_slot_memory *memory, const struct cuda_matmul *matmul,
                                 struct weir_error *err) {
    cudaError_t code = cudaSuccess;
    float *y = cuda_program_address(program, memory, matmul->y, CUDA_FORM_PLAIN);
    size_t bytes_each = cuda_lt_operand_bytes(lt), calls = 1, x_at, w_at;
    for (int i = 0; i < matmul->loop_count; i++)
        calls *= matmul->loops[i].size;
    enum weir_status status = matmul->spread >= 0 ? spread(lt, program, memory, matmul, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    const void *x = bring(lt, program, memory, matmul->x, matmul->x_scratch, &code);
    const void *w = bring(lt, program, memory, matmul->w, matmul->w_scratch, &code);
    status = cuda_errors_check(lt->errors, code, "rounding a product's operands", err);
    for (size_t call = 0; call < calls && status == WEIR_OK; call++) {
        locate(matmul, call, &x_at, &w_at);
        const struct cuda_lt_operands operands = {
            .x = (const char *)x + x_at * bytes_each,
            .w = (const char *)w + w_at * bytes_each,
            .bias = cuda_program_address(program, memory, matmul->bias, CUDA_FORM_PLAIN),
            .y = y + call * matmul->product.count * matmul->product.y_step,
            .workspace = memory->workspace,
            .workspace_bytes = memory->workspace_bytes,
            .stream = memory->stream};
        status = cuda_lt_run(lt, &matmul->plan, &operands, err);
    }
    if (status == WEIR_OK && matmul->after.kind != UNARY_NONE)
        status = cuda_errors_check(
            lt->errors, cuda_apply(&matmul->after, y, program->source.buffers[matmul->y].elements, memory->stream),
            "a product's activation", err);
    return status;
}
