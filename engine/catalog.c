#include "engine/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engine/catalog/parts.h"
#include "engine/catalog/timing.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/thread.h"

enum { TICK_MS = 50, ALARM_TICK_MS = 5, REST_PARTS = 20 };

void catalog_tell(struct catalog *catalog, const struct catalog_change *change) {
    if (catalog->options.listener.changed)
        catalog->options.listener.changed(catalog->options.listener.context, change);
}

void catalog_let_go(struct catalog *catalog, struct version *version) {
    if (version && catalog->options.listener.unloaded)
        catalog->options.listener.unloaded(catalog->options.listener.context, version);
    engine_release(version);
}

bool catalog_rest(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    if (!catalog->stopping)
        (void)clock_cond_wait(&catalog->loader_wakes, &catalog->lock,
                              clock_now_ns() + scan_rest_ns(catalog) / REST_PARTS);
    pthread_mutex_unlock(&catalog->lock);
    return !catalog->stopping;
}

static enum weir_status open_model(struct catalog_model *model, const struct catalog_model_options *options,
                                   struct weir_error *err) {
    model->path = strdup(options->path);
    model->given_name = options->name ? strdup(options->name) : NULL;
    model->rollout = calloc(1, sizeof *model->rollout);
    model->outcomes = calloc(2, sizeof *model->outcomes);
    model->comparison = calloc(1, sizeof *model->comparison);
    if (!model->path || (options->name && !model->given_name) || !model->rollout || !model->outcomes ||
        !model->comparison)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the models");
    rollout_init(model->rollout);
    if (options->name)
        snprintf(model->name, sizeof model->name, "%s", options->name);
    return version_policy_read(options->version_policy ? options->version_policy : "latest", &model->policy, err);
}

/* One server alone keeps its state in a directory: two would undo each other's. The lock ends with the process. */
static enum weir_status lock_state(struct catalog *catalog, struct weir_error *err) {
    char path[4096 + 16];
    snprintf(path, sizeof path, "%s/rollout.lock", catalog->state_dir);
    catalog->state_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (catalog->state_lock < 0)
        return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
    if (flock(catalog->state_lock, LOCK_EX | LOCK_NB) != 0)
        return weir_fail(err, WEIR_IO, "%s: another server keeps its state here", path);
    return WEIR_OK;
}

enum weir_status catalog_open(const struct catalog_options *options, struct catalog **out, struct weir_error *err) {
    struct catalog *catalog = calloc(1, sizeof *catalog);
    if (!catalog)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the models");
    clock_cond_init(&catalog->loader_wakes);
    clock_cond_init(&catalog->rollout_wakes);
    pthread_mutex_init(&catalog->changing, NULL);
    pthread_mutex_init(&catalog->lock, NULL);
    pthread_mutex_init(&catalog->comparing, NULL);
    catalog->state_lock = -1;
    catalog->options = *options;
    catalog->options.models = NULL; /* borrowed for this call alone */
    catalog->scan_ns = options->scan_ns;
    enum weir_status status = WEIR_OK;
    catalog->models = calloc((size_t)options->model_count, sizeof *catalog->models);
    catalog->spare = calloc(1, sizeof *catalog->spare);
    if (options->state_dir)
        catalog->state_dir = strdup(options->state_dir);
    if (!catalog->models || !catalog->spare || (options->state_dir && !catalog->state_dir))
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for the models");
    for (int i = 0; i < options->model_count && status == WEIR_OK; i++) {
        catalog->model_count = i + 1;
        status = open_model(&catalog->models[i], &options->models[i], err);
    }
    if (status == WEIR_OK && catalog->state_dir)
        status = lock_state(catalog, err);
    if (status == WEIR_OK && catalog->state_dir)
        status = rollout_file_read(catalog->state_dir, &catalog->file, err);
    if (status == WEIR_OK)
        *out = catalog;
    else
        catalog_close(catalog);
    return status;
}

/* Looks at all models. Returns the first one's status that has versions of which none serves. */
static enum weir_status look(struct catalog *catalog, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    bool any_serves = false;
    for (int i = 0; i < catalog->model_count && !catalog->stopping; i++) {
        struct weir_error why;
        struct catalog_model *model = &catalog->models[i];
        enum weir_status looked = scan_model(catalog, model, &why);
        if (catalog->looked) /* the first look is to be short */
            timing_catch_up(catalog, model);
        any_serves |= model->stable != NULL;
        if (looked != WEIR_OK && status == WEIR_OK && !model->stable)
            status = weir_fail(err, looked, "%s", why.text);
    }
    return any_serves ? WEIR_OK : status;
}

