#include "engine/device/backend_cpu_dnnl_window.h"

#include "engine/device/backend_cpu_blocked.h"
#include "engine/device/backend_cpu_choose.h"
#include "engine/device/backend_cpu_layout.h"

/* A convolution being described. Views and window are without the dimensions of space that do nothing (one element, and
 * a kernel of one): oneDNN is slow where the last one is of that kind. */
struct conv {
    const struct program_step *step;
    struct window window;
    struct view x, w, y;
    bool transposed, has_bias, sums, then_done;
    dnnl_memory_desc_t plain_weights, bias;
    dnnl_primitive_desc_t desc;
    const dnnl_memory_desc_t *x_inner, *weights_desc, *y_inner; /* what oneDNN chose, owned by desc */
    dnnl_memory_desc_t x_desc, y_desc;                          /* the same with all dimensions */
};

static int input_of(const struct program_step *step, int input) {
    return input < step->input_count ? step->inputs[input] : -1;
}

static void to_dims(const size_t *from, int count, size_t minus, dnnl_dims_t to) {
    for (int i = 0; i < count; i++)
        to[i] = (dnnl_dim_t)(from[i] - minus);
}

/* The weights as oneDNN names their dimensions, [groups,] out, in, spatial, over the bytes that ONNX gives: out before
 * in for a convolution, in before out for a transposed one. */
static void describe_weights(struct conv *conv, dnnl_memory_desc_t *desc) {
    const struct window *window = &conv->window;
    size_t groups = window->groups ? window->groups : 1, dims[DNNL_MAX_NDIMS];
    int count = 0, spatial = window->spatial;
    if (groups > 1)
        dims[count++] = groups;
    dims[count++] = conv->w.dims[0] / groups;
    dims[count++] = conv->w.dims[1];
    for (int i = 0; i < spatial; i++)
        dims[count++] = conv->w.dims[2 + i];
    backend_cpu_dnnl_plain(desc, count, dims);
    if (!conv->transposed)
        return;
    int out = count - spatial - 2, in = out + 1;
    dnnl_dim_t *strides = desc->format_desc.blocking.strides;
    dnnl_dim_t dim = desc->dims[out], stride = strides[out];
    desc->dims[out] = desc->padded_dims[out] = desc->dims[in];
    desc->dims[in] = desc->padded_dims[in] = dim;
    strides[out] = strides[in];
    strides[in] = stride;
}

/* How far the window reaches over the end: for a transposed convolution with output padding that is less than the pads
 * say. */
static void describe_ends(const struct conv *conv, dnnl_dims_t ends) {
    const struct window *window = &conv->window;
    for (int i = 0; i < window->spatial; i++) {
        size_t small = conv->x.dims[2 + i], large = conv->y.dims[2 + i];
        size_t reach = (window->kernel[i] - 1) * window->dilations[i] + 1;
        ends[i] = conv->transposed
                      ? (dnnl_dim_t)((small - 1) * window->strides[i] + reach - window->pads[i]) - (dnnl_dim_t)large
                      : (dnnl_dim_t)window->pads_end[i];
    }
}

/* Leaves out the dimensions of space that do nothing. */
static void squeeze(struct conv *conv) {
    const struct window *all = &conv->step->operation.window;
    struct window *window = &conv->window;
    int kept = 0;
    *window = *all;
    for (int i = 0; i < all->spatial; i++) {
        bool idle = conv->x.dims[2 + i] == 1 && conv->y.dims[2 + i] == 1 && all->kernel[i] == 1 && all->pads[i] == 0 &&
                    all->pads_end[i] == 0;
        if (idle && (kept > 0 || i + 1 < all->spatial))
            continue;
        window->kernel[kept] = all->kernel[i];
        window->strides[kept] = all->strides[i];
        window->dilations[kept] = all->dilations[i];
        window->pads[kept] = all->pads[i];
        window->pads_end[kept] = all->pads_end[i];
        conv->x.dims[2 + kept] = conv->x.dims[2 + i];
        conv->y.dims[2 + kept] = conv->y.dims[2 + i];
        conv->w.dims[2 + kept++] = conv->w.dims[2 + i];
    }
    window->spatial = kept;
    conv->x.rank = conv->y.rank = conv->w.rank = 2 + kept;
}

