#include "engine/device/backend_cpu_blocked.h"

#include <string.h>

#include "engine/device/backend_cpu_layout.h"
#include "kernels/cpu/cpu_pool.h"

bool backend_cpu_blocked_keeps_zero(const struct unary *unary) {
    switch (unary->kind) {
    case UNARY_NONE:
    case UNARY_RELU:
    case UNARY_LEAKY_RELU:
    case UNARY_TANH:
    case UNARY_ELU:
    case UNARY_SELU:
    case UNARY_CELU:
    case UNARY_HARD_SWISH:
    case UNARY_SOFTSIGN:
    case UNARY_GELU_ERF:
    case UNARY_GELU_TANH:
    case UNARY_SILU:
    case UNARY_MISH:
    case UNARY_ERF:
    case UNARY_SQRT:
    case UNARY_NEGATE:
    case UNARY_ABSOLUTE:
        return true;
    case UNARY_CLIP:
        return unary->a <= 0 && unary->b >= 0;
    case UNARY_SCALE:
        return unary->b == 0;
    default:
        return false;
    }
}

static struct view flat(const dnnl_memory_desc_t *desc) {
    return (struct view){.element = ELEMENT_F32, .rank = 1, .dims = {dnnl_memory_desc_get_size(desc) / sizeof(float)}};
}

enum weir_status backend_cpu_blocked_add(struct backend_cpu_builder *builder, int memory,
                                         const dnnl_memory_desc_t *desc, int buffer) {
    struct operation *operation = region_take(&builder->made->source.region, 1, sizeof *operation);
    struct view views[2] = {flat(desc), flat(desc)};
    int memories[2] = {memory, -1};
    if (!operation)
        return backend_cpu_builder_no_memory(builder);
    enum weir_status status = backend_cpu_layout_read(builder, buffer, desc, &memories[1]);
    if (status != WEIR_OK)
        return status;
    operation->kind = OPERATION_BINARY;
    operation->binary = BINARY_ADD;
    struct backend_cpu_kernel kernel = {NULL, operation, views, views, memories, memories, 2, 1, 0};
    backend_cpu_builder_find_kernel(&kernel);
    return backend_cpu_builder_call(builder, &kernel);
}

/* The same blocks with other dimensions. */
static void describe_like(const dnnl_memory_desc_t *like, const struct view *view, dnnl_memory_desc_t *desc) {
    *desc = *like;
    dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;
    dnnl_dim_t block = blocking->inner_nblks == 1 ? blocking->inner_blks[0] : (dnnl_dim_t)view->dims[1];
    for (int i = 0; i < desc->ndims; i++) {
        desc->dims[i] = desc->padded_dims[i] = (dnnl_dim_t)view->dims[i];
        desc->padded_offsets[i] = 0;
    }
    desc->padded_dims[1] = (desc->dims[1] + block - 1) / block * block;
    dnnl_dim_t stride = block;
    for (int i = desc->ndims - 1; i >= 2; i--) {
        blocking->strides[i] = stride;
        stride *= desc->dims[i];
    }
    blocking->strides[1] = blocking->inner_nblks == 1 ? stride : 1;
    blocking->strides[0] = stride * (desc->padded_dims[1] / block);
}

/* The layout of the buffer, if it lies in blocks. */
static const dnnl_memory_desc_t *blocks_of(const struct backend_cpu_builder *builder, int buffer, struct view *blocks) {
    dnnl_memory_desc_t plain;
    const dnnl_memory_desc_t *desc = backend_cpu_layout_of(builder, buffer, &plain);
    return desc != &plain && backend_cpu_dnnl_blocks(desc, blocks) ? desc : NULL;
}

static bool is_constant(const struct backend_cpu_builder *builder, int buffer) {
    const struct program *source = &builder->made->source;
    return source->buffers[program_root(source, buffer)].place == PROGRAM_CONSTANT;
}

static enum weir_status build_unary(struct backend_cpu_builder *builder, bool *built) {
    const struct program_step *step = backend_cpu_builder_step(builder);
    struct view blocks, view;
    const dnnl_memory_desc_t *desc = blocks_of(builder, step->inputs[0], &blocks);
    int x = step->inputs[0], y = step->outputs[0], x_memory, y_memory;
    if (!desc || builder->made->source.buffers[y].dtype != TENSOR_F32 ||
        (backend_cpu_dnnl_is_padded(desc) && !backend_cpu_blocked_keeps_zero(&step->operation.unary)))
        return WEIR_OK;
    *built = true;
    view = flat(desc);
    enum weir_status status = backend_cpu_layout_read(builder, x, desc, &x_memory);
    if (status == WEIR_OK)
        status = backend_cpu_layout_write(builder, y, desc, &y_memory);
    if (status != WEIR_OK)
        return status;
    (void)backend_cpu_builder_in_place(builder, x, x_memory, y);
    struct backend_cpu_kernel kernel = {NULL, &step->operation, &view, &view, &x_memory, &y_memory, 1, 1, 0};
    backend_cpu_builder_find_kernel(&kernel);
    return backend_cpu_builder_call(builder, &kernel);
}

