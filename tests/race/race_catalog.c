/* A catalog under change: requests and views from several threads, while versions come, are promoted, rolled out, taken
 * back and overwritten. Exits 0 if every request got the answer of a version that was there. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fakes/catalog_case.h"
#include "tests/fakes/model_files.h"

enum { REQUESTERS = 3, ROUNDS = 6 };

static struct catalog_case test;
static atomic_bool stop;
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

/* One order, and whether it had to succeed. */
static void order(enum catalog_action action, uint64_t version, bool must) {
    enum weir_status status = catalog_case_order(&test, action, version);
    if (status != WEIR_OK && must) {
        fprintf(stderr, "%s %llu: %s\n", catalog_action_text(action), (unsigned long long)version,
                test.order.error.text);
        exit(1);
    }
}

static void change(int round) {
    uint64_t next = 2 + (uint64_t)round;
    char name[24];
    snprintf(name, sizeof name, "%llu", (unsigned long long)next);
    model_files_samples(name, (int)next);
    model_files_version(name, (int)next, "N");
    snprintf(test.order.rollout.steps, sizeof test.order.rollout.steps, "40%% for 1h");
    snprintf(test.order.rollout.sticky_header, sizeof test.order.rollout.sticky_header, "X-User");
    test.order.rollout.min_agreement = test.order.rollout.max_p99_ratio = test.order.rollout.max_compute_ratio = -1;
    order(CATALOG_START, next, true);
    order(CATALOG_PAUSE, 0, true);
    order(CATALOG_VERIFY, next, true);
    order(CATALOG_RESUME, 0, true);
    if (round % 2)
        order(CATALOG_ROLL_BACK, 0, true);
    order(CATALOG_PROMOTE, next, true);
    model_files_version("1", 1, "N"); /* overwritten with the same */
    order(CATALOG_LOAD, 1, true);
    order(CATALOG_UNLOAD, 1, true);
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
        change(round);
    atomic_store(&stop, true);
    for (int i = 0; i <= REQUESTERS; i++)
        pthread_join(threads[i], NULL);
    catalog_case_end(&test);
    printf("%d right, %d wrong\n", atomic_load(&right), atomic_load(&wrong));
    return atomic_load(&wrong) > 0 || atomic_load(&right) == 0;
}
