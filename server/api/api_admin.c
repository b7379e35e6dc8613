/* /admin: models, their versions and rollouts. What changes something is an order that the catalog's threads run. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/catalog_admin.h"
#include "engine/version_number.h"
#include "server/api/api.h"
#include "server/api/model_view.h"
#include "server/api/rollout_body.h"
#include "server/http/loop.h"
#include "server/http/mailbox.h"
#include "server/http/reply.h"

enum { BODY_BYTES = 16 * 1024 };

/* One order on its way. */
struct admin_call {
    struct mail mail; /* brings the order back */
    struct catalog_order order;
    struct api *api;
    struct loop *loop;
    struct exchange *exchange; /* NULL: nobody waits */
    struct bytes body;
    bool submitted;
};

static void release(struct admin_call *call) {
    bytes_release(&call->body);
    free(call);
}

/* Appends a model. Errors: NO_MEMORY. */
static enum weir_status write_model(struct api *api, int model, struct bytes *out, struct weir_error *err) {
    struct catalog_model_view view;
    enum weir_status status = catalog_view(api->catalog, model, &view, err);
    if (status != WEIR_OK)
        return status;
    model_view_write(out, &view, model == 0);
    catalog_view_release(&view);
    return WEIR_OK;
}

/* Is the text a name of this machine, perhaps with a port behind it? */
static bool is_loopback(const char *text, size_t size) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);
        if (size >= length && strncasecmp(text, names[i], length) == 0 && (size == length || text[length] == ':'))
            return true;
    }
    return false;
}

/* A page of another site that a browser on this machine shows must not give orders, nor read by a name that leads here.
 * True: it was answered. */
static bool refuse_foreign(struct exchange *exchange, const struct request *request) {
    const struct request_field *host = request_find(request, "host"), *origin = request_find(request, "origin");
    static const char scheme[] = "http://";
    size_t skip = sizeof scheme - 1;
    bool is_foreign = host && !is_loopback(host->value, host->value_size);
    if (origin)
        is_foreign |= origin->value_size < skip || strncasecmp(origin->value, scheme, skip) != 0 ||
                      !is_loopback(origin->value + skip, origin->value_size - skip);
    if (is_foreign)
        reply_error(exchange, &(struct reply_error){.code = 403, .reason = REASON_FORBIDDEN},
                    "/admin is for this machine: Host and Origin must be 127.0.0.1, localhost or [::1]");
    return is_foreign;
}

static void list_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *body = reply_begin(exchange);
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    if (refuse_foreign(exchange, request))
        return;
    bytes_text(body, "{\"models\":[");
    for (int i = 0; i < catalog_model_count(api->catalog) && status == WEIR_OK; i++) {
        bytes_text(body, i > 0 ? "," : "");
        status = write_model(api, i, body, &err);
    }
    bytes_text(body, "]}\n");
    if (status == WEIR_OK)
        reply_json(exchange, 200, body);
    else
        reply_failure(exchange, &err);
}

static void show_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *body = reply_begin(exchange);
    struct weir_error err;
    if (refuse_foreign(exchange, request))
        return;
    int model;
    enum weir_status status = api_find_model(api, exchange->captures[0], &model, &err);
    if (status == WEIR_OK)
        status = write_model(api, model, body, &err);
    bytes_text(body, "\n");
    if (status == WEIR_OK)
        reply_json(exchange, 200, body);
    else
        reply_failure(exchange, &err);
}

static void scan_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct bytes *body = reply_begin(exchange);
    if (refuse_foreign(exchange, request))
        return;
    catalog_look(api->catalog, 0);
    bytes_text(body, "{\"action\":\"scan\",\"result\":\"the model directories are being looked at\"}\n");
    reply_json(exchange, 200, body);
}

/* Errors: INVALID. */
static enum weir_status read_version(const char *text, uint64_t *out, struct weir_error *err) {
    if (!version_number_read(text, out) || *out == 0)
        return weir_fail(err, WEIR_INVALID, "\"%.40s\" is not a version number", text);
    return WEIR_OK;
}

static void order_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct weir_error err;
    char peer[80];
    if (refuse_foreign(exchange, request))
        return;
    exchange_set_body_limit(exchange, BODY_BYTES);
    if (request->framing.content_length > BODY_BYTES) {
        reply_error(exchange, &(struct reply_error){.code = 413, .reason = REASON_TOO_LARGE},
                    "the body has more than %d bytes", BODY_BYTES);
        return;
    }
    int model;
    if (api_find_model(api, exchange->captures[0], &model, &err) != WEIR_OK) {
        reply_failure(exchange, &err);
        return;
    }
    struct admin_call *call = calloc(1, sizeof *call);
    if (!call) {
        weir_fail(&err, WEIR_NO_MEMORY, "no memory for the order");
        reply_failure(exchange, &err);
        return;
    }
    *call = (struct admin_call){.api = api, .loop = exchange->loop, .exchange = exchange};
    call->order.action = *(const enum catalog_action *)exchange->handler->kind;
    call->order.model = model;
    snprintf(call->order.actor, sizeof call->order.actor, "admin %s", exchange_peer(exchange, peer, sizeof peer));
    catalog_rollout_init(&call->order.rollout);
    if (exchange->captures[1][0] && read_version(exchange->captures[1], &call->order.version, &err) != WEIR_OK) {
        release(call);
        reply_failure(exchange, &err);
        return;
    }
    exchange->call = call;
}

