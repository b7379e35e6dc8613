/* The known samples of a version run through it, on the device and in the batches that would serve, without serving it:
 * what `weir verify` tells. */
#ifndef WEIR_ENGINE_VERIFY_H
#define WEIR_ENGINE_VERIFY_H

#include <stdint.h>

#include "engine/engine.h"

/* What the batches of one size gave for one output. */
struct verify_line {
    const char *output;  /* the report's own */
    uint32_t rows, runs; /* of a batch; how many */
    uint64_t off;        /* elements that are off by more than they may be */
    double error;        /* of the element that is farthest beyond what it may be off by, or nearest to it */
    double allowed;      /* what that one may be off by */
};

struct verify_report {
    char model[65];
    uint64_t version;
    char *path, *samples_path; /* of the model's file; of the samples' directory */
    uint32_t samples, samples_alone, runs;
    struct verify_line *lines; /* by size of batch, and then by output */
    int line_count;
    uint64_t off;            /* of all lines */
    struct weir_error first; /* the element that was off first; status OK if none was */
    struct version *held;    /* whose outputs' names the lines use */
};

struct verify_options {
    const char *model_path;   /* as the server's; the newest version is taken */
    const char *samples_path; /* a directory; NULL: `samples` beside the model's file */
    bool record;
};

/* Loads a version and runs its samples alone, in batches of an odd number of rows and in the largest ones. OK whether
 * they agree or not: out says so. record: runs the inputs alone first, and writes what comes out as the samples'
 * outputs. Errors, naming the file: those of a version that cannot be loaded; NOT_FOUND (no version, no samples); those
 * of samples that cannot be used or written. thread: one, with an engine that nobody else loads into. Owner of *out:
 * the caller, verify_release before the engine is closed, also after an error. */
enum weir_status verify_model(struct engine *engine, const struct verify_options *options, struct verify_report *out,
                              struct weir_error *err) WEIR_CHECKED;

void verify_release(struct verify_report *report);

#endif
