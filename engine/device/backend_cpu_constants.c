#include "engine/device/backend_cpu_constants.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/plan.h"

static struct backend_cpu_constant *add(struct backend_cpu_constants *constants) {
    if (constants->count == constants->capacity) {
        size_t wanted = constants->capacity ? constants->capacity * 2 : 16;
        struct backend_cpu_constant *grown = reallocarray(constants->items, wanted, sizeof *grown);
        if (!grown)
            return NULL;
        constants->items = grown;
        constants->capacity = wanted;
    }
    struct backend_cpu_constant *item = &constants->items[constants->count];
    memset(item, 0, sizeof *item);
    return item;
}

/* The packing in that layout; desc NULL: any one. */
static const struct backend_cpu_constant *find(const struct backend_cpu_constants *constants,
                                               const struct graph_constant *constant, const dnnl_memory_desc_t *source,
                                               const dnnl_memory_desc_t *desc) {
    for (size_t i = 0; i < constants->count; i++) {
        const struct backend_cpu_constant *item = &constants->items[i];
        if (item->constant == constant && item->memory && (!source || dnnl_memory_desc_equal(&item->source, source)) &&
            (!desc || dnnl_memory_desc_equal(&item->desc, desc)))
            return item;
    }
    return NULL;
}

/* Somebody reads the plan's own bytes: they must stay. Remembered as an item without memory. */
static const struct backend_cpu_constant *find_reader(const struct backend_cpu_constants *constants,
                                                      const struct graph_constant *constant) {
    for (size_t i = 0; i < constants->count; i++)
        if (constants->items[i].constant == constant && !constants->items[i].memory)
            return &constants->items[i];
    return NULL;
}

/* Plain bytes from a packing, where the plan let go of the bytes. */
static dnnl_status_t unpack(const struct backend_cpu_constants *constants, const struct graph_constant *constant,
                            dnnl_memory_t *out) {
    const struct backend_cpu_constant *item = find(constants, constant, NULL, NULL);
    if (!item)
        return dnnl_runtime_error;
    dnnl_status_t status = dnnl_memory_create(out, &item->source, constants->device->engine, DNNL_MEMORY_ALLOCATE);
    return status == dnnl_success ? backend_cpu_dnnl_reorder(constants->device, item->memory, *out) : status;
}

static dnnl_status_t convert(const struct backend_cpu_constants *constants, const struct backend_cpu_packing *packing,
                             dnnl_memory_t to) {
    dnnl_memory_t source = NULL;
    const struct backend_cpu_constant *same = find(constants, packing->constant, packing->source, NULL);
    if (same)
        return backend_cpu_dnnl_reorder(constants->device, same->memory, to);
    void *bytes = (void *)(uintptr_t)packing->constant->bytes; /* only read */
    dnnl_status_t status;
    if (!bytes) { /* known only under another shape of the same bytes */
        status = unpack(constants, packing->constant, &source);
        if (status == dnnl_success)
            status = dnnl_memory_get_data_handle(source, &bytes);
        if (status != dnnl_success)
            goto out;
    }
    dnnl_memory_t plain = NULL;
    status = dnnl_memory_create(&plain, packing->source, constants->device->engine, bytes);
    if (status == dnnl_success)
        status = backend_cpu_dnnl_reorder(constants->device, plain, to);
    dnnl_memory_destroy(plain);
out:
    dnnl_memory_destroy(source);
    return status;
}

enum weir_status backend_cpu_constants_pack(struct backend_cpu_constants *constants,
                                            const struct backend_cpu_packing *packing, dnnl_memory_t *out,
                                            struct weir_error *err) {
    const struct backend_cpu_constant *known = find(constants, packing->constant, packing->source, packing->wanted);
    if (known) {
        *out = known->memory;
        return WEIR_OK;
    }
    struct backend_cpu_constant *item = add(constants);
    if (!item)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for packed weights");
    dnnl_memory_t memory = NULL;
    dnnl_status_t status =
        dnnl_memory_create(&memory, packing->wanted, constants->device->engine, DNNL_MEMORY_ALLOCATE);
    if (status == dnnl_success)
        status = convert(constants, packing, memory);
    if (status != dnnl_success) {
        dnnl_memory_destroy(memory);
        return backend_cpu_dnnl_fail(err, status, "packing weights");
    }
    *item =
        (struct backend_cpu_constant){packing->constant, packing->owner, *packing->source, *packing->wanted, memory};
    constants->count++;
    *out = memory;
    /* Half the precision cannot be turned back: then the plan keeps its bytes. */
    if (packing->drop && !packing->owner && constants->plan && packing->constant->bytes &&
        packing->wanted->data_type == packing->source->data_type && !find_reader(constants, packing->constant))
        plan_drop_constant(constants->plan, packing->constant);
    return WEIR_OK;
}

enum weir_status backend_cpu_constants_plain(struct backend_cpu_constants *constants,
                                             const struct graph_constant *constant, const void *owner, const void **out,
                                             struct weir_error *err) {
    dnnl_memory_t memory = NULL;
    dnnl_status_t status = dnnl_success;
    size_t bytes_each = tensor_dtype_bytes(constant->dtype), bytes = constant->elements * bytes_each;
    struct backend_cpu_constant *item = add(constants);
    if (item && constant->bytes && (uintptr_t)constant->bytes % bytes_each == 0) {
        if (!owner && !find_reader(constants, constant)) {
            *item = (struct backend_cpu_constant){.constant = constant};
            constants->count++;
        }
        *out = constant->bytes;
        return WEIR_OK;
    }
    dnnl_memory_desc_t flat;
    const dnnl_dims_t dims = {(dnnl_dim_t)(bytes ? bytes : 1)};
    if (!item || dnnl_memory_desc_init_by_tag(&flat, 1, dims, dnnl_u8, dnnl_a) != dnnl_success)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a constant");
    const struct backend_cpu_constant *copied = find(constants, constant, &flat, &flat);
    void *data = NULL;
    if (copied) {
        status = dnnl_memory_get_data_handle(copied->memory, &data);
    } else {
        if (constant->bytes)
            status = dnnl_memory_create(&memory, &flat, constants->device->engine, DNNL_MEMORY_ALLOCATE);
        else
            status = unpack(constants, constant, &memory);
        if (status == dnnl_success)
            status = dnnl_memory_get_data_handle(memory, &data);
        if (status == dnnl_success && constant->bytes)
            memcpy(data, constant->bytes, bytes);
    }
    if (status != dnnl_success) {
        dnnl_memory_destroy(memory);
        return backend_cpu_dnnl_fail(err, status, "copying a constant");
    }
    if (!copied) {
        *item = (struct backend_cpu_constant){constant, owner, flat, flat, memory};
        constants->count++;
    }
    *out = data;
    return WEIR_OK;
}

void backend_cpu_constants_forget(struct backend_cpu_constants *constants, const void *owner) {
    size_t kept = 0;
    for (size_t i = 0; i < constants->count; i++) {
        if (constants->items[i].owner == owner)
            dnnl_memory_destroy(constants->items[i].memory);
        else
            constants->items[kept++] = constants->items[i];
    }
    constants->count = kept;
}

void backend_cpu_constants_release(struct backend_cpu_constants *constants) {
    for (size_t i = 0; i < constants->count; i++)
        dnnl_memory_destroy(constants->items[i].memory);
    free(constants->items);
    memset(constants, 0, sizeof *constants);
}
