/* A version of a model as the catalog has it: private to engine/catalog*. */
#ifndef WEIR_ENGINE_CATALOG_ENTRY_H
#define WEIR_ENGINE_CATALOG_ENTRY_H

#include "engine/catalog_admin.h"
#include "engine/model/self_test.h"
#include "engine/model/snapshot.h"

struct entry {
    uint64_t number;
    char *path;                  /* of the model file */
    bool on_disk, was_found;     /* at the last look; the second is the loader's own */
    bool is_rejected;            /* by a rollout, as it is; for views */
    bool is_wanted, is_unwanted; /* an operator asked for it, or not to have it, whatever the policy says */
    enum catalog_state state;    /* at most READY: what gets requests is the model's business */
    char reason[512];
    struct snapshot seen; /* at the last look, since seen_ns; guarded by changing */
    int64_t seen_ns;
    bool was_old;          /* when it was first seen, and has not changed since */
    struct snapshot tried; /* what the last load was of, if it failed */
    bool was_tried;
    enum weir_status failure;
    int64_t retry_ns; /* when to try the same again; INT64_MAX: never */
    int64_t retry_wait_ns;
    struct snapshot loaded; /* what version was loaded from */
    struct snapshot held;   /* the files that hold content, by content.h; guarded by changing */
    uint64_t content[2];
    struct version *version; /* with a reference */
    struct samples *samples;
    struct self_test_report report;
};

#endif
