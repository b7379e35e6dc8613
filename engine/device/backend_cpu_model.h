/* A plan on the CPU: the programs made ready so far, by sizes, and the memory that they share. */
#ifndef WEIR_ENGINE_DEVICE_BACKEND_CPU_MODEL_H
#define WEIR_ENGINE_DEVICE_BACKEND_CPU_MODEL_H

#include <stdbool.h>

#include "engine/device/backend.h"
#include "engine/device/backend_cpu_constants.h"
#include "engine/device/backend_cpu_program.h"

/* A program made ready. */
struct backend_cpu_entry {
    struct tensor_dims dims;
    struct backend_cpu_program *program;
    uint64_t used;       /* when it ran last, in runs */
    uint64_t generation; /* of the addresses it is bound to */
};

/* One input's or output's memory. */
struct backend_cpu_staging {
    void **data; /* by input or output */
    size_t *bytes;
    int count;
};

struct backend_model {
    struct backend_cpu_device device;
    struct backend_cpu_constants constants;
    struct plan *plan;
    struct backend_options options;
    uint32_t max_rows;
    uint32_t fixed_rows; /* STRICT: every batch has so many; 0: as they come */
    struct backend_cpu_entry *entries;
    size_t entry_count, entry_capacity, step_count; /* steps of all entries */
    uint64_t runs, generation;
    unsigned char *arena;
    size_t arena_bytes;
    uint32_t small_runs; /* in a row that needed far less memory than there is */
    struct backend_cpu_staging inputs, outputs;
    struct tensor_shape *output_shapes;
    struct backend_cpu_entry *current; /* what begin chose; NULL: nothing */
    uint32_t rows;                     /* of the batch that began */
    enum weir_status result;           /* of the last submit */
    struct weir_error error;
};

/* Begins a batch: finds or makes its program, and sees that memory suffices. Errors: INVALID, UNSUPPORTED, TOO_LARGE,
 * NO_MEMORY, DEVICE. */
enum weir_status backend_cpu_model_begin(struct backend_model *model, const struct tensor_dims *dims,
                                         struct weir_error *err) WEIR_CHECKED;

/* Runs what began. Errors: DEVICE. */
enum weir_status backend_cpu_model_run(struct backend_model *model, struct weir_error *err) WEIR_CHECKED;

/* Finds out whether a row has the same bits in every place of batches of every size; if not, every batch will have the
 * same number of rows, one for which it is so. Errors: those of begin; UNSUPPORTED: there is none. */
enum weir_status backend_cpu_model_prove_strict(struct backend_model *model, struct weir_error *err) WEIR_CHECKED;

/* Takes the lists; all else comes with the first batch. Returns false when out of memory. */
bool backend_cpu_model_init(struct backend_model *model);
void backend_cpu_model_release(struct backend_model *model);

#endif
