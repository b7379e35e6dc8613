#include "engine/device/backend_cpu_layout.h"

static int root_of(const struct backend_cpu_builder *builder, int buffer) {
    return program_root(&builder->made->source, buffer);
}

static const dnnl_memory_desc_t *keep_desc(struct backend_cpu_builder *builder, const dnnl_memory_desc_t *desc) {
    dnnl_memory_desc_t *kept = region_take(&builder->made->source.region, 1, sizeof *kept);
    if (kept)
        *kept = *desc;
    return kept;
}

/* Between row-major and all channels together a transposition is faster than oneDNN's reorder. Returns false where it
 * is something else. */
static bool find_transposition(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to, struct view *x,
                               struct view *y) {
    bool forth = backend_cpu_dnnl_is_flat(from);
    const dnnl_memory_desc_t *last = forth ? to : from;
    struct view blocks;
    if (!backend_cpu_dnnl_is_flat(forth ? from : to) || from->data_type != dnnl_f32 || to->data_type != dnnl_f32 ||
        from->ndims != to->ndims || !backend_cpu_dnnl_blocks(last, &blocks) || blocks.dims[1] != 1 ||
        backend_cpu_dnnl_is_padded(last))
        return false;
    size_t channels = blocks.dims[blocks.rank - 1], space = view_product(&blocks, 2, blocks.rank - 1);
    *x = (struct view){.element = ELEMENT_F32, .rank = 3, .dims = {blocks.dims[0], space, channels}};
    *y = (struct view){.element = ELEMENT_F32, .rank = 3, .dims = {blocks.dims[0], channels, space}};
    if (forth) {
        struct view swapped = *x;
        *x = *y;
        *y = swapped;
    }
    return true;
}

static enum weir_status transpose(struct backend_cpu_builder *builder, const struct view *x, const struct view *y,
                                  int from, int to) {
    struct operation *operation = region_take(&builder->made->source.region, 1, sizeof *operation);
    if (!operation)
        return backend_cpu_builder_no_memory(builder);
    *operation = (struct operation){.kind = OPERATION_TRANSPOSE, .transpose = {.order = {0, 2, 1}}};
    struct backend_cpu_kernel kernel = {NULL, operation, x, y, &from, &to, 1, 1, 0};
    backend_cpu_builder_find_kernel(&kernel);
    return backend_cpu_builder_call(builder, &kernel);
}

static enum weir_status reorder(struct backend_cpu_builder *builder, const struct backend_cpu_argument *from,
                                const struct backend_cpu_argument *to) {
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_attr_t attr = NULL;
    struct view x, y;
    bool done;
    if (find_transposition(from->desc, to->desc, &x, &y))
        return transpose(builder, &x, &y, from->memory, to->memory);
    dnnl_status_t status = backend_cpu_dnnl_attributes(&(struct backend_cpu_attributes){.scale = 1}, &attr, &done);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(&desc, from->desc, builder->device->engine, to->desc,
                                                    builder->device->engine, attr);
    dnnl_primitive_attr_destroy(attr);
    if (status != dnnl_success)
        return backend_cpu_dnnl_fail(builder->err, status, "describing a reorder");
    const struct backend_cpu_argument arguments[] = {*from, *to};
    enum weir_status result = backend_cpu_builder_primitive(builder, desc, arguments, 2);
    dnnl_primitive_desc_destroy(desc);
    return result;
}

static enum weir_status convert(struct backend_cpu_builder *builder, int memory, const dnnl_memory_desc_t *from,
                                const dnnl_memory_desc_t *to, int *out) {
    int made = backend_cpu_builder_take(builder, dnnl_memory_desc_get_size(to));
    if (made < 0)
        return backend_cpu_builder_no_memory(builder);
    const struct backend_cpu_argument source = {.arg = DNNL_ARG_FROM, .memory = memory, .desc = from};
    const struct backend_cpu_argument target = {.arg = DNNL_ARG_TO, .memory = made, .desc = to};
    *out = made;
    return reorder(builder, &source, &target);
}

/* Row-major, with the dimensions of another layout. */
static void plain_like(const dnnl_memory_desc_t *like, dnnl_memory_desc_t *desc) {
    size_t dims[DNNL_MAX_NDIMS];
    for (int i = 0; i < like->ndims; i++)
        dims[i] = (size_t)like->dims[i];
    backend_cpu_dnnl_plain(desc, like->ndims, dims);
}

static bool has_dims(const dnnl_memory_desc_t *desc, const struct view *view) {
    if (desc->ndims != view->rank)
        return false;
    for (int i = 0; i < view->rank; i++)
        if (desc->dims[i] != (dnnl_dim_t)view->dims[i])
            return false;
    return true;
}