/* Looks again sooner where files must come to rest. Called with the lock. */
static void look_soon(struct catalog *catalog) {
    int64_t rest_ns = scan_rest_ns(catalog), soon_ns = clock_now_ns() + rest_ns + rest_ns / REST_PARTS;
    for (int i = 0; i < catalog->model_count; i++)
        if (catalog->models[i].is_settling && soon_ns < catalog->next_look_ns)
            catalog->next_look_ns = soon_ns;
}

/* What the loader does next, in this order. */
enum work { WORK_STOP, WORK_ORDER, WORK_PROMOTE, WORK_LOOK, WORK_REAP };

/* Called with the lock. */
static enum work wait_for_work(struct catalog *catalog) {
    for (;;) {
        if (catalog->stopping)
            return WORK_STOP;
        if (catalog->slow)
            return WORK_ORDER;
        if (catalog->promoting) {
            catalog->promoting = false;
            return WORK_PROMOTE;
        }
        int64_t now_ns = clock_now_ns();
        if (catalog->look_now || now_ns >= catalog->next_look_ns) {
            catalog->look_now = false;
            catalog->next_look_ns = now_ns + catalog->scan_ns;
            return WORK_LOOK;
        }
        if (catalog->reap_now) {
            catalog->reap_now = false;
            return WORK_REAP;
        }
        (void)clock_cond_wait(&catalog->loader_wakes, &catalog->lock, catalog->next_look_ns);
    }
}

static void finish(struct catalog *catalog, struct catalog_order **place) {
    struct catalog_order *order = *place;
    changes_run(catalog, order);
    pthread_mutex_lock(&catalog->lock);
    *place = NULL;
    catalog->look_now = true; /* unloads what is wanted no more */
    pthread_cond_signal(&catalog->loader_wakes);
    pthread_cond_signal(&catalog->rollout_wakes);
    pthread_mutex_unlock(&catalog->lock);
    order->done(order);
}

static void *load(void *context) {
    struct catalog *catalog = context;
    const struct catalog_listener *listener = &catalog->options.listener;
    struct weir_error err = {.status = WEIR_OK};
    thread_enter(THREAD_LOADER, 0);
    enum weir_status status = look(catalog, &err);
    catalog->looked = true;
    if (listener->opened)
        listener->opened(listener->context, status, &err);
    thread_yield_to_others();
    for (;;) {
        pthread_mutex_lock(&catalog->lock);
        look_soon(catalog);
        enum work work = wait_for_work(catalog);
        pthread_mutex_unlock(&catalog->lock);
        if (work == WORK_STOP)
            return NULL;
        if (work == WORK_ORDER)
            finish(catalog, &catalog->slow);
        else if (work == WORK_PROMOTE)
            changes_promote_advised(catalog);
        else if (work == WORK_LOOK)
            look(catalog, &err);
        engine_reap(catalog->options.engine);
    }
}

static void *move_rollouts(void *context) {
    struct catalog *catalog = context;
    thread_enter(THREAD_ROLLOUT, 0);
    int64_t last_ns = 0, next_ns = 0;
    bool was_on = false;
    thread_yield_to_others();
    while (!catalog->stopping) {
        if (clock_now_ns() >= next_ns) {
            atomic_store(&catalog->alarmed, false);
            copies_compare(catalog);
            bool any = changes_tick(catalog);
            last_ns = clock_now_ns();
            next_ns = last_ns + (any || was_on ? TICK_MS * (int64_t)CLOCK_NS_PER_MS : CLOCK_NS_PER_S);
            was_on = any; /* copies may still be under way */
        }
        pthread_mutex_lock(&catalog->lock);
        if (!catalog->stopping && !catalog->quick)
            (void)clock_cond_wait(&catalog->rollout_wakes, &catalog->lock, next_ns);
        /* If it was woken, a rollout may have begun, or a candidate's answer was bad. */
        int64_t soon_ns = atomic_load(&catalog->alarmed) ? last_ns + ALARM_TICK_MS * (int64_t)CLOCK_NS_PER_MS
                                                         : clock_now_ns() + TICK_MS * (int64_t)CLOCK_NS_PER_MS;
        next_ns = soon_ns < next_ns ? soon_ns : next_ns;
        bool has_order = catalog->quick != NULL && !catalog->stopping;
        pthread_mutex_unlock(&catalog->lock);
        if (has_order)
            finish(catalog, &catalog->quick);
    }
    return NULL;
}

