#include "engine/device/backend_cpu_dnnl_matmul.h"

#include "engine/device/backend_cpu_choose.h"
#include "engine/device/backend_cpu_dnnl_products.h"
#include "engine/device/backend_cpu_layout.h"
#include "kernels/cpu/cpu_dense.h"

/* A product with packed weights: y [rows, cols] = x [rows, inner] * w [inner, cols]. */
struct dense {
    size_t rows, inner, cols;
    struct matmul how;
    bool has_bias, then_done, bf16;
    dnnl_memory_desc_t x, weights, bias, y;
    dnnl_memory_desc_t plain_weights;
    dnnl_primitive_desc_t desc;
};

static void matrix(dnnl_memory_desc_t *desc, size_t rows, size_t cols, bool transposed) {
    const size_t dims[] = {rows, cols};
    backend_cpu_dnnl_plain(desc, 2, dims);
    if (transposed) {
        desc->format_desc.blocking.strides[0] = 1;
        desc->format_desc.blocking.strides[1] = (dnnl_dim_t)rows;
    }
}

/* One value for each column: what oneDNN takes as a bias. */
static bool is_bias(const struct dense *dense, const struct view *c) {
    return dense->how.alpha == 1 && dense->how.beta == 1 && view_count(c) == dense->cols &&
           (dense->cols == 1 || (c->rank > 0 && c->dims[c->rank - 1] == dense->cols));
}

