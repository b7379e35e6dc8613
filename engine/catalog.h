/* The catalog: the models that are served, their versions, and which version answers a request. It looks at the models'
 * directories, loads and proves what is new beside what serves, and moves the rollouts on. What operators ask of it is
 * in catalog_admin.h. */
#ifndef WEIR_ENGINE_CATALOG_H
#define WEIR_ENGINE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/job.h"
#include "engine/status.h"

struct catalog;
struct engine;
struct version;

enum { CATALOG_MAX_MODELS = 64, CATALOG_NAME_BYTES = 65, CATALOG_HEADER_BYTES = 64 };

struct catalog_model_options {
    const char *path;           /* as model_path: a file, a version directory or a model directory */
    const char *name;           /* NULL: from the path */
    const char *version_policy; /* "latest", "latest:N", "all", "[1, 3]"; NULL: latest */
};

/* Something that operators want to know of. */
struct catalog_change {
    const char *actor;  /* who: "admin 127.0.0.1:4711", "scan", "rollout" */
    const char *action; /* "load", "promote", "roll_back"... */
    const char *model;
    uint64_t version; /* 0: none */
    enum weir_status status;
    const char *text; /* what was done, or why not */
};

/* What the catalog tells while it works; its functions may be NULL. thread: the loader's; changed is called one at a
 * time on the loader's or the rollouts', and so is serving. */
struct catalog_listener {
    void *context;
    /* An entry of a model directory that is not a version, in a sentence; each once. */
    void (*passed_over)(void *context, const char *model, const char *remark);
    /* A version is loaded and about to be proven. Returns its tag (engine_set_tag). */
    int (*loaded)(void *context, const struct version *version);
    /* A version that was told as loaded is let go: nothing new goes to it. thread: loader */
    void (*unloaded)(void *context, const struct version *version);
    /* A version did not load, is incomplete or fails its samples; once until its files change. */
    void (*failed)(void *context, const char *model, uint64_t number, const struct weir_error *why);
    /* Requests go to this version from now on. */
    void (*serving)(void *context, const struct version *version);
    void (*changed)(void *context, const struct catalog_change *change);
    /* The first look is over. OK if something serves or no version is there; else the newest version's reason. */
    void (*opened)(void *context, enum weir_status status, const struct weir_error *why);
};

struct catalog_options {
    struct engine *engine;
    const struct catalog_model_options *models; /* the first is the default */
    int model_count;
    const char *state_dir; /* where rollouts survive a restart; NULL: they do not */
    int64_t scan_ns;       /* between two looks; files must be unchanged for as long, or 5 s */
    bool hold_new;         /* new versions wait for a rollout, they do not take over by themselves */
    struct catalog_listener listener;
};

/* Reads the state of the rollouts. Errors: INVALID (a policy, a broken state file), IO, NO_MEMORY. Owner: the caller.
 */
enum weir_status catalog_open(const struct catalog_options *options, struct catalog **out,
                              struct weir_error *err) WEIR_CHECKED;

/* Starts its threads, which load what is there. Errors: NO_MEMORY. */
enum weir_status catalog_start(struct catalog *catalog, struct weir_error *err) WEIR_CHECKED;

/* Looks at the models' directories now, and takes the new time between two looks (0: as before). thread: any. */
void catalog_look(struct catalog *catalog, int64_t scan_ns);

/* Frees retired versions soon. thread: any. */
void catalog_wake(struct catalog *catalog);

/* Ends the threads. False: a version is still being loaded, and without `wait` that is not waited for; then nothing may
 * be taken apart, nor the end be waited for any more. */
bool catalog_stop(struct catalog *catalog, bool wait);

/* After catalog_stop and engine_stop, before engine_close. */
void catalog_close(struct catalog *catalog);

int catalog_model_count(const struct catalog *catalog);

/* The number of the model of this name; -1: there is none. thread: any. */
int catalog_find(struct catalog *catalog, const char *name);

/* Why the service as a whole is not ready: a model without a version that serves. False: every model has one. */
bool catalog_obstacle(struct catalog *catalog, char *text, size_t size);

/* Which version shall answer? */
struct catalog_ask {
    int model;
    const char *version; /* "stable", "canary" or a number that the client insists on; NULL */
    const char *key;     /* the value of the sticky header, key_size bytes; NULL: none */
    size_t key_size;
};

enum catalog_role { CATALOG_STABLE, CATALOG_CANDIDATE };

/* The answer, and what must be remembered of it until the request has ended. */
struct catalog_choice {
    struct version *version; /* with a reference */
    struct version *other;   /* with a reference: the inputs are to be copied to it; NULL: not */
    uint64_t rollout;        /* which rollout it counts for; 0: none */
    int model;
    enum catalog_role role;
};

/* The header whose value keeps a client with its version; false: there is none now. thread: any. */
bool catalog_sticky_header(struct catalog *catalog, int model, char header[CATALOG_HEADER_BYTES]);

/* Errors: NOT_READY (no version serves), NOT_FOUND (the version asked for is not loaded). thread: any. */
enum weir_status catalog_route(struct catalog *catalog, const struct catalog_ask *ask, struct catalog_choice *out,
                               struct weir_error *err) WEIR_CHECKED;
void catalog_choice_release(struct catalog_choice *choice);

/* How a request ended, as bits. */
enum { CATALOG_ERROR = 1, CATALOG_NON_FINITE = 2, CATALOG_LATE = 4 };

/* Counts a request for the rollout that it belongs to. thread: any. */
void catalog_note(struct catalog *catalog, const struct catalog_choice *choice, unsigned flags, int64_t latency_ns);

/* A request that was answered and whose inputs now go to the other version too. Begins as zeros. */
struct catalog_copy {
    struct job job;                             /* dims and inputs are the caller's; the rest is set here */
    struct job_tensor *outputs;                 /* what the client was answered */
    struct catalog_choice choice;               /* other is not NULL */
    void (*release)(struct catalog_copy *copy); /* takes all back, also the choice; thread: any */
    struct catalog *catalog;
    struct catalog_copy *next;
};

/* Runs the copy when a device has nothing else to do, compares the outputs and releases it; or releases it at once if
 * there is no time to spare. thread: any. */
void catalog_compare(struct catalog *catalog, struct catalog_copy *copy);

#endif
