/* The status page's data: a point a second, kept for 15 minutes, and what the pages that are open are told. */
#ifndef WEIR_SERVER_API_UI_H
#define WEIR_SERVER_API_UI_H

#include "engine/status.h"
#include "server/bytes.h"
#include "server/http/exchange.h"

struct api;
struct ui;

enum { UI_MOST_CLIENTS = 16, UI_PERIOD_MS = 1000 };

/* loops: whose connections may listen; they outlive the ui. Errors: NO_MEMORY. Owner: the caller, ui_destroy after the
 * loops have stopped. */
enum weir_status ui_create(struct api *api, struct loop *loops, int loop_count, struct ui **out,
                           struct weir_error *err) WEIR_CHECKED;
void ui_destroy(struct ui *ui);

/* Takes a point, and sends it with what else has changed to those who listen. thread: main, each UI_PERIOD_MS. */
void ui_tick(struct ui *ui);

/* What the pages are told of the configuration, a JSON object without line breaks; copied. thread: main. */
void ui_set_config(struct ui *ui, const struct bytes *json);

/* Answers with the stream of events: first what there is, then what happens, until the client leaves or the server
 * drains; or refuses. thread: the exchange's loop. */
void ui_join(struct ui *ui, struct exchange *exchange);

/* The exchange of ui_join ends. */
void ui_leave(struct ui *ui, struct exchange *exchange);

#endif
