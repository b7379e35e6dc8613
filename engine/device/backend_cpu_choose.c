#include "engine/device/backend_cpu_choose.h"

#include <string.h>

#include "engine/device/backend_cpu_blocked.h"
#include "engine/device/backend_cpu_dnnl_matmul.h"
#include "engine/device/backend_cpu_dnnl_products.h"
#include "engine/device/backend_cpu_dnnl_window.h"
#include "engine/device/backend_cpu_layout.h"

bool backend_cpu_choose_is_weight(const struct program *program, const struct program_step *step, int input) {
    if (input != 1)
        return false;
    int root = program_root(program, step->inputs[1]);
    const struct program_buffer *buffer = &program->buffers[step->inputs[1]];
    if (program->buffers[root].place != PROGRAM_CONSTANT || buffer->dtype != TENSOR_F32)
        return false;
    switch (step->operation.kind) {
    case OPERATION_MATMUL:
        return buffer->shape.rank == 2;
    case OPERATION_CONV:
    case OPERATION_CONV_TRANSPOSE:
        return true;
    default:
        return false;
    }
}

/* The step that makes the buffer, if it is one of this kind; NULL otherwise. */
static int find_maker(const struct program *program, int buffer, enum operation_kind kind) {
    for (size_t i = 0; i < program->step_count; i++)
        for (int j = 0; j < program->steps[i].output_count; j++)
            if (program->steps[i].outputs[j] == buffer)
                return program->steps[i].operation.kind == kind ? (int)i : -1;
    return -1;
}

/* Do only products read the buffer, each able to do the transposition itself? */
static bool can_leave_to_readers(const struct backend_cpu_builder *builder, const struct program_step *transpose) {
    const struct program *source = &builder->made->source;
    int moved = transpose->outputs[0];
    bool read = false;
    for (size_t i = 0; i < source->step_count; i++) {
        const struct program_step *step = &source->steps[i];
        for (int j = 0; j < step->input_count; j++) {
            if (step->inputs[j] < 0 || program_root(source, step->inputs[j]) != moved)
                continue;
            if (step->inputs[j] != moved || step->operation.kind != OPERATION_MATMUL || j > 1 ||
                step->inputs[0] == step->inputs[1] || backend_cpu_choose_is_weight(source, step, 1) ||
                source->buffers[step->outputs[0]].elements == 0 ||
                !backend_cpu_dnnl_products_can_move(source, step, j, transpose))
                return false;
            read = true;
        }
    }
    return read;
}

/* Does the transposition alone read the buffer, which a product makes? Returns its step, -1: no. */
static int find_product_behind(const struct backend_cpu_builder *builder, size_t transpose) {
    const struct program *source = &builder->made->source;
    const struct program_step *step = &source->steps[transpose];
    int buffer = step->inputs[0], maker = find_maker(source, buffer, OPERATION_MATMUL);
    if (maker < 0 || builder->moved_by[buffer] >= 0 || source->buffers[buffer].place != PROGRAM_ARENA ||
        backend_cpu_choose_is_weight(source, &source->steps[maker], 1) || source->buffers[buffer].elements == 0 ||
        !backend_cpu_dnnl_products_can_move(source, &source->steps[maker], -1, step))
        return -1;
    for (size_t i = 0; i < source->step_count; i++)
        for (int j = 0; j < source->steps[i].input_count && i != transpose; j++)
            if (source->steps[i].inputs[j] >= 0 && program_root(source, source->steps[i].inputs[j]) == buffer)
                return -1;
    return maker;
}

