/* What is the matter with the service, in JSON. */
#ifndef WEIR_SERVER_API_HEALTH_VIEW_H
#define WEIR_SERVER_API_HEALTH_VIEW_H

#include <stdint.h>

#include "server/api/api.h"
#include "server/bytes.h"

/* Appends the members "status" and "reasons". */
void health_view_status(struct bytes *body, const struct api_obstacles *obstacles);

/* Appends one loaded version as an object: its tensors, and what the devices say of it. NULL is null. */
void health_view_version(struct bytes *body, const struct version *version, int device_count);

/* Appends the whole object, as /health has it. thread: any. */
void health_view_write(struct bytes *body, struct api *api, const struct api_obstacles *obstacles, int64_t now_ns);

#endif