static dnnl_status_t describe(struct backend_cpu_builder *builder, struct dense *dense) {
    const struct program_step *step = backend_cpu_builder_step(builder);
    dnnl_data_type_t type = dense->bf16 ? dnnl_bf16 : dnnl_f32;
    dnnl_matmul_desc_t desc;
    dnnl_primitive_attr_t attr = NULL;
    bool has_c = step->input_count > 2 && step->inputs[2] >= 0;
    matrix(&dense->x, dense->rows, dense->inner, dense->how.transpose_a);
    dense->x.data_type = type;
    matrix(&dense->plain_weights, dense->inner, dense->cols, dense->how.transpose_b);
    dense->weights = dense->plain_weights;
    dense->weights.data_type = type;
    backend_cpu_dnnl_any(&dense->weights);
    matrix(&dense->bias, 1, dense->cols, false);
    matrix(&dense->y, dense->rows, dense->cols, false);
    const struct backend_cpu_attributes attributes = {.scale = dense->how.alpha,
                                                      .then = has_c && !dense->has_bias ? NULL : &step->operation.then};
    dnnl_status_t status =
        dnnl_matmul_desc_init(&desc, &dense->x, &dense->weights, dense->has_bias ? &dense->bias : NULL, &dense->y);
    if (status == dnnl_success)
        status = backend_cpu_dnnl_attributes(&attributes, &attr, &dense->then_done);
    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(&dense->desc, &desc, attr, builder->device->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    if (!attributes.then)
        dense->then_done = step->operation.then.kind == UNARY_NONE;
    return status;
}

static enum weir_status build_dense(struct backend_cpu_builder *builder, struct dense *dense) {
    const struct program_step *step = backend_cpu_builder_step(builder);
    int y = step->outputs[0], y_memory, count = 3;
    struct backend_cpu_argument arguments[4] = {{.arg = DNNL_ARG_SRC, .desc = &dense->x},
                                                {.arg = DNNL_ARG_WEIGHTS, .memory = -1},
                                                {.arg = DNNL_ARG_DST, .desc = &dense->y},
                                                {.arg = DNNL_ARG_BIAS, .memory = -1, .desc = &dense->bias}};
    const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md(dense->desc, dnnl_query_weights_md, 0);
    enum weir_status status =
        backend_cpu_layout_read(builder, step->inputs[0], dense->bf16 ? &dense->x : NULL, &arguments[0].memory);
    if (status == WEIR_OK)
        status =
            backend_cpu_builder_pack(builder, step->inputs[1], &dense->plain_weights, wanted, &arguments[1].constant);
    if (status == WEIR_OK && dense->has_bias) {
        struct view view;
        status = backend_cpu_layout_operand(builder, step->inputs[2], &view, &arguments[3].memory);
        if (status == WEIR_OK && view.data)
            status = backend_cpu_builder_constant(builder, step->inputs[2], &dense->bias, &arguments[3].constant);
        count = 4;
    }
    if (status == WEIR_OK)
        status = backend_cpu_layout_write(builder, y, NULL, &y_memory);
    if (status != WEIR_OK)
        return status;
    arguments[2].memory = y_memory;
    status = backend_cpu_builder_primitive(builder, dense->desc, arguments, count);
    if (status == WEIR_OK && step->input_count > 2 && step->inputs[2] >= 0 && !dense->has_bias)
        status = backend_cpu_dnnl_products_add(builder, y, step->inputs[2], dense->how.beta);
    if (status == WEIR_OK && !dense->then_done)
        status = backend_cpu_builder_activate(builder, y_memory, dense->rows * dense->cols, &step->operation.then);
    return status;
}

/* From so many rows on oneDNN is as fast, and it has the curved functions built in. */
enum { MANY_ROWS = 128 };

/* Is it for our own kernel? Where the same bits are wanted for every number of rows, always if it can. Measured, in
 * time of oneDNN's: 0.66 at 8 rows of 1024-4096-4096-1000, 0.71 at 16, 0.79 at 32, 0.90 at 64; from 128 rows on 1.04,
 * or 0.92 to 1 where a ReLU follows. */
static bool suits_own(const struct backend_cpu_builder *builder, const struct dense *dense) {
    const struct program_step *step = backend_cpu_builder_step(builder);
    const struct unary *then = &step->operation.then;
    bool has_c = step->input_count > 2 && step->inputs[2] >= 0;
    if (!backend_cpu_dnnl_has_avx512() || !cpu_dense_is_available() || dense->bf16 || dense->how.transpose_a ||
        dense->how.alpha != 1 || (has_c && !dense->has_bias))
        return false;
    return builder->strict || dense->rows < MANY_ROWS ||
           (then->kind != UNARY_NONE && !backend_cpu_dnnl_has_unary(then));
}

static enum weir_status build_own(struct backend_cpu_builder *builder, const struct dense *dense) {
    static const dnnl_format_tag_t tags[] = {dnnl_BA16a16b, dnnl_BA16a32b, dnnl_BA16a48b, dnnl_BA16a64b};
    const struct program_step *step = backend_cpu_builder_step(builder);
    struct view views[4] = {[3] = {.element = ELEMENT_F32, .rank = 2, .dims = {dense->rows, dense->cols}}};
    int memories[4] = {-1, -1, -1, -1};
    dnnl_memory_desc_t plain, packed;
    dnnl_memory_t weights = NULL;
    matrix(&plain, dense->inner, dense->cols, dense->how.transpose_b);
    dnnl_status_t done = dnnl_memory_desc_init_by_tag(&packed, 2, plain.dims, dnnl_f32,
                                                      tags[cpu_dense_panel(dense->cols) / CPU_DENSE_ROUND - 1]);
    if (done != dnnl_success)
        return backend_cpu_dnnl_fail(builder->err, done, "describing weights");
    enum weir_status status = backend_cpu_layout_operand(builder, step->inputs[0], &views[0], &memories[0]);
    if (status == WEIR_OK)
        status = backend_cpu_builder_pack(builder, step->inputs[1], &plain, &packed, &weights);
    if (status == WEIR_OK && dense->has_bias)
        status = backend_cpu_layout_operand(builder, step->inputs[2], &views[2], &memories[2]);
    if (status == WEIR_OK)
        status = backend_cpu_layout_write(builder, step->outputs[0], NULL, &memories[3]);
    if (status != WEIR_OK)
        return status;
    views[0] = (struct view){views[0].data, ELEMENT_F32, 2, {dense->rows, dense->inner}};
    views[1] = (struct view){NULL, ELEMENT_F32, 2, {dense->inner, dense->cols}};
    done = dnnl_memory_get_data_handle(weights, &views[1].data);
    if (done != dnnl_success)
        return backend_cpu_dnnl_fail(builder->err, done, "reading an address");
    const struct backend_cpu_kernel kernel = {
        cpu_dense_run, &step->operation, views, views + 3, memories, memories + 3, 3, 1, 0};
    return backend_cpu_builder_call(builder, &kernel);
}

enum weir_status backend_cpu_dnnl_matmul_build(struct backend_cpu_builder *builder, bool *built) {
    const struct program *source = &builder->made->source;
    const struct program_step *step = backend_cpu_builder_step(builder);
    struct view a = program_view(source, step->inputs[0]), b = program_view(source, step->inputs[1]),
                y = program_view(source, step->outputs[0]);
    if (a.element != ELEMENT_F32 || b.element != ELEMENT_F32 || view_count(&y) == 0 || view_count(&a) == 0 ||
        a.rank == 0 || b.rank == 0)
        return WEIR_OK;
    struct dense dense = {.how = step->operation.matmul};
    if (!backend_cpu_choose_is_weight(source, step, 1) ||
        (dense.how.transpose_a && a.rank > 2 && view_product(&a, 0, a.rank - 2) > 1))
        return backend_cpu_dnnl_products_build(builder, built);
    if (a.rank == 1)
        dense.how.transpose_a = false;
    dense.bf16 = builder->bf16 && !dense.how.transpose_a;
    dense.inner = b.dims[b.rank - (dense.how.transpose_b ? 1 : 2)];
    dense.cols = b.dims[b.rank - (dense.how.transpose_b ? 2 : 1)];
    dense.rows = view_count(&a) / dense.inner;
    if (step->input_count > 2 && step->inputs[2] >= 0) {
        struct view c = program_view(source, step->inputs[2]);
        dense.has_bias = is_bias(&dense, &c);
    }
    if (suits_own(builder, &dense)) {
        *built = true;
        return build_own(builder, &dense);
    }
    dnnl_status_t status = describe(builder, &dense);
    if (status != dnnl_success)
        return backend_cpu_dnnl_declines(status) ? WEIR_OK
                                                 : backend_cpu_dnnl_fail(builder->err, status, "describing a product");
    *built = !backend_cpu_dnnl_is_slow(dense.desc);
    enum weir_status result = *built ? build_dense(builder, &dense) : WEIR_OK;
    dnnl_primitive_desc_destroy(dense.desc);
    return result;
}
