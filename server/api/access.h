/* What the endpoints know of a request, for its line in the access log and for its trace. Of a request that has neither
 * nothing is kept. thread: the loop's. */
#ifndef WEIR_SERVER_API_ACCESS_H
#define WEIR_SERVER_API_ACCESS_H

#include <stdbool.h>

#include "server/http/exchange.h"

struct job;

/* The model and version that answer, or would have. */
void access_put_model(struct exchange *exchange, const char *name, uint64_t version);

/* Rows, and of a job that is home (or was never sent) where it ran and what that took. */
void access_put_job(struct exchange *exchange, const struct job *job, bool is_home);

#endif