/* The layout with the buffer's own dimensions. */
static dnnl_status_t restore(const struct backend_cpu_builder *builder, int buffer, const dnnl_memory_desc_t *inner,
                             dnnl_memory_desc_t *desc) {
    struct view view = program_view(&builder->made->source, buffer);
    dnnl_dims_t dims;
    *desc = *inner;
    if (view.rank == inner->ndims)
        return dnnl_success;
    to_dims(view.dims, view.rank, 0, dims);
    return dnnl_memory_desc_reshape(desc, inner, view.rank, dims);
}

/* bfloat16's rounding averages out in long sums. The others (the first layer, depthwise ones, narrow ones, the last
 * ones of a picture) are kept in float32, since they are what shows: measured with all of them in bfloat16, networks of
 * text recognition and detection were off by 0.42 and 0.23 of their largest output, with this rule by 0.014 and 3e-5.
 */
enum { BF16_LEAST_CHANNELS = 32, BF16_LEAST_SUM = 512 };

static bool suits_bf16(const struct conv *conv) {
    size_t in = conv->w.dims[1], out = conv->w.dims[0];
    return !conv->transposed && conv->window.groups <= 1 && in >= BF16_LEAST_CHANNELS && out >= BF16_LEAST_CHANNELS &&
           in * view_product(&conv->w, 2, conv->w.rank) >= BF16_LEAST_SUM;
}

static dnnl_status_t describe(struct backend_cpu_builder *builder, struct conv *conv) {
    const struct window *window = &conv->window;
    dnnl_data_type_t type = builder->bf16 && suits_bf16(conv) ? dnnl_bf16 : dnnl_f32;
    dnnl_memory_desc_t x, weights, y;
    dnnl_dims_t strides, dilates, begins, ends;
    dnnl_primitive_attr_t attr = NULL;
    union {
        dnnl_convolution_desc_t conv;
        dnnl_deconvolution_desc_t deconv;
    } desc;
    backend_cpu_dnnl_plain(&x, conv->x.rank, conv->x.dims);
    backend_cpu_dnnl_plain(&y, conv->y.rank, conv->y.dims);
    describe_weights(conv, &conv->plain_weights);
    weights = conv->plain_weights;
    x.data_type = weights.data_type = type;
    backend_cpu_dnnl_any(&x);
    backend_cpu_dnnl_any(&y);
    backend_cpu_dnnl_any(&weights);
    backend_cpu_dnnl_plain(&conv->bias, 1, &conv->y.dims[1]);
    to_dims(window->strides, window->spatial, 0, strides);
    to_dims(window->dilations, window->spatial, 1, dilates);
    to_dims(window->pads, window->spatial, 0, begins);
    describe_ends(conv, ends);
    const dnnl_memory_desc_t *bias = conv->has_bias ? &conv->bias : NULL;
    const struct unary none = {.kind = UNARY_NONE}, *then = &conv->step->operation.then;
    bool waits = input_of(conv->step, 3) >= 0 && !conv->sums; /* for the sum behind the primitive */
    const struct backend_cpu_attributes attributes = {1, conv->sums, waits ? &none : then};
    dnnl_status_t status =
        conv->transposed
            ? dnnl_dilated_deconvolution_forward_desc_init(&desc.deconv, dnnl_forward_inference,
                                                           dnnl_deconvolution_direct, &x, &weights, bias, &y, strides,
                                                           dilates, begins, ends)
            : dnnl_dilated_convolution_forward_desc_init(&desc.conv, dnnl_forward_inference, dnnl_convolution_direct,
                                                         &x, &weights, bias, &y, strides, dilates, begins, ends);
    if (status == dnnl_success)
        status = backend_cpu_dnnl_attributes(&attributes, &attr, &conv->then_done);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&conv->desc, &desc, attr, builder->device->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    if (status != dnnl_success)
        return status;
    conv->then_done = conv->then_done && (!waits || then->kind == UNARY_NONE);
    conv->x_inner = dnnl_primitive_desc_query_md(conv->desc, dnnl_query_src_md, 0);
    conv->weights_desc = dnnl_primitive_desc_query_md(conv->desc, dnnl_query_weights_md, 0);
    conv->y_inner = dnnl_primitive_desc_query_md(conv->desc, dnnl_query_dst_md, 0);
    status = restore(builder, conv->step->inputs[0], conv->x_inner, &conv->x_desc);
    if (status == dnnl_success)
        status = restore(builder, conv->step->outputs[0], conv->y_inner, &conv->y_desc);
    if (status != dnnl_success) {
        dnnl_primitive_desc_destroy(conv->desc);
        conv->desc = NULL;
    }
    return status;
}

