/* The loader's look at a model's directory: what is there, what of it is to be loaded, and what is not needed any more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/catalog/content.h"
#include "engine/catalog/parts.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/model/manifest.h"

#define REST_MOST_NS (5 * CLOCK_NS_PER_S)

int64_t scan_rest_ns(const struct catalog *catalog) {
    return catalog->scan_ns < REST_MOST_NS ? catalog->scan_ns : REST_MOST_NS;
}

struct entry *scan_find(const struct catalog_model *model, uint64_t number) {
    for (size_t i = 0; i < model->entry_count; i++)
        if (model->entries[i]->number == number)
            return model->entries[i];
    return NULL;
}

void scan_unload(struct catalog *catalog, struct entry *entry) {
    pthread_mutex_lock(&catalog->lock);
    struct version *version = entry->version;
    struct samples *samples = entry->samples;
    entry->version = NULL;
    entry->samples = NULL;
    if (entry->state == CATALOG_STATE_READY)
        entry->state = CATALOG_STATE_FOUND;
    pthread_mutex_unlock(&catalog->lock);
    samples_destroy(samples);
    catalog_let_go(catalog, version);
}

static void free_entry(struct entry *entry) {
    samples_destroy(entry->samples);
    engine_release(entry->version);
    free(entry->path);
    free(entry);
}

static void free_remarks(struct catalog_model *model) {
    for (size_t i = 0; i < model->remark_count; i++)
        free(model->remarks[i]);
    free(model->remarks);
    model->remarks = NULL;
    model->remark_count = 0;
}

void scan_release(struct catalog_model *model) {
    for (size_t i = 0; i < model->entry_count; i++)
        free_entry(model->entries[i]);
    free(model->entries);
    free_remarks(model);
}

/* Tells the remarks that were not there at the last look, and keeps them. */
static void tell_remarks(struct catalog *catalog, struct catalog_model *model, struct repository_listing *listing) {
    const struct catalog_listener *listener = &catalog->options.listener;
    for (size_t i = 0; i < listing->remark_count; i++) {
        bool is_old = false;
        for (size_t k = 0; k < model->remark_count && !is_old; k++)
            is_old = strcmp(model->remarks[k], listing->remarks[i]) == 0;
        if (!is_old && listener->passed_over)
            listener->passed_over(listener->context, model->name, listing->remarks[i]);
    }
    free_remarks(model);
    model->remarks = listing->remarks;
    model->remark_count = listing->remark_count;
    listing->remarks = NULL;
    listing->remark_count = 0;
}

/* Adds an entry in its place. */
static bool add_entry(struct catalog *catalog, struct catalog_model *model, const struct repository_version *found) {
    struct entry *entry = calloc(1, sizeof *entry);
    char *path = strdup(found->path);
    if (!entry || !path) {
        free(entry);
        free(path);
        return false;
    }
    *entry = (struct entry){.number = found->number, .path = path, .was_found = true};
    pthread_mutex_lock(&catalog->lock);
    struct entry **more = reallocarray(model->entries, model->entry_count + 1, sizeof *more);
    if (more) {
        size_t at = 0;
        while (at < model->entry_count && more[at]->number > found->number)
            at++;
        memmove(&more[at + 1], &more[at], (model->entry_count - at) * sizeof *more);
        more[at] = entry;
        model->entries = more;
        model->entry_count++;
    }
    pthread_mutex_unlock(&catalog->lock);
    if (!more)
        free_entry(entry);
    return more != NULL;
}

/* Takes over what was found. Both lists are newest first. */
static enum weir_status merge(struct catalog *catalog, struct catalog_model *model,
                              const struct repository_listing *listing, struct weir_error *err) {
    for (size_t i = 0; i < model->entry_count; i++)
        model->entries[i]->was_found = false;
    size_t at = 0;
    for (size_t i = 0; i < listing->version_count; i++) {
        const struct repository_version *found = &listing->versions[i];
        while (at < model->entry_count && model->entries[at]->number > found->number)
            at++;
        if (at < model->entry_count && model->entries[at]->number == found->number) {
            struct entry *entry = model->entries[at];
            entry->was_found = true;
            if (strcmp(entry->path, found->path) == 0)
                continue;
            char *path = strdup(found->path); /* v7 became 7 */
            if (path) {
                free(entry->path);
                entry->path = path;
            }
        } else if (!add_entry(catalog, model, found)) {
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for the versions of %s", model->name);
        }
    }
    pthread_mutex_lock(&catalog->lock);
    for (size_t i = 0; i < model->entry_count; i++)
        model->entries[i]->on_disk = model->entries[i]->was_found;
    pthread_mutex_unlock(&catalog->lock);
    return WEIR_OK;
}

/* Were all the files left alone for as long as this? By the kernel's own time of change, which no copying tool sets
 * back. */
