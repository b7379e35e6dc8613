/* The events of the status page, as text/event-stream has them: a name, and one line of JSON. Source: HTML, 9.2
 * Server-sent events. */
#ifndef WEIR_SERVER_API_UI_STATE_H
#define WEIR_SERVER_API_UI_STATE_H

#include "server/api/api.h"
#include "server/bytes.h"

/* Begins and ends an event; its data is appended in between. */
void ui_state_begin(struct bytes *out, const char *event);
void ui_state_end(struct bytes *out);

/* Appends the event `hello`: what does not change. */
void ui_state_hello(struct bytes *out, struct api *api);

/* Appends the event `health`: the document of /health. */
void ui_state_health(struct bytes *out, struct api *api);

/* Appends the event `models`: every model with its versions and its rollout, as /admin has them, and what those that
 * serve take and give. */
void ui_state_models(struct bytes *out, struct api *api);

#endif
