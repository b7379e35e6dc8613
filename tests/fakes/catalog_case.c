#include "tests/fakes/catalog_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"
#include "engine/engine.h"
#include "tests/fakes/model_files.h"
#include "tests/fakes/pause.h"

enum { SCAN_NS = 5 * CLOCK_NS_PER_MS };

static const char *root;
static struct catalog_model_view last_view;

static int on_loaded(void *context, const struct version *version) {
    struct catalog_case *test = context;
    (void)version;
    atomic_fetch_add(&test->loads, 1);
    if (test->on_loaded)
        test->on_loaded(test);
    return 0;
}

static void on_unloaded(void *context, const struct version *version) {
    struct catalog_case *test = context;
    (void)version;
    atomic_fetch_add(&test->unloads, 1);
}

static void on_failed(void *context, const char *model, uint64_t number, const struct weir_error *why) {
    struct catalog_case *test = context;
    (void)model;
    test->failed_number = number;
    snprintf(test->failed_why, sizeof test->failed_why, "%s", why->text);
    atomic_fetch_add(&test->failures, 1);
}

static void on_passed_over(void *context, const char *model, const char *remark) {
    struct catalog_case *test = context;
    (void)model;
    snprintf(test->remark, sizeof test->remark, "%s", remark);
    atomic_fetch_add(&test->remarks, 1);
}

static void on_changed(void *context, const struct catalog_change *change) {
    struct catalog_case *test = context;
    pthread_mutex_lock(&test->changing);
    snprintf(test->change, sizeof test->change, "%.60s %.60s %llu: %.300s", change->actor, change->action,
             (unsigned long long)change->version, change->text);
    pthread_mutex_unlock(&test->changing);
    atomic_fetch_add(&test->changes, 1);
}

static void on_opened(void *context, enum weir_status status, const struct weir_error *why) {
    struct catalog_case *test = context;
    test->status = status;
    test->why = *why;
    atomic_store(&test->opened, 1);
}

static void on_order_done(struct catalog_order *order) {
    struct catalog_case *test = order->owner;
    atomic_store(&test->order_done, true);
}

void catalog_case_begin(struct catalog_case *test) {
    *test = (struct catalog_case){.path = NULL};
    pthread_mutex_init(&test->changing, NULL);
    root = model_files_make();
    catalog_rollout_init(&test->order.rollout);
}

enum weir_status catalog_case_open(struct catalog_case *test) {
    struct engine_options devices = {.devices = {.choice = INVENTORY_CPU, .cpu_threads = 1},
                                     .batch_rows = 8,
                                     .admit_all = true}; /* a busy machine refuses nobody */
    struct catalog_model_options model = {
        .path = test->path ? test->path : root, .name = "demo", .version_policy = test->policy};
    struct catalog_options options = {.models = &model,
                                      .model_count = 1,
                                      .state_dir = test->state_dir,
                                      .scan_ns = SCAN_NS,
                                      .hold_new = test->hold_new,
                                      .listener = {.context = test,
                                                   .loaded = on_loaded,
                                                   .unloaded = on_unloaded,
                                                   .passed_over = on_passed_over,
                                                   .failed = on_failed,
                                                   .changed = on_changed,
                                                   .opened = on_opened}};
    struct weir_error err;
    nanosleep(&(struct timespec){.tv_nsec = 2 * SCAN_NS}, NULL); /* what was just written is at rest after this */
    atomic_store(&test->opened, 0);
    enum weir_status status = engine_open(&devices, &test->engine, &err);
    options.engine = test->engine;
    if (status == WEIR_OK)
        status = catalog_open(&options, &test->catalog, &err);
    if (status == WEIR_OK)
        status = catalog_start(test->catalog, &err);
    if (status != WEIR_OK) {
        test->why = err;
        return status;
    }
    while (!atomic_load(&test->opened))
        pause_briefly();
    return test->status;
}

void catalog_case_close(struct catalog_case *test) {
    catalog_view_release(&last_view);
    if (test->catalog)
        catalog_stop(test->catalog, true);
    if (test->engine)
        engine_stop(test->engine);
    catalog_close(test->catalog);
    engine_close(test->engine);
    test->catalog = NULL;
    test->engine = NULL;
}

void catalog_case_end(struct catalog_case *test) {
    catalog_case_close(test);
    pthread_mutex_destroy(&test->changing);
    model_files_remove();
}

static struct version_info stable(struct catalog_case *test) {
    struct version *version = catalog_stable(test->catalog, 0);
    struct version_info info = {.number = 0};
    if (version)
        info = engine_describe(version);
    engine_release(version);
    return info;
}

uint64_t catalog_case_stable(struct catalog_case *test) {
    return stable(test).number;
}