static bool is_old(const struct snapshot *snapshot, int64_t quiet_ns) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * CLOCK_NS_PER_S + now.tv_nsec - snapshot->changed_unix_ns >= quiet_ns;
}

/* Is there a manifest, and is all there that it names? */
static bool is_sealed(const struct catalog_model *model, const struct entry *entry) {
    bool is_present = false;
    struct weir_error ignored;
    if (model->is_loose)
        return false;
    char *directory = strndup(entry->path, (size_t)(strrchr(entry->path, '/') - entry->path));
    bool is_whole = directory && manifest_sizes(directory, &is_present, &ignored) == WEIR_OK && is_present;
    free(directory);
    return is_whole;
}

enum look { LOOK_NOTHING, LOOK_SETTLING, LOOK_LOADABLE };

/* Looks at the entry's files: is there something new to load, and is it at rest? */
static enum look look_at(struct catalog *catalog, const struct catalog_model *model, struct entry *entry) {
    struct snapshot now;
    struct weir_error err;
    int64_t now_ns = clock_now_ns();
    if (!entry->on_disk)
        return LOOK_NOTHING;
    if (snapshot_take(entry->path, !model->is_loose, &now, &err) != WEIR_OK) {
        if (entry->version)
            return LOOK_NOTHING;
        pthread_mutex_lock(&catalog->lock);
        snprintf(entry->reason, sizeof entry->reason, "%s", err.text);
        pthread_mutex_unlock(&catalog->lock);
        return LOOK_SETTLING;
    }
    if (entry->version && snapshot_equal(&now, &entry->loaded)) {
        entry->seen = now;
        entry->seen_ns = now_ns;
        return LOOK_NOTHING;
    }
    if (entry->seen_ns == 0 || !snapshot_equal(&now, &entry->seen)) {
        entry->was_old = entry->seen_ns == 0 && is_old(&now, scan_rest_ns(catalog));
        entry->seen = now;
        entry->seen_ns = now_ns;
    }
    if (entry->was_tried && snapshot_equal(&now, &entry->tried) && now_ns < entry->retry_ns)
        return LOOK_NOTHING;
    if (now_ns - entry->seen_ns >= scan_rest_ns(catalog) || entry->was_old || is_sealed(model, entry))
        return LOOK_LOADABLE;
    return LOOK_SETTLING;
}

/* May the policy count this version at all? Those that a choice has left behind are loaded only where more than the
 * serving one is wanted. */
static bool is_eligible(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry) {
    const struct rollout_state *state = state_of(catalog, model);
    if ((!entry->on_disk && !entry->version) || entry->is_unwanted || state_is_rejected(catalog, model, entry))
        return false;
    if (!state || state->stable == 0 || model->policy.is_list || model->policy.latest > 1)
        return true;
    const struct entry *chosen = scan_find(model, state->stable);
    if (!model->stable && (!chosen || (!chosen->version && chosen->was_tried)))
        return true; /* what was chosen is lost: any other is better than none */
    bool is_new = entry->number > state->newest_seen || state_is_mended(catalog, model, entry);
    return entry->number == state->stable || (is_new && entry->number > state->stable);
}

/* Must it be loaded, whatever the policy says? */
static bool is_needed(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry) {
    const struct rollout_state *state = state_of(catalog, model);
    if (entry == model->stable || entry == model->candidate || entry->is_wanted)
        return true;
    const struct rollout_plan *rollout = state_rollout(catalog, model);
    return (state && entry->number == state->stable) || (rollout && entry->number == rollout->candidate);
}

static bool serves(const struct catalog_model *model, const struct entry *entry) {
    return entry == model->stable || entry == model->candidate;
}

/* Marks in wanted what is to be loaded, and returns the first that can be loaded now; NULL: none. *settling: something
 * must be looked at again soon. */
static struct entry *select_entries(struct catalog *catalog, struct catalog_model *model, bool *wanted,
                                    uint64_t *numbers, bool *settling) {
    const struct rollout_state *state = state_of(catalog, model);
    struct entry *next = NULL;
    size_t count = 0;
    for (size_t i = 0; i < model->entry_count; i++) {
        struct entry *entry = model->entries[i];
        bool is_noted = state_has_note(catalog, model, entry->number);
        enum look look = is_noted ? look_at(catalog, model, entry) : LOOK_NOTHING;
        bool is_counted = is_eligible(catalog, model, entry);
        if (is_counted)
            numbers[count++] = entry->number;
        wanted[i] = is_needed(catalog, model, entry) ||
                    (is_counted && version_policy_wants(&model->policy, numbers, count - 1));
        if (!wanted[i])
            continue;
        if (!is_noted)
            look = look_at(catalog, model, entry);
        if (look == LOOK_LOADABLE && entry->version && rollout_is_on(model->rollout) && serves(model, entry)) {
            if (entry == model->candidate)
                changes_candidate_changed(catalog, model);
            look = LOOK_NOTHING; /* the two of a rollout stay what they are */
        }
        *settling |= look == LOOK_SETTLING;
        if (look == LOOK_LOADABLE && (!next || (state && entry->number == state->stable)))
            next = entry; /* what was chosen comes first */
        if (is_counted && !entry->version && look != LOOK_LOADABLE)
            count--; /* an older one may take its place */
    }
    return next;
}

