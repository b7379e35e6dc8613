/* What the catalog consists of: private to engine/catalog*.
 *
 * Three locks, taken in this order. `changing` is held by whoever changes which versions serve, also while the state
 * file is written and while a look reads what files there are: what is acknowledged, what is on the disk and what
 * serves are one, and a version is judged by files that nobody judges otherwise meanwhile. Orders and ticks wait for
 * that, a disk's time; requests and views never do. `lock` guards all that these read, and `comparing` the comparisons;
 * both are held for moments. Entries come and go on the loader's thread alone. */
#ifndef WEIR_ENGINE_CATALOG_PARTS_H
#define WEIR_ENGINE_CATALOG_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/catalog.h"
#include "engine/catalog/entry.h"
#include "engine/catalog_admin.h"
#include "engine/model/repository.h"
#include "engine/model/rollout_file.h"
#include "engine/model/version_policy.h"

/* What requests need to know. */
struct route {
    struct version *stable, *candidate; /* the entries' own references */
    _Atomic uint64_t rollout;           /* serial of the rollout; 0: none */
    uint32_t weight_ppm, shadow_ppm, compare_ppm;
    char sticky_header[CATALOG_HEADER_BYTES];
    _Atomic uint64_t weight_counter, copy_counter[2];
};

struct catalog_model {
    char *path, *given_name;
    char name[REPOSITORY_NAME_MAX + 1];
    bool is_loose;    /* its version is a file alone, without samples or seal */
    bool is_settling; /* files must come to rest: it looks again soon */
    struct version_policy policy;
    struct entry **entries; /* newest first */
    size_t entry_count;
    struct entry *stable, *candidate;
    struct route route;
    struct rollout *rollout;
    double timed_ratio;    /* by timing.h; 0: to be found out; guarded by changing */
    atomic_bool is_unkept; /* what has happened is not on the disk yet */
    bool is_starting;      /* a rollout is about to begin, unless a rollback takes this away; guarded by changing */
    struct rollout_decision decision; /* of the last tick */
    int64_t promote_ns;               /* a promotion that could not be kept is tried again then */
    struct outcomes *outcomes;        /* two, by role */
    struct comparison *comparison;
    char **remarks; /* of the last look */
    size_t remark_count;
    char problem[512], last[320]; /* why the last look failed; how the last rollout ended, for views */
    uint64_t loads, load_failures;
};

struct catalog {
    struct catalog_options options;
    struct catalog_model *models;
    int model_count, state_lock; /* the latter a descriptor; -1: none */
    char *state_dir;
    pthread_mutex_t changing, lock, comparing;
    pthread_cond_t loader_wakes, rollout_wakes;
    struct rollout_file file; /* the state as it is on the disk; guarded by changing */
    pthread_t loader, rollouts;
    bool loader_runs, rollouts_run;
    atomic_bool stopping, loading;
    atomic_bool looked;  /* the first look is over */
    atomic_bool alarmed; /* a candidate's answer was bad: it is judged sooner */
    bool look_now, reap_now, promoting;
    _Atomic int64_t scan_ns;
    int64_t next_look_ns;
    uint64_t rollout_serials;
    struct {
        struct rollout_state state;
        struct rollout rollout;
    } before;                              /* what a change goes back to if it cannot be kept; guarded by changing */
    struct rollout_evidence evidence;      /* likewise */
    struct rollout *spare;                 /* likewise: takes the place of the rollout that a tick moves on */
    struct catalog_order *slow, *quick;    /* under way: on the loader's thread, on the rollouts' */
    _Atomic(struct catalog_copy *) copies; /* that have run; devices put them here without a lock */
};

/* catalog/state.c: what is kept on the disk, and which version serves. Called with `changing`. */
/* The model's part of the file. NULL: no memory. */
struct rollout_state *state_of(struct catalog *catalog, const struct catalog_model *model);
/* Copies the model's rollout into the file and writes it. Without state_dir it does nothing. Errors: IO, NO_MEMORY. */
enum weir_status state_keep(struct catalog *catalog, struct catalog_model *model, struct weir_error *err) WEIR_CHECKED;

