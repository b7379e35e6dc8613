/* GET HEALTH_PATH, HEALTH_PATH/live, HEALTH_PATH/ready and /. */
#include "server/api/api.h"
#include "server/api/health_view.h"
#include "server/http/loop.h"
#include "server/http/reply.h"

static void health_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    struct api_obstacles obstacles;
    (void)request;
    api_obstacles(api, &obstacles);
    struct bytes *body = reply_begin(exchange);
    health_view_write(body, api, &obstacles, exchange->loop->now_ns);
    bytes_text(body, "\n");
    reply_json(exchange, obstacles.count == 0 ? 200 : 503, body);
}

static void live_head(struct exchange *exchange, const struct request *request) {
    (void)request;
    struct bytes *body = reply_begin(exchange);
    bytes_text(body, "{\"status\":\"alive\"}\n");
    reply_json(exchange, 200, body);
}

static void ready_head(struct exchange *exchange, const struct request *request) {
    struct api_obstacles obstacles;
    (void)request;
    api_obstacles(exchange->context, &obstacles);
    struct bytes *body = reply_begin(exchange);
    bytes_text(body, "{");
    health_view_status(body, &obstacles);
    bytes_text(body, "}\n");
    reply_json(exchange, obstacles.count == 0 ? 200 : 503, body);
}

#define READS .methods = METHOD_GET | METHOD_HEAD, .allow = "GET, HEAD, OPTIONS"

const struct handler api_health_handler = {.route = ROUTE_HEALTH, READS, .head = health_head};
const struct handler api_live_handler = {.route = ROUTE_HEALTH, READS, .head = live_head};
const struct handler api_ready_handler = {.route = ROUTE_HEALTH, READS, .head = ready_head};
const struct handler api_root_handler = {.route = ROUTE_ROOT, READS, .head = live_head};
