/* The JSON body of an order to the catalog. */
#ifndef WEIR_SERVER_API_ROLLOUT_BODY_H
#define WEIR_SERVER_API_ROLLOUT_BODY_H

#include <stddef.h>

#include "engine/catalog_admin.h"
#include "engine/status.h"

/* Reads an object into the order; a member that is not there leaves it as it was:
 *   version        a number, or "v7"
 *   kind           "canary" or "shadow"
 *   steps          "5% for 10m, 25% for 10m, 100%"
 *   sticky_header  a header's name
 *   shadow_percent, compare_percent        numbers from 0 to 100
 *   auto_promote, may_shrink               true or false
 *   max_error_rate, max_p99_ratio, max_compute_ratio, max_non_finite, min_agreement, max_drift
 *                  numbers; null: no check
 *   reason         words, of a rollback
 *
 * Errors: INVALID, naming the member: no object, an unknown or doubled member, another type. */
enum weir_status rollout_body_read(const char *text, size_t size, struct catalog_order *order,
                                   struct weir_error *err) WEIR_CHECKED;

#endif