enum weir_status catalog_start(struct catalog *catalog, struct weir_error *err) {
    catalog->loader_runs = pthread_create(&catalog->loader, NULL, load, catalog) == 0;
    catalog->rollouts_run = pthread_create(&catalog->rollouts, NULL, move_rollouts, catalog) == 0;
    return catalog->loader_runs && catalog->rollouts_run
               ? WEIR_OK
               : weir_fail(err, WEIR_NO_MEMORY, "cannot start the loader's threads");
}

static void wake(struct catalog *catalog) {
    pthread_cond_signal(&catalog->loader_wakes);
    pthread_cond_signal(&catalog->rollout_wakes);
}

void catalog_look(struct catalog *catalog, int64_t scan_ns) {
    pthread_mutex_lock(&catalog->lock);
    if (scan_ns > 0)
        catalog->scan_ns = scan_ns;
    catalog->look_now = true;
    wake(catalog);
    pthread_mutex_unlock(&catalog->lock);
}

void catalog_wake(struct catalog *catalog) {
    pthread_mutex_lock(&catalog->lock);
    catalog->reap_now = true;
    wake(catalog);
    pthread_mutex_unlock(&catalog->lock);
}

bool catalog_stop(struct catalog *catalog, bool wait) {
    if (!catalog)
        return true;
    pthread_mutex_lock(&catalog->lock);
    catalog->stopping = true;
    wake(catalog);
    pthread_mutex_unlock(&catalog->lock);
    if (catalog->rollouts_run)
        pthread_join(catalog->rollouts, NULL);
    catalog->rollouts_run = false;
    if (!wait && atomic_load(&catalog->loading)) {
        if (catalog->loader_runs)
            pthread_detach(catalog->loader); /* the process ends before it does */
        catalog->loader_runs = false;
        return false;
    }
    if (catalog->loader_runs)
        pthread_join(catalog->loader, NULL);
    catalog->loader_runs = false;
    struct catalog_order *left[] = {catalog->slow, catalog->quick};
    for (int i = 0; i < 2; i++)
        if (left[i]) {
            left[i]->status = weir_fail(&left[i]->error, WEIR_DRAINING, "the server is shutting down");
            left[i]->done(left[i]);
        }
    catalog->slow = catalog->quick = NULL;
    return true;
}

void catalog_close(struct catalog *catalog) {
    if (!catalog)
        return;
    copies_compare(catalog);
    for (int i = 0; i < catalog->model_count; i++) {
        struct catalog_model *model = &catalog->models[i];
        scan_release(model);
        free(model->path);
        free(model->given_name);
        free(model->rollout);
        free(model->outcomes);
        free(model->comparison);
    }
    rollout_file_release(&catalog->file);
    if (catalog->state_lock >= 0)
        close(catalog->state_lock);
    free(catalog->models);
    free(catalog->state_dir);
    free(catalog->spare);
    pthread_cond_destroy(&catalog->loader_wakes);
    pthread_cond_destroy(&catalog->rollout_wakes);
    pthread_mutex_destroy(&catalog->changing);
    pthread_mutex_destroy(&catalog->lock);
    pthread_mutex_destroy(&catalog->comparing);
    free(catalog);
}

enum weir_status catalog_submit(struct catalog *catalog, struct catalog_order *order, struct weir_error *err) {
    bool is_quick =
        order->action == CATALOG_PAUSE || order->action == CATALOG_RESUME || order->action == CATALOG_ROLL_BACK;
    enum weir_status status = WEIR_OK;
    pthread_mutex_lock(&catalog->lock);
    struct catalog_order **place = is_quick ? &catalog->quick : &catalog->slow;
    if (catalog->stopping)
        status = weir_fail(err, WEIR_DRAINING, "the server is shutting down");
    else if (!catalog->looked && !is_quick)
        status = weir_fail(err, WEIR_CONFLICT, "the models are still being loaded");
    else if (*place)
        status = weir_fail(err, WEIR_CONFLICT, "another change is under way: %s of %s",
                           catalog_action_text((*place)->action), catalog->models[(*place)->model].name);
    else
        *place = order;
    wake(catalog);
    pthread_mutex_unlock(&catalog->lock);
    return status;
}
