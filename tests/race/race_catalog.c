/* A catalog under change: requests and views from several threads, while versions come, are promoted, rolled out, taken
 * back and overwritten. Exits 0 if every request got the answer of a version that was there. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"
#include "tests/fakes/pause.h"

enum { REQUESTERS = 3, ROUNDS = 6 };

static struct catalog_case test;
static atomic_bool stop, stop_meddling;
static atomic_int wrong, right;

static void *request(void *context) {
    static const struct catalog_ask asks[] = {
        {.model = 0}, {.key = "a", .key_size = 1}, {.version = "stable"}, {.version = "canary"}};
    (void)context;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        float y;
        uint64_t number = catalog_case_request(&test, &asks[i % 4], &y);
        if (number > 0 && y != (float)(3 + number))
            atomic_fetch_add(&wrong, 1);
        else if (number > 0)
            atomic_fetch_add(&right, 1);
        char header[CATALOG_HEADER_BYTES], text[200];
        catalog_sticky_header(test.catalog, 0, header);
        catalog_obstacle(test.catalog, text, sizeof text);
    }
    return NULL;
}

static void *look(void *context) {
    (void)context;
    while (!atomic_load(&stop)) {
        struct catalog_model_view view;
        struct weir_error err;
        if (catalog_view(test.catalog, 0, &view, &err) != WEIR_OK)
            abort();
        catalog_view_release(&view);
    }
    return NULL;
}

static void meddled(struct catalog_order *done) {
    atomic_store((atomic_bool *)done->owner, true);
}

/* Pauses, goes on and rolls back whenever it pleases, as a second operator would. */
static void *meddle(void *context) {
    static const enum catalog_action actions[] = {CATALOG_PAUSE, CATALOG_RESUME, CATALOG_ROLL_BACK};
    (void)context;
    for (unsigned i = 0; !atomic_load(&stop_meddling); i++) {
        atomic_bool is_done = false;
        struct weir_error ignored;
        struct catalog_order one = {.action = actions[i % 3], .done = meddled, .owner = &is_done};
        if (catalog_submit(test.catalog, &one, &ignored) != WEIR_OK)
            continue;
        while (!atomic_load(&is_done))
            pause_briefly();
    }
    return NULL;
}

/* One order, and whether it had to succeed. */
static void order(enum catalog_action action, uint64_t version, bool must) {
    enum weir_status status = catalog_case_order(&test, action, version);
    if (status != WEIR_OK && must) {
        fprintf(stderr, "%s %llu: %s\n", catalog_action_text(action), (unsigned long long)version,
                test.order.error.text);
        exit(1);
    }
}

/* alone: nobody else gives orders. */
static void change(int round, bool alone) {
    uint64_t next = 2 + (uint64_t)round;
    char name[24];
    snprintf(name, sizeof name, "%llu", (unsigned long long)next);
    model_files_samples(name, (int)next);
    model_files_version(name, (int)next, "N");
    snprintf(test.order.rollout.steps, sizeof test.order.rollout.steps, "40%% for 1h");
    snprintf(test.order.rollout.sticky_header, sizeof test.order.rollout.sticky_header, "X-User");
    test.order.rollout.min_agreement = test.order.rollout.max_p99_ratio = test.order.rollout.max_compute_ratio = -1;
    order(CATALOG_START, next, alone);
    order(CATALOG_PAUSE, 0, alone);
    order(CATALOG_VERIFY, next, alone);
    order(CATALOG_RESUME, 0, alone);
    if (round % 2)
        order(CATALOG_ROLL_BACK, 0, alone);
    order(CATALOG_PROMOTE, next, alone);
    model_files_version("1", 1, "N"); /* overwritten with the same */
    order(CATALOG_LOAD, 1, alone);
    order(CATALOG_UNLOAD, 1, alone);
}

int main(void) {
    pthread_t threads[REQUESTERS + 1];
    catalog_case_begin(&test);
    test.hold_new = true;
    model_files_version("1", 1, "N");
    if (catalog_case_open(&test) != WEIR_OK)
        return 1;
    for (int i = 0; i <= REQUESTERS; i++)
        pthread_create(&threads[i], NULL, i < REQUESTERS ? request : look, NULL);
    for (int round = 0; round < ROUNDS; round++)
        change(round, true);
    pthread_t meddler;
    pthread_create(&meddler, NULL, meddle, NULL);
    for (int round = ROUNDS; round < 2 * ROUNDS; round++)
        change(round, false);
    atomic_store(&stop_meddling, true);
    pthread_join(meddler, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i <= REQUESTERS; i++)
        pthread_join(threads[i], NULL);
    catalog_case_end(&test);
    printf("%d right, %d wrong\n", atomic_load(&right), atomic_load(&wrong));
    return atomic_load(&wrong) > 0 || atomic_load(&right) == 0;
}