static void order_body(struct exchange *exchange, const char *bytes, size_t size) {
    struct admin_call *call = exchange->call;
    bytes_append(&call->body, bytes, size);
}

/* The order has run. */
static void order_home(struct mail *mail) {
    struct admin_call *call = (struct admin_call *)mail;
    struct exchange *exchange = call->exchange;
    const struct catalog_order *order = &call->order;
    if (!exchange) {
        release(call);
        return;
    }
    exchange->call = NULL;
    if (order->status != WEIR_OK) {
        reply_failure(exchange, &order->error);
    } else {
        struct bytes *body = reply_begin(exchange);
        const char *name = catalog_name(call->api->catalog, order->model);
        bytes_printf(body, "{\"action\":\"%s\",\"model\":\"%s\",\"version\":%llu,\"result\":",
                     catalog_action_text(order->action), name, (unsigned long long)order->version);
        bytes_json_string(body, order->text, strlen(order->text));
        bytes_text(body, "}\n");
        reply_json(exchange, 200, body);
    }
    release(call);
}

/* thread: the catalog's. */
static void order_done(struct catalog_order *order) {
    struct admin_call *call = order->owner;
    struct mailbox *mailbox = &call->loop->mailbox;
    mailbox_post(mailbox, &call->mail);
    mailbox_wake(mailbox);
}

static void order_end(struct exchange *exchange) {
    struct admin_call *call = exchange->call;
    struct weir_error err = {.status = WEIR_OK};
    enum weir_status status = WEIR_OK;
    uint64_t in_path = call->order.version;
    if (call->body.failed)
        status = weir_fail(&err, WEIR_NO_MEMORY, "no memory for the order");
    else if (call->body.size > 0)
        status = rollout_body_read(call->body.data, call->body.size, &call->order, &err);
    if (status == WEIR_OK && in_path != 0 && call->order.version != in_path)
        status = weir_fail(&err, WEIR_INVALID, "the body's \"version\" is not the one of the path");
    if (status == WEIR_OK && call->order.action == CATALOG_START && call->order.version == 0)
        status = weir_fail(&err, WEIR_INVALID, "the body must name a \"version\"");
    call->mail.deliver = order_home;
    call->order.done = order_done;
    call->order.owner = call;
    if (status == WEIR_OK)
        status = catalog_submit(call->api->catalog, &call->order, &err);
    if (status == WEIR_OK) {
        call->submitted = true;
        return;
    }
    exchange->call = NULL;
    release(call);
    reply_failure(exchange, &err);
}

static void order_gone(struct exchange *exchange) {
    struct admin_call *call = exchange->call;
    exchange->call = NULL;
    if (call && call->submitted)
        call->exchange = NULL; /* what was ordered is done all the same */
    else if (call)
        release(call);
}

#define READS  .route = ROUTE_ADMIN, .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS"
#define ORDERS .route = ROUTE_ADMIN, .methods = METHOD_POST, .allow = "POST, OPTIONS"

static const struct handler list_handler = {READS, .head = list_head};
static const struct handler show_handler = {READS, .head = show_head};
static const struct handler scan_handler = {ORDERS, .head = scan_head};

/* One for each action; kind is the action. */
static const struct handler order_handlers[CATALOG_ACTION_COUNT] = {
#define ORDER_HANDLER(name, text)                                                                                      \
    [CATALOG_##name] = {ORDERS,           .head = order_head, .body = order_body,                                      \
                        .end = order_end, .gone = order_gone, .kind = &(const enum catalog_action){CATALOG_##name}},
    CATALOG_ACTION_LIST(ORDER_HANDLER)
#undef ORDER_HANDLER
};

const struct api_route api_admin_routes[] = {
    {"/admin/models", &list_handler},
    {"/admin/models/{model}", &show_handler},
    {"/admin/scan", &scan_handler},
    {"/admin/models/{model}/versions/{version}/load", &order_handlers[CATALOG_LOAD]},
    {"/admin/models/{model}/versions/{version}/unload", &order_handlers[CATALOG_UNLOAD]},
    {"/admin/models/{model}/versions/{version}/verify", &order_handlers[CATALOG_VERIFY]},
    {"/admin/models/{model}/versions/{version}/promote", &order_handlers[CATALOG_PROMOTE]},
    {"/admin/models/{model}/rollout", &order_handlers[CATALOG_START]},
    {"/admin/models/{model}/rollout/promote", &order_handlers[CATALOG_PROMOTE]},
    {"/admin/models/{model}/rollout/pause", &order_handlers[CATALOG_PAUSE]},
    {"/admin/models/{model}/rollout/resume", &order_handlers[CATALOG_RESUME]},
    {"/admin/models/{model}/rollout/rollback", &order_handlers[CATALOG_ROLL_BACK]},
    {NULL, NULL},
};
