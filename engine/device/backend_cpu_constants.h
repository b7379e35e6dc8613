/* The constants of one model as the CPU uses them: weights in the layouts that oneDNN wants, packed once and shared by
 * the programs of all sizes, and plain ones. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_CONSTANTS_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_CONSTANTS_H

#include "engine/device/backend_cpu_dnnl.h"
#include "engine/graph/graph.h"

struct plan;

/* One constant in one layout. */
struct backend_cpu_constant {
    const struct graph_constant *constant;
    const void *owner;         /* the program that the constant belongs to; NULL: the plan */
    dnnl_memory_desc_t source; /* what its plain bytes are */
    dnnl_memory_desc_t desc;
    dnnl_memory_t memory;
};

/* All zero is empty. device outlives it. */
struct backend_cpu_constants {
    const struct backend_cpu_device *device;
    struct plan *plan; /* to which unused bytes are given back; NULL: nobody */
    struct backend_cpu_constant *items;
    size_t count, capacity;
};

struct backend_cpu_packing {
    const struct graph_constant *constant;
    const void *owner;
    const dnnl_memory_desc_t *source; /* its plain bytes, perhaps with exchanged dimensions */
    const dnnl_memory_desc_t *wanted;
    bool drop; /* nothing else needs the plain bytes: give them back once packed */
};

/* The constant in the layout that is wanted: made from its bytes, or from another packing where they are gone. Errors:
 * DEVICE, NO_MEMORY. Owner of *out: constants. */
enum weir_status backend_cpu_constants_pack(struct backend_cpu_constants *constants,
                                            const struct backend_cpu_packing *packing, dnnl_memory_t *out,
                                            struct weir_error *err) WEIR_CHECKED;

/* The constant's plain bytes, aligned for its type, if need be made from a packing. Errors: DEVICE, NO_MEMORY. */
enum weir_status backend_cpu_constants_plain(struct backend_cpu_constants *constants,
                                             const struct graph_constant *constant, const void *owner, const void **out,
                                             struct weir_error *err) WEIR_CHECKED;

/* Lets go of what was made for constants of that program. */
void backend_cpu_constants_forget(struct backend_cpu_constants *constants, const void *owner);

void backend_cpu_constants_release(struct backend_cpu_constants *constants);

#endif
