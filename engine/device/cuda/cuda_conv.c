#include "engine/device/cuda/cuda_conv.h"

#include "engine/device/cuda/cuda_matmul.h"

/* The most that the columns of one piece take, unless one row of them takes more. */
enum { COLUMNS_BYTES = 32 << 20 };

/* One element wide, moved by one, nothing around it, all channels together. */
static bool is_pointwise(const struct window *window) {
    bool pointwise = window->groups == 1;
    for (int i = 0; i < window->spatial; i++)
        pointwise = pointwise && window->kernel[i] == 1 && window->strides[i] == 1 && window->pads[i] == 0 &&
                    window->pads_end[i] == 0;
    return pointwise;
}

/* Cuts the batch into pieces of images as many as divide it evenly, or each image into parts. */
static void cut(struct cuda_conv *conv, size_t images, size_t spatial, size_t pixel_bytes) {
    size_t most = pixel_bytes < COLUMNS_BYTES ? COLUMNS_BYTES / pixel_bytes : 1;
    if (spatial <= most) {
        conv->images = most / spatial < images ? most / spatial : images;
        while (images % conv->images != 0)
            conv->images--;
        conv->pixels[CUDA_CONV_FULL] = conv->images * spatial;
        return;
    }
    conv->pixels[CUDA_CONV_FULL] = most;
    conv->pixels[CUDA_CONV_REST] = spatial % most;
}

static bool plan_direct(const struct cuda_lt *lt, const struct view *x, const struct view *w, const struct view *y,
                        struct cuda_conv *conv, size_t *scratch_bytes) {
    size_t spatial = view_product(y, 2, y->rank), outputs = y->dims[1], inner = w->dims[1];
    conv->direct = true;
    conv->products[CUDA_CONV_FULL] = (struct cuda_lt_product){.rows = spatial,
                                                              .cols = outputs,
                                                              .inner = inner,
                                                              .x_transposed = spatial > 1,
                                                              .w_transposed = true,
                                                              .y_pitch = outputs,
                                                              .count = y->dims[0],
                                                              .x_step = inner * spatial,
                                                              .y_step = spatial * outputs,
                                                              .alpha = 1,
                                                              .alignment_bytes = CUDA_ALIGNMENT};
    conv->copy_at = *scratch_bytes;
    if (cuda_lt_operand_bytes(lt) < sizeof(float))
        *scratch_bytes += cuda_memory_plan_align(view_count(x) * sizeof(uint16_t));
    return inner > 0;
}

static size_t lowest_bit(size_t number) {
    return number & (~number + 1);
}

static bool plan_columns(const struct cuda_lt *lt, const struct view *w, const struct view *y, struct cuda_conv *conv,
                         size_t *scratch_bytes) {
    size_t spatial = view_product(y, 2, y->rank), outputs = y->dims[1], groups = conv->operation->window.groups;
    size_t inner = view_product(w, 1, w->rank), wide, pixel_bytes, columns_bytes;
    if (__builtin_mul_overflow(inner, groups, &wide) || __builtin_mul_overflow(wide, sizeof(float), &pixel_bytes) ||
        inner == 0)
        return false;
    cut(conv, y->dims[0], spatial, pixel_bytes);
    if (__builtin_mul_overflow(conv->pixels[CUDA_CONV_FULL], pixel_bytes, &columns_bytes))
        return false;
    size_t start_bits = conv->images == y->dims[0] ? 0 /* one piece */
                        : conv->images > 0         ? conv->images * spatial
                                                   : conv->pixels[CUDA_CONV_FULL] | spatial;
    for (int i = 0; i < CUDA_CONV_PIECES; i++)
        conv->products[i] = (struct cuda_lt_product){
            .rows = conv->pixels[i],
            .cols = outputs / groups,
            .inner = inner,
            .w_transposed = true,
            .y_pitch = outputs,
            .count = groups,
            .x_step = conv->pixels[i] * inner,
            .w_step = outputs / groups * inner,
            .y_step = outputs / groups,
            .alpha = 1,
            .alignment_bytes = lowest_bit(CUDA_ALIGNMENT | start_bits * outputs * sizeof(float))};
    conv->columns_at = *scratch_bytes;
    *scratch_bytes += cuda_memory_plan_align(columns_bytes);
    conv->copy_at = *scratch_bytes;
    if (cuda_lt_operand_bytes(lt) < sizeof(float))
        *scratch_bytes += cuda_memory_plan_align(columns_bytes / 2);
    return true;
}

static int optional(const struct program_step *step, int input) {
    return input < step->input_count ? step->inputs[input] : -1;
}

enum weir_status cuda_conv_plan(const struct cuda_program_maker *maker, struct cuda_program *program,
                                const struct program_step *step, struct cuda_conv *conv, size_t *scratch_bytes,
                                struct weir_error *err) {
    const struct view *x = &program->views[0], *w = &program->views[1], *y = program->views + program->view_count;
    const struct cuda_lt *lt = maker->lt;
    conv->operation = &step->operation;
    conv->x = step->inputs[0];
    conv->w = step->inputs[1];
    conv->bias = optional(step, 2);
    conv->sum = optional(step, 3);
    conv->y = step->outputs[0];
    conv->form = cuda_matmul_form(lt);
    *scratch_bytes = 0;
    if (!cuda_program_is_constant(program, conv->w))
        return weir_fail(err, WEIR_UNSUPPORTED, "a convolution whose weights are computed");
    if (!(is_pointwise(&step->operation.window) ? plan_direct(lt, x, w, y, conv, scratch_bytes)
                                                : plan_columns(lt, w, y, conv, scratch_bytes)))
        return weir_fail(err, WEIR_UNSUPPORTED, "a convolution of this size");
    conv->products_at = *scratch_bytes;
    *scratch_bytes += cuda_memory_plan_align(view_count(y) * sizeof(float));
    return cuda_program_want(maker, program, conv->x, CUDA_FORM_PLAIN) &&
                   cuda_program_want(maker, program, conv->w, conv->form) &&
                   cuda_program_want(maker, program, conv->bias, CUDA_FORM_PLAIN) &&
                   cuda_program_want(maker, program, conv->sum, CUDA_FORM_PLAIN)
               ? WEIR_OK
               : weir_fail(err, WEIR_NO_MEMORY, "no memory for a list of constants");
}

