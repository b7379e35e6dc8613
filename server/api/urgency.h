/* How urgent a request is: the deadline and priority that its header fields ask for. */
#ifndef WEIR_SERVER_API_URGENCY_H
#define WEIR_SERVER_API_URGENCY_H

#include <stdint.h>

#include "engine/job.h"
#include "engine/status.h"
#include "server/http/exchange.h"

/* The time there is for the request, counted from its head: the shortest of limit_ns, X-Request-Timeout-Ms,
 * grpc-timeout and x-envoy-expected-rq-timeout-ms. What a client wrote itself (the first) must be well formed; what
 * proxies add is ignored when it is not. Errors: INVALID, naming the field. Source of the second: gRPC over HTTP/2,
 * "Timeout". */
enum weir_status urgency_timeout(const struct request *request, int64_t limit_ns, int64_t *out_ns,
                                 struct weir_error *err) WEIR_CHECKED;

/* X-Priority: high, normal or low; normal without it. Errors: INVALID. */
enum weir_status urgency_priority(const struct request *request, enum job_priority *out,
                                  struct weir_error *err) WEIR_CHECKED;

struct api;

/* How many slots a request of this priority leaves to others: low half of them, normal an eighth while requests of high
 * priority are about. So the least important are refused first, and what is admitted keeps its place. */
uint32_t urgency_spared_slots(struct api *api, enum job_priority priority, int64_t now_ns);

#endif
