/* A catalog over the files of model_files.h, on a real CPU engine. The waits end when what they wait for is there. */
#ifndef WEIR_TESTS_FAKES_CATALOG_CASE_H
#define WEIR_TESTS_FAKES_CATALOG_CASE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/catalog_admin.h"
#include "engine/job.h"

struct catalog_case {
    const char *path, *policy; /* NULL: the directory of model_files; latest */
    bool hold_new;
    void (*on_loaded)(struct catalog_case *test); /* thread: loader, before a version is proven; or NULL */
    const char *state_dir;
    struct engine *engine;
    struct catalog *catalog;
    atomic_int opened, loads, unloads, failures, remarks, changes;
    enum weir_status status; /* of the first look */
    struct weir_error why;
    uint64_t failed_number;
    char failed_why[512];
    char remark[512]; /* the last one */
    pthread_mutex_t changing;
    char change[512]; /* of catalog_case_changed, with changing */
    struct catalog_order order;
    atomic_bool order_done;
};

void catalog_case_begin(struct catalog_case *test);
void catalog_case_end(struct catalog_case *test);

/* Opens the engine and the catalog, and waits for the first look. Returns its status. */
enum weir_status catalog_case_open(struct catalog_case *test);

/* Ends both, as a restart would. */
void catalog_case_close(struct catalog_case *test);

/* The number of the version that serves; 0: none. Its serial. */
uint64_t catalog_case_stable(struct catalog_case *test);
uint64_t catalog_case_serial(struct catalog_case *test);

void catalog_case_wait_stable(struct catalog_case *test, uint64_t number);
void catalog_case_wait_state(struct catalog_case *test, uint64_t number, const char *state);

/* The view, freed at the next call. */
void catalog_case_view(struct catalog_case *test, struct catalog_model_view *view);

/* The text of the last change that was told, which another thread writes: "ACTOR ACTION VERSION: TEXT". Good until the
 * next call. */
const char *catalog_case_changed(struct catalog_case *test);

/* Runs test->order with this action and version. Returns its status, or that of catalog_submit. */
enum weir_status catalog_case_order(struct catalog_case *test, enum catalog_action action, uint64_t version);

/* Runs a rollback beside whatever test->order does. Returns its status; *text: its answer. */
enum weir_status catalog_case_roll_back(struct catalog_case *test, char text[512]);

/* One request of one row through the catalog: routed, run, noted, and compared if the catalog wants that. Returns the
 * version's number; 0 if it failed. *y is the first output. */
uint64_t catalog_case_request(struct catalog_case *test, const struct catalog_ask *ask, float *y);

#endif