uint64_t catalog_case_serial(struct catalog_case *test) {
    return stable(test).serial;
}

void catalog_case_wait_stable(struct catalog_case *test, uint64_t number) {
    while (catalog_case_stable(test) != number)
        pause_briefly();
}

void catalog_case_view(struct catalog_case *test, struct catalog_model_view *view) {
    struct weir_error err;
    catalog_view_release(&last_view);
    if (catalog_view(test->catalog, 0, view, &err) != WEIR_OK)
        abort();
    last_view = *view;
}

void catalog_case_wait_state(struct catalog_case *test, uint64_t number, const char *state) {
    for (;;) {
        struct catalog_model_view view;
        catalog_case_view(test, &view);
        for (size_t i = 0; i < view.version_count; i++)
            if (view.versions[i].number == number && strcmp(catalog_state_text(view.versions[i].state), state) == 0)
                return;
        pause_briefly();
    }
}

const char *catalog_case_changed(struct catalog_case *test) {
    static char text[sizeof test->change];
    pthread_mutex_lock(&test->changing);
    memcpy(text, test->change, sizeof text);
    pthread_mutex_unlock(&test->changing);
    return text;
}

enum weir_status catalog_case_order(struct catalog_case *test, enum catalog_action action, uint64_t version) {
    struct catalog_order *order = &test->order;
    enum weir_status status;
    order->action = action;
    order->version = version;
    order->done = on_order_done;
    order->owner = test;
    snprintf(order->actor, sizeof order->actor, "test");
    atomic_store(&test->order_done, false);
    status = catalog_submit(test->catalog, order, &order->error);
    if (status != WEIR_OK)
        return status;
    while (!atomic_load(&test->order_done))
        pause_briefly();
    return order->status;
}

static void on_rolled_back(struct catalog_order *order) {
    atomic_store((atomic_bool *)order->owner, true);
}

enum weir_status catalog_case_roll_back(struct catalog_case *test, char text[512]) {
    atomic_bool is_done = false;
    struct catalog_order order = {
        .action = CATALOG_ROLL_BACK, .actor = "another", .done = on_rolled_back, .owner = &is_done};
    enum weir_status status = catalog_submit(test->catalog, &order, &order.error);
    while (status == WEIR_OK && !atomic_load(&is_done))
        pause_briefly();
    if (status == WEIR_OK)
        status = order.status;
    snprintf(text, 512, "%s", status == WEIR_OK ? order.text : order.error.text);
    return status;
}

/* One request. It is freed when its copy has been compared. */
struct request {
    struct catalog_copy copy;
    struct job job;
    float x[2], y[2];
    struct job_tensor input, output;
    struct catalog_choice choice;
    atomic_bool done;
};

static void job_done(struct job *job) {
    struct request *request = job->owner;
    atomic_store(&request->done, true);
}

static void release(struct catalog_copy *copy) {
    struct request *request = (struct request *)copy;
    catalog_choice_release(&request->choice);
    free(request);
}

uint64_t catalog_case_request(struct catalog_case *test, const struct catalog_ask *ask, float *y) {
    struct weir_error err;
    struct request *request = calloc(1, sizeof *request);
    if (!request || catalog_route(test->catalog, ask, &request->choice, &err) != WEIR_OK) {
        free(request);
        return 0;
    }
    request->x[0] = 1;
    request->x[1] = 2;
    request->input =
        (struct job_tensor){.data = request->x, .row_bytes = sizeof request->x, .row = {.rank = 1, .dims = {2}}};
    request->output =
        (struct job_tensor){.data = request->y, .row_bytes = sizeof request->y, .row = {.rank = 1, .dims = {2}}};
    request->job = (struct job){.version = request->choice.version,
                                .dims = {.rows = 1},
                                .inputs = &request->input,
                                .outputs = &request->output,
                                .deadline_ns = INT64_MAX,
                                .done = job_done,
                                .owner = request};
    uint64_t number = engine_describe(request->choice.version).number;
    if (engine_submit(test->engine, &request->job, &err) != WEIR_OK)
        number = 0;
    engine_flush(test->engine);
    while (number > 0 && !atomic_load(&request->done))
        pause_briefly();
    *y = request->y[0];
    catalog_note(test->catalog, &request->choice, number > 0 && request->job.status == WEIR_OK ? 0 : CATALOG_ERROR,
                 request->job.finished_ns - request->job.submitted_ns);
    request->copy.job.dims = request->job.dims;
    request->copy.job.inputs = &request->input;
    request->copy.outputs = &request->output;
    request->copy.choice = request->choice;
    request->copy.release = release;
    if (request->choice.other && number > 0)
        catalog_compare(test->catalog, &request->copy);
    else
        release(&request->copy);
    return number;
}
