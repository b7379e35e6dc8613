#include "engine/device/cuda/cuda_constants.h"

#include <stdlib.h>
#include <string.h>

#include "engine/device/cuda/cuda_memory_plan.h"
#include "engine/device/cuda/cuda_wait.h"
#include "kernels/half.h"

const struct cuda_constant *cuda_constants_find(const struct cuda_constants *constants,
                                                const struct graph_constant *constant, enum cuda_form form) {
    for (size_t i = 0; i < constants->count; i++)
        if (constants->items[i].constant == constant && constants->items[i].form == form)
            return &constants->items[i];
    return NULL;
}

bool cuda_constants_want(struct cuda_constants *constants, const struct graph_constant *constant, enum cuda_form form) {
    if (cuda_constants_find(constants, constant, form))
        return true;
    if (constants->count == constants->capacity) {
        size_t wanted = constants->capacity ? constants->capacity * 2 : 16;
        struct cuda_constant *grown = reallocarray(constants->items, wanted, sizeof *grown);
        if (!grown)
            return false;
        constants->items = grown;
        constants->capacity = wanted;
    }
    size_t bytes_each = form == CUDA_FORM_PLAIN ? tensor_dtype_bytes(constant->dtype) : sizeof(uint16_t), bytes, end;
    if (__builtin_mul_overflow(constant->elements, bytes_each, &bytes) ||
        __builtin_add_overflow(constants->bytes, cuda_memory_plan_align(bytes ? bytes : 1), &end))
        return false;
    constants->items[constants->count++] =
        (struct cuda_constant){.constant = constant, .form = form, .bytes = bytes, .offset = constants->bytes};
    constants->bytes = end;
    return true;
}

/* Writes elements [first, first + count) in the item's form. The source may have any alignment. */
static void convert(const struct cuda_constant *item, size_t first, size_t count, unsigned char *to) {
    const unsigned char *from = item->constant->bytes;
    if (item->form == CUDA_FORM_PLAIN) {
        size_t bytes_each = tensor_dtype_bytes(item->constant->dtype);
        memcpy(to, from + first * bytes_each, count * bytes_each);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float number;
        memcpy(&number, from + (first + i) * sizeof number, sizeof number);
        uint16_t half = item->form == CUDA_FORM_F16 ? half_from_float(number) : half_bfloat16_from_float(number);
        memcpy(to + i * sizeof half, &half, sizeof half);
    }
}

static enum weir_status upload(const struct cuda_constant *item, unsigned char *to, const struct cuda_bounce *bounce,
                               struct weir_error *err) {
    size_t elements = item->constant->elements, bytes_each = elements ? item->bytes / elements : 1;
    size_t most = bounce->bytes / bytes_each;
    if (elements > 0 && !item->constant->bytes)
        return weir_fail(err, WEIR_UNSUPPORTED, "these sizes need a constant in a form that was not kept");
    for (size_t first = 0; first < elements; first += most) {
        size_t count = elements - first < most ? elements - first : most;
        convert(item, first, count, bounce->memory);
        cudaError_t code = cudaMemcpyAsync(to + first * bytes_each, bounce->memory, count * bytes_each,
                                           cudaMemcpyHostToDevice, bounce->stream);
        enum weir_status status = cuda_errors_check(bounce->errors, code, "sending up weights", err);
        if (status == WEIR_OK)
            status = cuda_wait(bounce->errors, bounce->stream, "sending up weights", err);
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

enum weir_status cuda_constants_upload(struct cuda_constants *constants, unsigned char *memory,
                                       const struct cuda_bounce *bounce, struct weir_error *err) {
    constants->memory = memory;
    for (size_t i = 0; i < constants->count; i++) {
        struct cuda_constant *item = &constants->items[i];
        enum weir_status status = item->uploaded ? WEIR_OK : upload(item, memory + item->offset, bounce, err);
        if (status != WEIR_OK)
            return status;
        item->uploaded = true;
    }
    return WEIR_OK;
}

void cuda_constants_release(struct cuda_constants *constants) {
    free(constants->items);
    *constants = (struct cuda_constants){0};
}
