/* The known samples of versions that are loaded, for those who want to try a model. */
#ifndef WEIR_ENGINE_CATALOG_SAMPLE_H
#define WEIR_ENGINE_CATALOG_SAMPLE_H

#include "engine/catalog.h"
#include "engine/job.h"

/* One sample: a row of each input, and what the offline evaluation gave for it. */
struct catalog_sample {
    struct version *version;     /* with a reference; its signature is that of the tensors */
    uint32_t number, count;      /* which one, from 0, of how many */
    struct job_tensor *inputs;   /* in the signature's order */
    struct job_tensor *expected; /* outputs, likewise */
};

enum { CATALOG_SAMPLE_BYTES = 1 << 20 };

struct catalog_sample_ask {
    int model;
    uint64_t version;
    uint32_t number;
};

/* Copies sample `number`, modulo how many there are, of a version (0: the one that serves). Errors: NOT_FOUND (it is
 * not loaded, or has no samples), TOO_LARGE (more than CATALOG_SAMPLE_BYTES), NO_MEMORY. thread: any. Owner of *out:
 * the caller, catalog_sample_release. */
enum weir_status catalog_sample(struct catalog *catalog, const struct catalog_sample_ask *ask,
                                struct catalog_sample *out, struct weir_error *err) WEIR_CHECKED;
void catalog_sample_release(struct catalog_sample *sample);

#endif