/* The sum can be taken within the primitive if what is added is in y's place: it has y's layout and is not read later.
 * Else it is added behind. */
static enum weir_status place_sum(struct backend_cpu_builder *builder, struct conv *conv, int y_memory) {
    int sum = input_of(conv->step, 3), y = conv->step->outputs[0], sum_memory;
    dnnl_memory_desc_t plain;
    const dnnl_memory_desc_t *now = backend_cpu_layout_of(builder, sum, &plain);
    if (y_memory != y || !dnnl_memory_desc_equal(now, &conv->y_desc))
        return WEIR_OK;
    struct conv with = *conv;
    with.sums = true;
    dnnl_status_t described = describe(builder, &with);
    if (described != dnnl_success)
        return backend_cpu_dnnl_declines(described)
                   ? WEIR_OK
                   : backend_cpu_dnnl_fail(builder->err, described, "describing a sum");
    enum weir_status status = backend_cpu_layout_read(builder, sum, &with.y_desc, &sum_memory);
    if (status == WEIR_OK && dnnl_memory_desc_equal(&with.y_desc, &conv->y_desc) &&
        dnnl_memory_desc_equal(&with.x_desc, &conv->x_desc) && !backend_cpu_dnnl_is_slow(with.desc) &&
        backend_cpu_builder_in_place(builder, sum, sum_memory, y)) {
        dnnl_primitive_desc_destroy(conv->desc);
        *conv = with;
    } else {
        dnnl_primitive_desc_destroy(with.desc);
    }
    return status;
}

static enum weir_status build(struct backend_cpu_builder *builder, struct conv *conv) {
    const struct program_step *step = conv->step;
    int y = step->outputs[0], bias = input_of(step, 2), sum = input_of(step, 3), y_memory, count = 3;
    struct backend_cpu_argument arguments[4] = {{.arg = DNNL_ARG_SRC},
                                                {.arg = DNNL_ARG_WEIGHTS, .memory = -1},
                                                {.arg = DNNL_ARG_DST},
                                                {.arg = DNNL_ARG_BIAS, .memory = -1, .desc = &conv->bias}};
    enum weir_status status = backend_cpu_layout_write(builder, y, &conv->y_desc, &y_memory);
    if (status == WEIR_OK)
        status = backend_cpu_layout_read(builder, step->inputs[0], &conv->x_desc, &arguments[0].memory);
    if (status == WEIR_OK && sum >= 0)
        status = place_sum(builder, conv, y_memory);
    if (status == WEIR_OK)
        status = backend_cpu_builder_pack(builder, step->inputs[1], &conv->plain_weights, conv->weights_desc,
                                          &arguments[1].constant);
    if (status == WEIR_OK && bias >= 0) {
        struct view view;
        status = backend_cpu_layout_operand(builder, bias, &view, &arguments[3].memory);
        if (status == WEIR_OK && view.data)
            status = backend_cpu_builder_constant(builder, bias, &conv->bias, &arguments[3].constant);
        count = 4;
    }
    if (status != WEIR_OK)
        return status;
    arguments[0].desc = conv->x_inner;
    arguments[2].desc = conv->y_inner;
    arguments[2].memory = y_memory;
    size_t elements = dnnl_memory_desc_get_size(conv->y_inner) / sizeof(float);
    status = backend_cpu_builder_primitive(builder, conv->desc, arguments, count);
    if (status == WEIR_OK && sum >= 0 && !conv->sums)
        status = backend_cpu_blocked_add(builder, y_memory, &conv->y_desc, sum);
    if (status == WEIR_OK && !conv->then_done)
        status = backend_cpu_builder_activate(builder, y_memory, elements, &step->operation.then);
    return status == WEIR_OK ? backend_cpu_layout_finish(builder, y, &conv->y_desc, y_memory) : status;
}

