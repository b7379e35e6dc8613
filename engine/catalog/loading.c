/* Loads and proves one version beside what serves. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/catalog/parts.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/model/manifest.h"
#include "engine/run_jobs.h"

enum {
    PIECE_BYTES = 1 << 20,
    PIECE_REST_US = 500,         /* so that reading takes at most 2 GB/s from others */
    PLAN_LEAST_BYTES = 16 << 20, /* a model needs this much besides its weights */
    RETRY_LEAST_S = 10,
    RETRY_MOST_S = 300 /* what may have failed for other reasons than the files */
};

bool loading_go_on(void *context, size_t bytes) {
    struct catalog *catalog = context;
    (void)bytes;
    if (catalog->looked)
        nanosleep(&(struct timespec){.tv_nsec = PIECE_REST_US * CLOCK_NS_PER_US}, NULL);
    return !catalog->stopping;
}

/* Brings the file into memory piece by piece, so that the load that follows takes no disk from others at full speed. */
static void read_ahead(struct catalog *catalog, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *piece = malloc(PIECE_BYTES);
    ssize_t n = 1;
    while (fd >= 0 && piece && n > 0 && (n = read(fd, piece, PIECE_BYTES)) > 0 && loading_go_on(catalog, (size_t)n))
        continue;
    free(piece);
    if (fd >= 0)
        close(fd);
}

/* Is there memory for another version beside those that are loaded? */
static enum weir_status plan_memory(const struct entry *entry, struct weir_error *err) {
    uint64_t needs = entry->seen.bytes + entry->seen.bytes / 4 + PLAN_LEAST_BYTES;
    size_t free_bytes = memory_free();
    if (needs <= free_bytes)
        return WEIR_OK;
    return weir_fail(err, WEIR_NO_MEMORY, "%s: needs about %llu MiB (its files and a quarter), %llu MiB are free",
                     entry->path, (unsigned long long)(needs >> 20), (unsigned long long)free_bytes >> 20);
}

/* Runs the samples as jobs, as requests are. */
static enum weir_status prove(struct catalog *catalog, struct version *version, const struct samples *samples,
                              struct self_test_report *report, struct weir_error *err) {
    *report = (struct self_test_report){.samples = 0};
    if (!samples)
        return WEIR_OK;
    struct job_runner jobs = {.engine = catalog->options.engine, .version = version};
    struct version_info info = engine_describe(version);
    struct self_test_options options = {.signature = info.signature,
                                        .max_rows = info.batch_rows,
                                        .precision = engine_precision(catalog->options.engine)};
    struct self_test_runner runner = {.context = &jobs, .run = run_one_job};
    bool was_loading = atomic_exchange(&catalog->loading, true);
    enum weir_status status = self_test_run(samples, &options, &runner, report, err);
    atomic_store(&catalog->loading, was_loading);
    return status;
}

enum weir_status loading_prove(struct catalog *catalog, struct catalog_model *model, struct entry *entry,
                               struct weir_error *err) {
    struct self_test_report report;
    struct samples *samples = NULL, *before;
    char *directory = strndup(entry->path, (size_t)(strrchr(entry->path, '/') - entry->path));
    enum weir_status status = directory ? WEIR_OK : weir_fail(err, WEIR_NO_MEMORY, "%s: no memory", entry->path);
    if (status == WEIR_OK && !model->is_loose && entry->on_disk) /* they may have come after the model */
        status = samples_load(directory, engine_describe(entry->version).signature, &samples, err);
    free(directory);
    if (status != WEIR_OK)
        return status;
    status = prove(catalog, entry->version, samples ? samples : entry->samples, &report, err);
    pthread_mutex_lock(&catalog->lock);
    before = samples ? entry->samples : NULL;
    if (samples)
        entry->samples = samples;
    if (status == WEIR_OK)
        entry->report = report;
    pthread_mutex_unlock(&catalog->lock);
    samples_destroy(before);
    return status == WEIR_OK ? status : weir_fail_in(err, "%s", entry->path);
}

/* What a load makes. */
struct loaded {
    struct version *version;
    struct samples *samples;
    struct self_test_report report;
    bool was_told; /* the listener knows of it */
};

static enum weir_status check_files(struct catalog *catalog, const struct catalog_model *model,
                                    const struct entry *entry, const char *directory, struct weir_error *err) {
    struct file_hash_pace pace = {.context = catalog, .go_on = loading_go_on};
    bool is_sealed = false;
    enum weir_status status = plan_memory(entry, err);
    if (status == WEIR_OK && !model->is_loose) {
        status = manifest_verify(directory, &pace, &is_sealed, err);
        if (status != WEIR_OK)
            weir_fail_in(err, "%s", directory);
    }
    if (status == WEIR_OK && !is_sealed && catalog->looked)
        read_ahead(catalog, entry->path);
    return status;
}