const dnnl_memory_desc_t *backend_cpu_layout_of(const struct backend_cpu_builder *builder, int buffer,
                                                dnnl_memory_desc_t *plain) {
    const struct view view = program_view(&builder->made->source, buffer);
    const dnnl_memory_desc_t *desc = builder->forms[root_of(builder, buffer)].desc;
    if (desc && has_dims(desc, &view))
        return desc;
    backend_cpu_dnnl_plain(plain, view.rank, view.dims);
    return plain;
}

static enum weir_status read_plain(struct backend_cpu_builder *builder, int buffer, int *memory) {
    int root = root_of(builder, buffer);
    struct backend_cpu_form *form = &builder->forms[root];
    *memory = form->desc ? form->plain : root;
    if (*memory >= 0)
        return WEIR_OK;
    dnnl_memory_desc_t plain;
    plain_like(form->desc, &plain);
    enum weir_status status = convert(builder, root, form->desc, &plain, memory);
    form->plain = *memory;
    return status;
}

enum weir_status backend_cpu_layout_read(struct backend_cpu_builder *builder, int buffer,
                                         const dnnl_memory_desc_t *wanted, int *memory) {
    int root = root_of(builder, buffer);
    struct backend_cpu_form *form = &builder->forms[root];
    dnnl_memory_desc_t plain;
    if (!wanted)
        return read_plain(builder, buffer, memory);
    const dnnl_memory_desc_t *now = backend_cpu_layout_of(builder, buffer, &plain);
    if (wanted->ndims != now->ndims) { /* a product's rows and columns: its rows may be several dimensions */
        plain_like(wanted, &plain);
        now = &plain;
    }
    if (form->other >= 0 && backend_cpu_dnnl_is_same(form->other_desc, wanted)) {
        *memory = form->other;
        return WEIR_OK;
    }
    *memory = root;
    if (now == &plain && read_plain(builder, buffer, memory) != WEIR_OK)
        return builder->err->status;
    if (backend_cpu_dnnl_is_same(now, wanted))
        return WEIR_OK;
    const dnnl_memory_desc_t *kept = keep_desc(builder, wanted);
    if (!kept)
        return backend_cpu_builder_no_memory(builder);
    enum weir_status status = convert(builder, *memory, now, wanted, memory);
    form->other = *memory;
    form->other_desc = kept;
    return status;
}

enum weir_status backend_cpu_layout_operand(struct backend_cpu_builder *builder, int buffer, struct view *view,
                                            int *memory) {
    *memory = -1;
    *view = program_view(&builder->made->source, buffer);
    if (buffer < 0)
        return WEIR_OK;
    const struct program_buffer *root = &builder->made->source.buffers[root_of(builder, buffer)];
    if (root->place != PROGRAM_CONSTANT)
        return read_plain(builder, buffer, memory);
    const void *data;
    const void *owner = region_holds(&builder->made->source.region, root->constant) ? builder->made : NULL;
    enum weir_status status =
        backend_cpu_constants_plain(builder->constants, root->constant, owner, &data, builder->err);
    if (status == WEIR_OK)
        view->data = (void *)(uintptr_t)data; /* inputs are not written to */
    return status;
}

enum weir_status backend_cpu_layout_write(struct backend_cpu_builder *builder, int buffer,
                                          const dnnl_memory_desc_t *desc, int *memory) {
    int root = root_of(builder, buffer);
    *memory = root;
    if (!desc || backend_cpu_dnnl_is_flat(desc))
        return WEIR_OK;
    size_t bytes = dnnl_memory_desc_get_size(desc);
    if (root != buffer || builder->made->source.buffers[root].place != PROGRAM_ARENA) {
        *memory = backend_cpu_builder_take(builder, bytes);
        return *memory < 0 ? backend_cpu_builder_no_memory(builder) : WEIR_OK;
    }
    const dnnl_memory_desc_t *kept = keep_desc(builder, desc);
    if (!kept)
        return backend_cpu_builder_no_memory(builder);
    builder->forms[root].desc = kept;
    if (bytes > builder->sizes[root])
        builder->sizes[root] = bytes;
    return WEIR_OK;
}

enum weir_status backend_cpu_layout_finish(struct backend_cpu_builder *builder, int buffer,
                                           const dnnl_memory_desc_t *desc, int memory) {
    int root = root_of(builder, buffer);
    if (memory == root)
        return WEIR_OK;
    dnnl_memory_desc_t plain;
    plain_like(desc, &plain);
    const struct backend_cpu_argument from = {.arg = DNNL_ARG_FROM, .memory = memory, .desc = desc};
    const struct backend_cpu_argument to = {.arg = DNNL_ARG_TO, .memory = root, .desc = &plain};
    return reorder(builder, &from, &to);
}
