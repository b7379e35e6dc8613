/* Models, their versions and rollouts in Prometheus' text form. */
#ifndef WEIR_SERVER_OBSERVE_MODEL_METRICS_H
#define WEIR_SERVER_OBSERVE_MODEL_METRICS_H

#include "engine/catalog_admin.h"
#include "server/bytes.h"

/* Versions of one model that get a series of their own, the newest first; those that lie there and are not loaded get
 * none. */
enum { MODEL_METRICS_VERSIONS = 16 };

/* Appends the series of count models. thread: any. */
void model_metrics_render(const struct catalog_model_view *views, int count, struct bytes *out);

#endif