/* Kernels that leave zeros in the padding of a layout as they are. */
static bool suits_padding(const struct conv *conv) {
    return conv->then_done || !backend_cpu_dnnl_is_padded(&conv->y_desc) ||
           backend_cpu_blocked_keeps_zero(&conv->step->operation.then);
}

enum weir_status backend_cpu_dnnl_window_conv(struct backend_cpu_builder *builder, bool *built) {
    const struct program *source = &builder->made->source;
    struct conv conv = {.step = backend_cpu_builder_step(builder)};
    conv.transposed = conv.step->operation.kind == OPERATION_CONV_TRANSPOSE;
    conv.x = program_view(source, conv.step->inputs[0]);
    conv.w = program_view(source, conv.step->inputs[1]);
    conv.y = program_view(source, conv.step->outputs[0]);
    int sum = input_of(conv.step, 3);
    if (!backend_cpu_choose_is_weight(source, conv.step, 1) || view_count(&conv.x) == 0 || view_count(&conv.y) == 0 ||
        view_count(&conv.w) == 0 || conv.x.rank < 3 ||
        (sum >= 0 && view_count(&conv.y) != source->buffers[sum].elements))
        return WEIR_OK;
    conv.has_bias = input_of(conv.step, 2) >= 0;
    squeeze(&conv);
    dnnl_status_t described = describe(builder, &conv);
    if (described != dnnl_success)
        return backend_cpu_dnnl_declines(described)
                   ? WEIR_OK
                   : backend_cpu_dnnl_fail(builder->err, described, "describing a convolution");
    enum weir_status status = WEIR_OK;
    *built = !backend_cpu_dnnl_is_slow(conv.desc) && suits_padding(&conv);
    if (*built)
        status = build(builder, &conv);
    dnnl_primitive_desc_destroy(conv.desc);
    return status;
}

/* An average over windows (or over all of space) of a tensor in the layout `now`. */
struct average {
    dnnl_alg_kind_t kind;
    dnnl_memory_desc_t y;
    dnnl_dims_t kernel, strides, dilates, begins, ends;
};

static enum weir_status build_average(struct backend_cpu_builder *builder, const dnnl_memory_desc_t *now,
                                      const struct average *average, bool *built) {
    const struct program_step *step = backend_cpu_builder_step(builder);
    dnnl_memory_desc_t y_any = average->y;
    dnnl_pooling_v2_desc_t desc;
    dnnl_primitive_desc_t described = NULL;
    dnnl_primitive_attr_t attr = NULL;
    bool done;
    backend_cpu_dnnl_any(&y_any);
    dnnl_status_t status =
        dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, average->kind, now, &y_any, average->strides,
                                          average->kernel, average->dilates, average->begins, average->ends);
    if (status == dnnl_success)
        status = backend_cpu_dnnl_attributes(&(struct backend_cpu_attributes){.scale = 1}, &attr, &done);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&described, &desc, attr, builder->device->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    if (status != dnnl_success)
        return backend_cpu_dnnl_declines(status) ? WEIR_OK
                                                 : backend_cpu_dnnl_fail(builder->err, status, "describing a pool");
    enum weir_status result = WEIR_OK;
    *built = !backend_cpu_dnnl_is_slow(described);
    if (*built) {
        const dnnl_memory_desc_t *y_desc = dnnl_primitive_desc_query_md(described, dnnl_query_dst_md, 0);
        struct backend_cpu_argument arguments[2] = {{.arg = DNNL_ARG_SRC, .desc = now},
                                                    {.arg = DNNL_ARG_DST, .desc = y_desc}};
        result = backend_cpu_layout_read(builder, step->inputs[0], now, &arguments[0].memory);
        if (result == WEIR_OK)
            result = backend_cpu_layout_write(builder, step->outputs[0], y_desc, &arguments[1].memory);
        if (result == WEIR_OK)
            result = backend_cpu_builder_primitive(builder, described, arguments, 2);
        if (result == WEIR_OK)
            result = backend_cpu_layout_finish(builder, step->outputs[0], y_desc, arguments[1].memory);
    }
    dnnl_primitive_desc_destroy(described);
    return result;
}