static bool binary_keeps_zero(enum binary_kind kind) {
    return kind == BINARY_ADD || kind == BINARY_SUBTRACT || kind == BINARY_MULTIPLY || kind == BINARY_MINIMUM ||
           kind == BINARY_MAXIMUM || kind == BINARY_PRELU;
}

/* A view, in blocks, of a tensor with one value for each channel (of each image, perhaps). */
static bool view_channels(const struct view *y, const struct view *blocks, const struct view *from, struct view *out) {
    int skipped = y->rank - from->rank;
    if (skipped < 0)
        return false;
    *out = *from;
    out->rank = blocks->rank;
    for (int i = 0; i < y->rank; i++) {
        size_t dim = i < skipped ? 1 : from->dims[i - skipped];
        if (i == 1 ? dim != y->dims[1] : i > 1 && dim != 1)
            return false;
        out->dims[i] = i == 1 ? blocks->dims[1] : dim;
    }
    out->dims[blocks->rank - 1] = blocks->dims[blocks->rank - 1];
    return true;
}

/* Fills in operand `side`, which lies in other places than the other one. Returns false if that does not go. */
static enum weir_status view_other(struct backend_cpu_builder *builder, int side, const dnnl_memory_desc_t *desc,
                                   struct view *views, int *memories, bool *fits) {
    const struct program *source = &builder->made->source;
    const struct program_step *step = backend_cpu_builder_step(builder);
    int other = step->inputs[side];
    struct view y = program_view(source, step->outputs[0]), from = program_view(source, other), blocks;
    bool same = from.rank == y.rank && memcmp(from.dims, y.dims, (size_t)y.rank * sizeof *y.dims) == 0;
    *fits = false;
    if (same && !is_constant(builder, other)) {
        *fits = true;
        views[side] = flat(desc);
        return backend_cpu_layout_read(builder, other, desc, &memories[side]);
    }
    bool scalar = view_count(&from) == 1 && from.rank <= y.rank;
    if (!backend_cpu_dnnl_blocks(desc, &blocks) || (!scalar && backend_cpu_dnnl_is_padded(desc)) ||
        (scalar && backend_cpu_dnnl_is_padded(desc) && step->operation.binary != BINARY_MULTIPLY))
        return WEIR_OK;
    struct view channels;
    if (!scalar && !view_channels(&y, &blocks, &from, &channels))
        return WEIR_OK;
    *fits = true;
    enum weir_status status = backend_cpu_layout_operand(builder, other, &views[side], &memories[side]);
    if (scalar) {
        views[side].rank = 0;
        return status;
    }
    channels.data = views[side].data;
    views[side] = channels;
    views[1 - side] = views[2] = blocks;
    return status;
}

static enum weir_status build_binary(struct backend_cpu_builder *builder, bool *built) {
    const struct program *source = &builder->made->source;
    const struct program_step *step = backend_cpu_builder_step(builder);
    int y = step->outputs[0], memories[3];
    struct view views[3], blocks, whole = program_view(source, y);
    int side = 0; /* the operand that lies in blocks and is as large as y */
    const dnnl_memory_desc_t *desc = NULL;
    for (side = 0; side < 2; side++) {
        desc = blocks_of(builder, step->inputs[side], &blocks);
        struct view view = program_view(source, step->inputs[side]);
        if (desc && view.rank == whole.rank &&
            memcmp(view.dims, whole.dims, (size_t)whole.rank * sizeof *view.dims) == 0)
            break;
    }
    if (side == 2 || source->buffers[y].dtype != TENSOR_F32 ||
        source->buffers[step->inputs[1 - side]].dtype != TENSOR_F32 ||
        (backend_cpu_dnnl_is_padded(desc) && !binary_keeps_zero(step->operation.binary)))
        return WEIR_OK;
    views[side] = views[2] = flat(desc);
    bool fits = false;
    enum weir_status status = view_other(builder, 1 - side, desc, views, memories, &fits);
    if (status != WEIR_OK || !fits)
        return status;
    *built = true;
    status = backend_cpu_layout_read(builder, step->inputs[side], desc, &memories[side]);
    if (status == WEIR_OK)
        status = backend_cpu_layout_write(builder, y, desc, &memories[2]);
    if (status != WEIR_OK)
        return status;
    if (side == 0)
        (void)backend_cpu_builder_in_place(builder, step->inputs[0], memories[0], y);
    struct backend_cpu_kernel kernel = {NULL, &step->operation, views, views + 2, memories, memories + 2, 2, 1, 0};
    backend_cpu_builder_find_kernel(&kernel);
    return backend_cpu_builder_call(builder, &kernel);
}