/* Unloads and forgets what is wanted no more. Called with `changing`. */
static void tidy(struct catalog *catalog, struct catalog_model *model, const bool *wanted) {
    for (size_t i = 0; i < model->entry_count; i++)
        if (model->entries[i]->version && !wanted[i] && !serves(model, model->entries[i]))
            scan_unload(catalog, model->entries[i]);
    /* Those that are gone go to the end of the list, and out of it. */
    size_t kept = 0, count = model->entry_count;
    pthread_mutex_lock(&catalog->lock);
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = model->entries[i];
        if (!entry->on_disk && !entry->version)
            continue;
        model->entries[i] = model->entries[kept];
        model->entries[kept++] = entry;
    }
    model->entry_count = kept;
    pthread_mutex_unlock(&catalog->lock);
    for (size_t i = kept; i < count; i++)
        free_entry(model->entries[i]);
}

static bool was_rejected(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry) {
    pthread_mutex_lock(&catalog->changing);
    bool was = state_is_rejected(catalog, model, entry);
    pthread_mutex_unlock(&catalog->changing);
    return was;
}

/* Loads what is wanted, one after the other, and chooses what serves. *settling: some files must come to rest first. */
static void load_wanted(struct catalog *catalog, struct catalog_model *model, bool *settling) {
    for (;;) {
        bool *wanted = calloc(model->entry_count + 1, sizeof *wanted);
        uint64_t *numbers = calloc(model->entry_count + 1, sizeof *numbers);
        struct entry *next = NULL;
        pthread_mutex_lock(&catalog->changing);
        *settling = false;
        if (wanted && numbers)
            next = select_entries(catalog, model, wanted, numbers, settling);
        if (wanted && numbers && !next) {
            state_choose(catalog, model);
            tidy(catalog, model, wanted);
        }
        bool is_anew = next && !is_needed(catalog, model, next) && state_is_mended(catalog, model, next);
        const struct rollout_plan *rollout = state_rollout(catalog, model);
        bool is_candidate = next && rollout && rollout->candidate == next->number;
        pthread_mutex_unlock(&catalog->changing);
        free(wanted);
        free(numbers);
        struct weir_error why;
        if (!next || catalog->stopping)
            return;
        if (is_anew)
            content_read(catalog, model, next);
        if (is_anew && was_rejected(catalog, model, next))
            continue; /* copied anew, but the same */
        enum weir_status status = loading_run(catalog, model, next, &why);
        if (is_candidate)
            content_read(catalog, model, next); /* should its rollout reject it */
        if (status != WEIR_OK)
            continue; /* the entry says why */
        pthread_mutex_lock(&catalog->changing);
        state_choose(catalog, model); /* at once: others may take long to load */
        pthread_mutex_unlock(&catalog->changing);
    }
}

/* Why the newest version that was tried does not serve. */
static enum weir_status newest_failure(const struct catalog_model *model, struct weir_error *err) {
    for (size_t i = 0; i < model->entry_count; i++)
        if (model->entries[i]->was_tried)
            return weir_fail(err, model->entries[i]->failure, "%s", model->entries[i]->reason);
    return WEIR_OK;
}

enum weir_status scan_model(struct catalog *catalog, struct catalog_model *model, struct weir_error *err) {
    struct repository_listing listing;
    enum weir_status status = repository_scan(model->path, model->given_name, &listing, err);
    pthread_mutex_lock(&catalog->lock);
    snprintf(model->problem, sizeof model->problem, "%s", status == WEIR_OK ? "" : err->text);
    if (status == WEIR_OK && !model->name[0])
        snprintf(model->name, sizeof model->name, "%s", listing.name);
    pthread_mutex_unlock(&catalog->lock);
    if (status != WEIR_OK)
        return status;
    model->is_loose = listing.is_loose;
    tell_remarks(catalog, model, &listing);
    status = merge(catalog, model, &listing, err);
    repository_listing_release(&listing);
    if (status != WEIR_OK)
        return status;
    do
        load_wanted(catalog, model, &model->is_settling);
    while (model->is_settling && !catalog->looked && !model->stable && catalog_rest(catalog)); /* only at the start */
    return model->stable ? WEIR_OK : newest_failure(model, err);
}