enum weir_status cuda_conv_prepare(const struct cuda_lt *lt, struct cuda_conv *conv, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    for (int i = 0; i < CUDA_CONV_PIECES && status == WEIR_OK; i++)
        if (conv->products[i].rows > 0)
            status = cuda_lt_prepare(lt, &conv->products[i], NULL, &conv->plans[i], err);
    return status;
}

/* In 16 bits where the precision says so, in *out. */
static cudaError_t bring(const struct cuda_lt *lt, const float *from, void *copy, size_t count, cudaStream_t stream,
                         const void **out) {
    *out = lt->precision == BACKEND_FP16 || lt->precision == BACKEND_BF16 ? copy : from;
    if (lt->precision == BACKEND_FP16)
        return cuda_to_f16(from, copy, count, stream);
    if (lt->precision == BACKEND_BF16)
        return cuda_to_bf16(from, copy, count, stream);
    return cudaSuccess;
}

/* What all pieces of one run share. */
struct conv_run {
    const struct cuda_lt *lt;
    const struct cuda_conv *conv;
    const struct cuda_slot_memory *memory;
    struct view x, y;
    const void *w;
    unsigned char *scratch;
};

static enum weir_status run_piece(const struct conv_run *run, int piece, size_t first, struct weir_error *err) {
    const struct cuda_conv *conv = run->conv;
    const struct cuda_lt *lt = run->lt;
    cudaStream_t stream = run->memory->stream;
    const float *columns = run->x.data;
    size_t count = view_count(&run->x);
    const void *operand = NULL;
    cudaError_t code = cudaSuccess;
    if (!conv->direct) {
        const struct cuda_lt_product *product = &conv->products[piece];
        columns = (const float *)(const void *)(run->scratch + conv->columns_at);
        count = product->rows * product->inner * product->count;
        code = cuda_im2col(&conv->operation->window, &run->x, &run->y, first, product->rows,
                           (float *)(void *)(run->scratch + conv->columns_at), stream);
    }
    if (code == cudaSuccess)
        code = bring(lt, columns, run->scratch + conv->copy_at, count, stream, &operand);
    if (code != cudaSuccess)
        return cuda_errors_fail(lt->errors, code, "a convolution's columns", err);
    const struct cuda_lt_operands operands = {.x = operand,
                                              .w = run->w,
                                              .y = (float *)(void *)(run->scratch + conv->products_at) +
                                                   first * run->y.dims[1],
                                              .workspace = run->memory->workspace,
                                              .workspace_bytes = run->memory->workspace_bytes,
                                              .stream = stream};
    return cuda_lt_run(lt, &conv->plans[piece], &operands, err);
}

static enum weir_status run_pieces(const struct conv_run *run, struct weir_error *err) {
    const struct cuda_conv *conv = run->conv;
    size_t spatial = view_product(&run->y, 2, run->y.rank), pixels = run->y.dims[0] * spatial, first = 0;
    enum weir_status status = WEIR_OK;
    if (conv->direct)
        return run_piece(run, CUDA_CONV_FULL, 0, err);
    while (first < pixels && status == WEIR_OK) {
        size_t left = spatial - first % spatial; /* of this image */
        int piece = conv->images == 0 && left < conv->pixels[CUDA_CONV_FULL] ? CUDA_CONV_REST : CUDA_CONV_FULL;
        status = run_piece(run, piece, first, err);
        first += conv->pixels[piece];
    }
    return status;
}

enum weir_status cuda_conv_run(const struct cuda_lt *lt, const struct cuda_program *program,
                               const struct cuda_slot_memory *memory, const struct cuda_conv *conv,
                               struct weir_error *err) {
    struct conv_run run = {.lt = lt,
                           .conv = conv,
                           .memory = memory,
                           .x = program_view(&program->source, conv->x),
                           .y = program_view(&program->source, conv->y),
                           .w = cuda_program_address(program, memory, conv->w, conv->form),
                           .scratch = memory->device + program->scratch_at};
    run.x.data = cuda_program_address(program, memory, conv->x, CUDA_FORM_PLAIN);
    run.y.data = cuda_program_address(program, memory, conv->y, CUDA_FORM_PLAIN);
    enum weir_status status = run_pieces(&run, err);
    if (status != WEIR_OK)
        return status;
    return cuda_errors_check(lt->errors,
                             cuda_place_pixels((const float *)(const void *)(run.scratch + conv->products_at),
                                               cuda_program_address(program, memory, conv->bias, CUDA_FORM_PLAIN),
                                               cuda_program_address(program, memory, conv->sum, CUDA_FORM_PLAIN),
                                               &conv->operation->then, &run.y, memory->stream),
                             "placing a convolution's results", err);
}