void backend_cpu_choose_moves(struct backend_cpu_builder *builder) {
    const struct program *source = &builder->made->source;
    for (size_t i = 0; i < source->step_count; i++) {
        const struct program_step *step = &source->steps[i];
        if (step->operation.kind != OPERATION_TRANSPOSE || step->inputs[0] < 0 ||
            source->buffers[step->inputs[0]].dtype != TENSOR_F32)
            continue;
        int x_root = program_root(source, step->inputs[0]);
        if (source->buffers[step->outputs[0]].place == PROGRAM_ARENA &&
            source->buffers[x_root].place != PROGRAM_CONSTANT && can_leave_to_readers(builder, step)) {
            builder->moved_by[step->outputs[0]] = (int)i;
            builder->skipped[i] = true;
        } else if (find_product_behind(builder, i) >= 0) {
            builder->moved_by[step->inputs[0]] = (int)i;
            builder->skipped[i] = true;
        }
    }
}

/* May y be written over x? */
static bool can_overwrite(const struct program *program, const struct program_step *step) {
    if (step->operation.kind != OPERATION_UNARY && step->operation.kind != OPERATION_BINARY &&
        step->operation.kind != OPERATION_COPY)
        return false;
    struct view x = program_view(program, step->inputs[0]), y = program_view(program, step->outputs[0]);
    if (x.element != y.element)
        return false;
    return step->operation.kind == OPERATION_BINARY
               ? x.rank == y.rank && memcmp(x.dims, y.dims, (size_t)x.rank * sizeof *x.dims) == 0
               : view_count(&x) == view_count(&y);
}

static enum weir_status build_plain(struct backend_cpu_builder *builder) {
    const struct program *source = &builder->made->source;
    const struct program_step *step = backend_cpu_builder_step(builder);
    size_t inputs = (size_t)step->input_count, outputs = (size_t)step->output_count;
    struct view *views =
        region_take(&builder->made->source.region, inputs + outputs + 2 * BACKEND_CPU_SPARE_VIEWS, sizeof *views);
    int *memories = region_take(&builder->made->source.region, inputs + outputs + 1, sizeof *memories);
    enum weir_status status = WEIR_OK;
    if (!views || !memories)
        return backend_cpu_builder_no_memory(builder);
    struct view *output_views = views + inputs + BACKEND_CPU_SPARE_VIEWS;
    for (size_t i = 0; i < inputs && status == WEIR_OK; i++)
        status = backend_cpu_layout_operand(builder, step->inputs[i], &views[i], &memories[i]);
    for (size_t i = 0; i < outputs && status == WEIR_OK; i++) {
        output_views[i] = program_view(source, step->outputs[i]);
        memories[inputs + i] = -1;
        if (step->outputs[i] >= 0)
            status = backend_cpu_layout_write(builder, step->outputs[i], NULL, &memories[inputs + i]);
    }
    if (status != WEIR_OK)
        return status;
    if (can_overwrite(source, step) &&
        backend_cpu_builder_in_place(builder, step->inputs[0], memories[0], step->outputs[0]) &&
        step->operation.kind == OPERATION_COPY)
        return WEIR_OK;
    struct backend_cpu_kernel kernel = {
        NULL, &step->operation, views, output_views, memories, memories + inputs, step->input_count, step->output_count,
        0};
    backend_cpu_builder_find_kernel(&kernel);
    return backend_cpu_builder_call(builder, &kernel);
}

enum weir_status backend_cpu_choose_step(struct backend_cpu_builder *builder) {
    bool built = false;
    enum weir_status status = WEIR_OK;
    switch (backend_cpu_builder_step(builder)->operation.kind) {
    case OPERATION_MATMUL:
        status = backend_cpu_dnnl_matmul_build(builder, &built);
        break;
    case OPERATION_CONV:
    case OPERATION_CONV_TRANSPOSE:
        status = backend_cpu_dnnl_window_conv(builder, &built);
        break;
    case OPERATION_POOL:
        status = backend_cpu_dnnl_window_pool(builder, &built);
        break;
    case OPERATION_REDUCE:
        status = backend_cpu_dnnl_window_mean(builder, &built);
        break;
    default:
        break;
    }
    if (status == WEIR_OK && !built)
        status = backend_cpu_blocked_build(builder, &built);
    return status == WEIR_OK && !built ? build_plain(builder) : status;
}
