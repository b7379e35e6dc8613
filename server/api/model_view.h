/* Models and their versions as JSON, for /admin/models and health. */
#ifndef WEIR_SERVER_API_MODEL_VIEW_H
#define WEIR_SERVER_API_MODEL_VIEW_H

#include "engine/catalog_admin.h"
#include "server/bytes.h"

/* Appends one model: its versions with state and reason, its rollout with figures. */
void model_view_write(struct bytes *out, const struct catalog_model_view *view, bool is_default);

/* Appends it in short: name, what serves, a rollout, and versions that could not be loaded. */
void model_view_write_short(struct bytes *out, const struct catalog_model_view *view);

#endif
