#include "engine/catalog.h"

#include <stdio.h>

#include "engine/engine.h"
#include "engine/model/repository.h"

enum weir_status catalog_load(struct engine *engine, const char *model_path, const char *model_name,
                              const struct catalog_listener *listener, struct catalog_result *out,
                              struct weir_error *err) {
    struct repository_listing listing;
    enum weir_status status = repository_scan(model_path, model_name, &listing, err);
    if (status != WEIR_OK)
        return status;
    struct catalog_result result = {.found = (uint32_t)listing.version_count};
    snprintf(result.model, sizeof result.model, "%s", listing.name);
    for (size_t i = 0; i < listing.remark_count; i++)
        if (listener->passed_over)
            listener->passed_over(listener->context, listing.remarks[i]);
    for (size_t i = 0; i < listing.version_count && !result.loaded; i++) {
        struct weir_error why;
        const struct repository_version *version = &listing.versions[i];
        struct version *ready;
        enum weir_status loaded = engine_prepare(engine, listing.name, version->number, version->path, &ready, &why);
        if (loaded == WEIR_OK) {
            if (listener->loaded)
                listener->loaded(listener->context, listing.name, version->number);
            engine_publish(engine, ready);
            result.loaded = true;
            result.number = version->number;
            status = WEIR_OK;
            break;
        }
        if (listener->failed)
            listener->failed(listener->context, listing.name, version->number, &why);
        if (i == 0) {
            status = loaded;
            weir_fail(err, loaded, "%s", why.text);
        }
    }
    repository_listing_release(&listing);
    if (status == WEIR_OK)
        *out = result;
    return status;
}