enum weir_status backend_cpu_dnnl_window_pool(struct backend_cpu_builder *builder, bool *built) {
    const struct program *source = &builder->made->source;
    const struct program_step *step = backend_cpu_builder_step(builder);
    const struct pool *pool = &step->operation.pool;
    const struct window *window = &pool->window;
    struct view x = program_view(source, step->inputs[0]), y = program_view(source, step->outputs[0]);
    struct average average = {.kind = pool->count_padding ? dnnl_pooling_avg_include_padding
                                                          : dnnl_pooling_avg_exclude_padding};
    dnnl_memory_desc_t plain;
    if (pool->kind != POOL_AVERAGE || x.element != ELEMENT_F32 || view_count(&x) == 0 || view_count(&y) == 0)
        return WEIR_OK;
    to_dims(window->kernel, window->spatial, 0, average.kernel);
    to_dims(window->strides, window->spatial, 0, average.strides);
    to_dims(window->dilations, window->spatial, 1, average.dilates);
    to_dims(window->pads, window->spatial, 0, average.begins);
    for (int i = 0; i < window->spatial; i++) {
        size_t reach = (y.dims[2 + i] - 1) * window->strides[i] + (window->kernel[i] - 1) * window->dilations[i] + 1;
        dnnl_dim_t needed = (dnnl_dim_t)reach - (dnnl_dim_t)x.dims[2 + i] - (dnnl_dim_t)window->pads[i];
        dnnl_dim_t end = (dnnl_dim_t)window->pads_end[i];
        if (needed > end && pool->count_padding)
            return WEIR_OK; /* the last window reaches over the padding: what lies there does not count */
        average.ends[i] = needed > end ? needed : end;
    }
    backend_cpu_dnnl_plain(&average.y, y.rank, y.dims);
    return build_average(builder, backend_cpu_layout_of(builder, step->inputs[0], &plain), &average, built);
}

enum weir_status backend_cpu_dnnl_window_mean(struct backend_cpu_builder *builder, bool *built) {
    const struct program_step *step = backend_cpu_builder_step(builder);
    struct view x = program_view(&builder->made->source, step->inputs[0]);
    struct average average = {.kind = dnnl_pooling_avg_exclude_padding};
    dnnl_memory_desc_t plain;
    size_t dims[VIEW_MAX_RANK];
    if (step->operation.reduce.kind != REDUCE_MEAN || x.element != ELEMENT_F32 || x.rank < 3 || x.rank > 5 ||
        step->operation.reduce.axes != ((1u << x.rank) - 1) - 3 || view_count(&x) == 0)
        return WEIR_OK;
    const dnnl_memory_desc_t *now = backend_cpu_layout_of(builder, step->inputs[0], &plain);
    if (now == &plain)
        return WEIR_OK;
    for (int i = 0; i < x.rank; i++)
        dims[i] = i < 2 ? x.dims[i] : 1;
    for (int i = 2; i < x.rank; i++) {
        average.kernel[i - 2] = (dnnl_dim_t)x.dims[i];
        average.strides[i - 2] = 1;
    }
    backend_cpu_dnnl_plain(&average.y, x.rank, dims);
    return build_average(builder, now, &average, built);
}
