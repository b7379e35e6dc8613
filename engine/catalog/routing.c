/* What requests ask of the catalog. */
#include <stdio.h>
#include <string.h>

#include "engine/catalog/parts.h"
#include "engine/engine.h"
#include "engine/model/traffic.h"
#include "engine/version_number.h"

int catalog_model_count(const struct catalog *catalog) {
    return catalog->model_count;
}

const char *catalog_name(struct catalog *catalog, int model) {
    pthread_mutex_lock(&catalog->lock);
    const char *name = catalog->models[model].name; /* is set once */
    pthread_mutex_unlock(&catalog->lock);
    return name;
}

int catalog_find(struct catalog *catalog, const char *name) {
    int found = -1;
    pthread_mutex_lock(&catalog->lock);
    for (int i = 0; i < catalog->model_count && found < 0; i++)
        if (strcmp(catalog->models[i].name, name) == 0)
            found = i;
    pthread_mutex_unlock(&catalog->lock);
    return found;
}

/* Why the model does not serve. Called with the lock. */
static void tell_why(const struct catalog *catalog, const struct catalog_model *model, char *text, size_t size) {
    if (!catalog->looked)
        snprintf(text, size, "the model is being loaded");
    else if (model->problem[0])
        snprintf(text, size, "%s", model->problem);
    else if (model->entry_count == 0)
        snprintf(text, size, "no version of %s lies under %.300s", model->name, model->path);
    else if (model->entries[0]->reason[0])
        snprintf(text, size, "no version of %s is ready: %s", model->name, model->entries[0]->reason);
    else
        snprintf(text, size, "no version of %s is ready", model->name);
}

bool catalog_obstacle(struct catalog *catalog, char *text, size_t size) {
    bool is_there = false;
    pthread_mutex_lock(&catalog->lock);
    for (int i = 0; i < catalog->model_count && !is_there; i++)
        if (!catalog->models[i].route.stable) {
            tell_why(catalog, &catalog->models[i], text, size);
            is_there = true;
        }
    pthread_mutex_unlock(&catalog->lock);
    return is_there;
}

struct version *catalog_stable(struct catalog *catalog, int model) {
    pthread_mutex_lock(&catalog->lock);
    struct version *version = catalog->models[model].route.stable;
    if (version)
        engine_hold(version);
    pthread_mutex_unlock(&catalog->lock);
    return version;
}

bool catalog_sticky_header(struct catalog *catalog, int model, char header[CATALOG_HEADER_BYTES]) {
    const struct route *route = &catalog->models[model].route;
    if (atomic_load_explicit(&route->rollout, memory_order_relaxed) == 0) /* so most requests take no lock here */
        return false;
    pthread_mutex_lock(&catalog->lock);
    bool is_on = route->candidate && route->sticky_header[0];
    if (is_on)
        memcpy(header, route->sticky_header, CATALOG_HEADER_BYTES);
    pthread_mutex_unlock(&catalog->lock);
    return is_on;
}

/* The version that the client insists on. Called with the lock. */
static struct version *find_forced(const struct catalog_model *model, const char *wanted, enum catalog_role *role) {
    const struct route *route = &model->route;
    if (strcmp(wanted, "stable") == 0)
        return route->stable;
    *role = CATALOG_CANDIDATE;
    if (strcmp(wanted, "canary") == 0)
        return route->candidate;
    uint64_t number;
    const struct entry *entry = version_number_read(wanted, &number) ? scan_find(model, number) : NULL;
    struct version *version = entry ? entry->version : NULL;
    if (version == route->stable)
        *role = CATALOG_STABLE;
    return version;
}

/* Called with the lock. */
static struct version *pick(struct catalog_model *model, const struct catalog_ask *ask, struct catalog_choice *out) {
    struct route *route = &model->route;
    if (ask->version)
        return find_forced(model, ask->version, &out->role);
    if (!route->candidate)
        return route->stable;
    out->rollout = route->rollout;
    bool is_candidates = ask->key ? traffic_take_key(traffic_hash(ask->key, ask->key_size), route->weight_ppm)
                                  : traffic_take(&route->weight_counter, route->weight_ppm);
    out->role = is_candidates ? CATALOG_CANDIDATE : CATALOG_STABLE;
    if (traffic_take(&route->copy_counter[out->role], is_candidates ? route->compare_ppm : route->shadow_ppm))
        out->other = is_candidates ? route->stable : route->candidate;
    return is_candidates ? route->candidate : route->stable;
}

enum weir_status catalog_route(struct catalog *catalog, const struct catalog_ask *ask, struct catalog_choice *out,
                               struct weir_error *err) {
    struct catalog_model *model = &catalog->models[ask->model];
    struct catalog_choice choice = {.model = ask->model};
    enum weir_status status = WEIR_OK;
    char text[512];
    pthread_mutex_lock(&catalog->lock);
    choice.version = pick(model, ask, &choice);
    if (choice.version) {
        engine_hold(choice.version);
        if (choice.other)
            engine_hold(choice.other);
    } else if (ask->version && model->route.stable) {
        status = weir_fail(err, WEIR_NOT_FOUND, "version \"%.40s\" of %s is not loaded", ask->version, model->name);
    } else {
        tell_why(catalog, model, text, sizeof text);
        status = weir_fail(err, WEIR_NOT_READY, "%s", text);
    }
    pthread_mutex_unlock(&catalog->lock);
    if (status == WEIR_OK)
        *out = choice;
    return status;
}

void catalog_choice_release(struct catalog_choice *choice) {
    engine_release(choice->version);
    engine_release(choice->other);
    choice->version = choice->other = NULL;
}

void catalog_note(struct catalog *catalog, const struct catalog_choice *choice, unsigned flags, int64_t latency_ns) {
    _Static_assert((int)CATALOG_ERROR == (int)OUTCOME_ERROR && (int)CATALOG_NON_FINITE == (int)OUTCOME_NON_FINITE &&
                       (int)CATALOG_LATE == (int)OUTCOME_LATE,
                   "one set of bits");
    if (choice->rollout == 0 || choice->rollout != atomic_load(&catalog->models[choice->model].route.rollout))
        return;
    outcomes_add(&catalog->models[choice->model].outcomes[choice->role], flags, latency_ns);
    if (choice->role == CATALOG_CANDIDATE && (flags & (CATALOG_ERROR | CATALOG_NON_FINITE)) &&
        !atomic_exchange(&catalog->alarmed, true)) {
        pthread_mutex_lock(&catalog->lock);
        pthread_cond_signal(&catalog->rollout_wakes);
        pthread_mutex_unlock(&catalog->lock);
    }
}