/* Keeps what has happened already: what cannot be written is tried again at the next tick. text: what happened, and if
 * that could not be written, why not. */
enum { STATE_TEXT = 512 };
enum weir_status state_note(struct catalog *catalog, struct catalog_model *model, const char *what,
                            char text[STATE_TEXT]);
/* The plan of the rollout that is on, or after a restart waits to go on; NULL: there is none. */
const struct rollout_plan *state_rollout(struct catalog *catalog, const struct catalog_model *model);
/* Ends the one that waits. text and errors: of state_note. */
enum weir_status state_give_up(struct catalog *catalog, struct catalog_model *model, const char *reason,
                               char text[STATE_TEXT]);

/* Makes the route what stable, candidate and the rollout say; tells the listener of a version that begins to serve.
 * state_commit ends a change of these made with `lock`, which it gives back: nobody sees the one without the other. */
void state_apply(struct catalog *catalog, struct catalog_model *model);
void state_commit(struct catalog *catalog, struct catalog_model *model);
/* Chooses the stable version among those that are ready, and goes on with the rollout that waits. */
void state_choose(struct catalog *catalog, struct catalog_model *model);
/* Of what an entry was loaded from, or of its files. */
void state_identity(const struct entry *entry, char text[ROLLOUT_FILE_IDENTITY + 1]);
/* Has a rollout rejected the entry as it is? Other files of this number, so that it counts as new? And is there a note
 * about this number at all? Then its files must be looked at before the others can tell. */
bool state_is_rejected(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry);
bool state_is_mended(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry);
bool state_has_note(struct catalog *catalog, const struct catalog_model *model, uint64_t number);

/* catalog/scan.c: the loader's look at a model's directory. Errors: those of repository_scan, or of the newest version
 * if none serves. thread: loader. */
enum weir_status scan_model(struct catalog *catalog, struct catalog_model *model, struct weir_error *err) WEIR_CHECKED;
int64_t scan_rest_ns(const struct catalog *catalog); /* how long files must not have changed */
struct entry *scan_find(const struct catalog_model *model, uint64_t number);
void scan_unload(struct catalog *catalog, struct entry *entry); /* one that does not serve; with `changing` */
void scan_release(struct catalog_model *model);

/* catalog/loading.c: loads and proves the entry beside what serves; replaces what it had. On an error the entry keeps
 * what it had, and says why. thread: loader, without locks. */
enum weir_status loading_run(struct catalog *catalog, struct catalog_model *model, struct entry *entry,
                             struct weir_error *err) WEIR_CHECKED;
/* Rests after each piece read of a file, once something serves; false: it is being stopped. context: the catalog. */
bool loading_go_on(void *context, size_t bytes);
/* Has something else than the files failed, so that the same may do another time? */
bool loading_may_pass(enum weir_status status);
/* Runs the samples of a loaded entry again; OK without samples. Likewise. */
enum weir_status loading_prove(struct catalog *catalog, struct catalog_model *model, struct entry *entry,
                               struct weir_error *err) WEIR_CHECKED;

/* catalog/changes.c: orders. thread: loader, or rollouts for PAUSE, RESUME and ROLL_BACK. Moves the rollouts on;
 * returns whether one is on. thread: rollouts. Promotes what they advise to promote. thread: loader. */
void changes_run(struct catalog *catalog, struct catalog_order *order);
bool changes_tick(struct catalog *catalog);
void changes_candidate_changed(struct catalog *catalog, struct catalog_model *model); /* with `changing` */
void changes_promote_advised(struct catalog *catalog);
void copies_compare(struct catalog *catalog); /* the copies that have run. thread: rollouts. */

/* Waits a moment; false: the catalog is being stopped. thread: loader. And tells the listener. */
bool catalog_rest(struct catalog *catalog);
void catalog_tell(struct catalog *catalog, const struct catalog_change *change);
/* Releases a version that no entry has any more, and tells the listener. thread: loader. */
void catalog_let_go(struct catalog *catalog, struct version *version);
#endif