/* Max pools keep NaN, which oneDNN's do not. */
static enum weir_status build_pool(struct backend_cpu_builder *builder, bool *built) {
    const struct program_step *step = backend_cpu_builder_step(builder);
    struct view x, y = program_view(&builder->made->source, step->outputs[0]);
    const dnnl_memory_desc_t *desc = blocks_of(builder, step->inputs[0], &x);
    dnnl_memory_desc_t y_desc;
    int x_memory, y_memory;
    if (step->operation.pool.kind != POOL_MAX || !desc || (step->output_count > 1 && step->outputs[1] >= 0) ||
        view_count(&y) == 0)
        return WEIR_OK;
    *built = true;
    describe_like(desc, &y, &y_desc);
    (void)backend_cpu_dnnl_blocks(&y_desc, &y);
    enum weir_status status = backend_cpu_layout_read(builder, step->inputs[0], desc, &x_memory);
    if (status == WEIR_OK)
        status = backend_cpu_layout_write(builder, step->outputs[0], &y_desc, &y_memory);
    struct backend_cpu_kernel kernel = {cpu_pool_max_blocks, &step->operation, &x, &y, &x_memory, &y_memory, 1, 1, 0};
    return status == WEIR_OK ? backend_cpu_builder_call(builder, &kernel) : status;
}

/* Joins channels: blocks stay whole if every input has a whole number of them. */
static enum weir_status build_concat(struct backend_cpu_builder *builder, bool *built) {
    const struct program *source = &builder->made->source;
    const struct program_step *step = backend_cpu_builder_step(builder);
    struct region *region = &builder->made->source.region;
    size_t count = (size_t)step->input_count;
    const dnnl_memory_desc_t *like = NULL;
    struct view *views = region_take(region, count + 1, sizeof *views);
    int *memories = region_take(region, count + 1, sizeof *memories);
    dnnl_memory_desc_t *descs = region_take(region, count + 1, sizeof *descs);
    struct operation *operation = region_take(region, 1, sizeof *operation);
    if (!views || !memories || !descs || !operation)
        return backend_cpu_builder_no_memory(builder);
    for (size_t i = 0; i < count && !like; i++)
        like = blocks_of(builder, step->inputs[i], &views[0]);
    if (!like || step->operation.axis != 1)
        return WEIR_OK;
    for (size_t i = 0; i <= count; i++) {
        int buffer = i < count ? step->inputs[i] : step->outputs[0];
        struct view view = program_view(source, buffer);
        if (view.rank != like->ndims || (i < count && is_constant(builder, buffer)))
            return WEIR_OK;
        describe_like(like, &view, &descs[i]);
        if (backend_cpu_dnnl_is_padded(&descs[i]) || !backend_cpu_dnnl_blocks(&descs[i], &views[i]))
            return WEIR_OK;
    }
    *built = true;
    *operation = step->operation;
    operation->axis = like->format_desc.blocking.inner_nblks == 1 ? 1 : like->ndims;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = backend_cpu_layout_read(builder, step->inputs[i], &descs[i], &memories[i]);
    if (status == WEIR_OK)
        status = backend_cpu_layout_write(builder, step->outputs[0], &descs[count], &memories[count]);
    if (status != WEIR_OK)
        return status;
    struct backend_cpu_kernel kernel = {NULL,       operation, views, views + count, memories, memories + count,
                                        (int)count, 1,         0};
    backend_cpu_builder_find_kernel(&kernel);
    return backend_cpu_builder_call(builder, &kernel);
}

enum weir_status backend_cpu_blocked_build(struct backend_cpu_builder *builder, bool *built) {
    const struct program_step *step = backend_cpu_builder_step(builder);
    const struct program *source = &builder->made->source;
    int y = step->outputs[0];
    if (y < 0 || source->buffers[y].place != PROGRAM_ARENA) /* elsewhere it must be row-major */
        return WEIR_OK;
    switch (step->operation.kind) {
    case OPERATION_UNARY:
        return build_unary(builder, built);
    case OPERATION_BINARY:
        return build_binary(builder, built);
    case OPERATION_POOL:
        return build_pool(builder, built);
    case OPERATION_CONCAT:
        return build_concat(builder, built);
    default:
        return WEIR_OK;
    }
}
