/* One loaded version of a model: its signature, and its replica on each device. Held by reference count. */
#ifndef WEIR_ENGINE_MODEL_MODEL_H
#define WEIR_ENGINE_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/status.h"
#include "engine/tensor.h"

struct backend;
struct backend_model;
struct cost_table;
struct version;

struct version_options {
    const char *model_name;
    uint64_t number;
    const char *path;         /* the model.onnx file */
    struct backend **devices; /* device_count of them */
    int device_count;
    uint32_t batch_rows;     /* most rows of a batch */
    bool refuse_other_batch; /* a file with another fixed batch is UNSUPPORTED */
    /* Told when nobody holds the version any more: whoever is told owns it then, and ends it by version_destroy where
     * the time that takes hurts nobody. NULL: it is destroyed at once. thread: that of the last version_unref. */
    void (*retired)(void *context, struct version *version);
    void *context;
};

/* Reads, plans, loads onto every device and warms up. A file with a fixed batch, or a model whose rows do not stay
 * apart, is loaded for smaller batches (version_batch_rows tells, version_batching why). Errors: those of plan_load and
 * of the backend, with the version's path in front. thread: loader. Owner: the caller holds the first reference. */
enum weir_status version_load(const struct version_options *options, struct version **out,
                              struct weir_error *err) WEIR_CHECKED;

/* thread: any. After the last unref the version is retired. */
struct version *version_ref(struct version *version);
void version_unref(struct version *version);

/* Frees the version and its replicas. */
void version_destroy(struct version *version);

/* Links retired versions for whoever was told; NULL at first. */
struct version **version_next(struct version *version);

/* A number that no other version loaded by this process has. */
uint64_t version_serial(const struct version *version);

/* A number for the surroundings to know it by; 0 at first. Set before it serves. */
void version_set_tag(struct version *version, int tag);
int version_tag(const struct version *version);

const char *version_model_name(const struct version *version);
uint64_t version_number(const struct version *version);
const struct signature *version_signature(const struct version *version);
uint32_t version_batch_rows(const struct version *version);
/* The batch size the file was exported with; 0 if it is free. */
uint32_t version_fixed_batch(const struct version *version);
/* Why rows of this version run one at a time, in words; "" if they need not. */
const char *version_batching(const struct version *version);
/* plan_notice. */
const char *version_notice(const struct version *version);
/* What a device told of this version when it had loaded it (struct backend_report), in words; "" if nothing. */
const char *version_report(const struct version *version, int device);
/* How long loading took. */
int64_t version_load_ns(const struct version *version);

/* What batches of this version take on a device. Seeded by the warm-up; afterwards the batcher's, under its lock. */
struct cost_table *version_costs(struct version *version, int device);

/* For executors: the plan on their device. */
struct backend_model *version_replica(const struct version *version, int device);

#endif