/* Loads, warms up and proves. */
static enum weir_status make(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry,
                             struct loaded *out, struct weir_error *err) {
    struct snapshot now;
    const struct catalog_listener *listener = &catalog->options.listener;
    char *directory = strndup(entry->path, (size_t)(strrchr(entry->path, '/') - entry->path));
    if (!directory)
        return weir_fail(err, WEIR_NO_MEMORY, "%s: no memory", entry->path);
    enum weir_status status = check_files(catalog, model, entry, directory, err);
    if (status == WEIR_OK)
        status = engine_prepare(catalog->options.engine, model->name, entry->number, entry->path, &out->version, err);
    if (status == WEIR_OK && !model->is_loose) {
        status = samples_load(directory, engine_describe(out->version).signature, &out->samples, err);
    }
    if (status == WEIR_OK) {
        if (listener->loaded)
            engine_set_tag(out->version, listener->loaded(listener->context, out->version));
        out->was_told = true;
        status = prove(catalog, out->version, out->samples, &out->report, err);
        if (status != WEIR_OK)
            weir_fail_in(err, "%s", entry->path);
    }
    if (status == WEIR_OK &&
        (snapshot_take(entry->path, !model->is_loose, &now, err) != WEIR_OK || !snapshot_equal(&now, &entry->seen)))
        status = weir_fail(err, WEIR_NOT_READY, "%s: its files changed while it was loaded", entry->path);
    free(directory);
    return status;
}

bool loading_may_pass(enum weir_status status) {
    return status == WEIR_NO_MEMORY || status == WEIR_IO || status == WEIR_DEVICE || status == WEIR_DEVICE_LOST ||
           status == WEIR_CANCELLED || status == WEIR_DRAINING || status == WEIR_INTERNAL;
}

static void note_failure(struct catalog *catalog, struct catalog_model *model, struct entry *entry,
                         const struct weir_error *why) {
    const struct catalog_listener *listener = &catalog->options.listener;
    int64_t least_ns = RETRY_LEAST_S * CLOCK_NS_PER_S, most_ns = RETRY_MOST_S * CLOCK_NS_PER_S;
    pthread_mutex_lock(&catalog->lock);
    bool is_new = strcmp(entry->reason, why->text) != 0;
    entry->was_tried = why->status != WEIR_CANCELLED;
    entry->tried = entry->seen;
    entry->failure = why->status;
    if (loading_may_pass(why->status)) {
        int64_t wait_ns = entry->retry_wait_ns * 2;
        entry->retry_wait_ns = wait_ns < least_ns ? least_ns : wait_ns > most_ns ? most_ns : wait_ns;
        entry->retry_ns = clock_now_ns() + entry->retry_wait_ns;
    } else {
        entry->retry_ns = INT64_MAX;
    }
    entry->state = entry->version                  ? CATALOG_STATE_READY
                   : why->status == WEIR_NOT_READY ? CATALOG_STATE_INCOMPLETE
                   : why->status == WEIR_CANCELLED ? CATALOG_STATE_FOUND
                                                   : CATALOG_STATE_FAILED;
    snprintf(entry->reason, sizeof entry->reason, "%s", why->text);
    model->load_failures++;
    pthread_mutex_unlock(&catalog->lock);
    if (is_new && listener->failed)
        listener->failed(listener->context, model->name, entry->number, why);
}

/* Puts what was loaded in the place of what was there. */
static void replace(struct catalog *catalog, struct catalog_model *model, struct entry *entry, struct loaded *loaded) {
    pthread_mutex_lock(&catalog->changing);
    pthread_mutex_lock(&catalog->lock);
    struct loaded old = {.version = entry->version, .samples = entry->samples};
    entry->version = loaded->version;
    entry->samples = loaded->samples;
    entry->report = loaded->report;
    entry->loaded = entry->seen;
    entry->state = CATALOG_STATE_READY;
    entry->reason[0] = 0;
    entry->was_tried = false;
    entry->retry_wait_ns = 0;
    model->loads++;
    state_commit(catalog, model);
    if (entry == model->stable && old.version)
        catalog_tell(catalog, &(struct catalog_change){.actor = "scan",
                                                       .action = "reload",
                                                       .model = model->name,
                                                       .version = entry->number,
                                                       .status = WEIR_OK,
                                                       .text = "its files changed: what they hold now serves"});
    pthread_mutex_unlock(&catalog->changing);
    samples_destroy(old.samples);
    engine_release(old.version);
}

enum weir_status loading_run(struct catalog *catalog, struct catalog_model *model, struct entry *entry,
                             struct weir_error *err) {
    struct loaded loaded = {.version = NULL};
    struct weir_error why = {.status = WEIR_OK};
    pthread_mutex_lock(&catalog->lock);
    if (!entry->version)
        entry->state = CATALOG_STATE_LOADING;
    pthread_mutex_unlock(&catalog->lock);
    atomic_store(&catalog->loading, true);
    enum weir_status status = make(catalog, model, entry, &loaded, &why);
    atomic_store(&catalog->loading, false);
    if (status == WEIR_OK) {
        replace(catalog, model, entry, &loaded);
        return WEIR_OK;
    }
    samples_destroy(loaded.samples);
    if (entry->version || !loaded.was_told)
        engine_release(loaded.version); /* what the entry keeps counts under the same tag */
    else
        catalog_let_go(catalog, loaded.version);
    note_failure(catalog, model, entry, &why);
    return weir_fail(err, status, "%s", why.text);
}
