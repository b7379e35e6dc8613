/* From what an operator asks to a rollout's plan. */
#ifndef WEIR_ENGINE_CATALOG_PLAN_OF_H
#define WEIR_ENGINE_CATALOG_PLAN_OF_H

#include <stdbool.h>

#include "engine/catalog_admin.h"
#include "engine/model/rollout_plan.h"
#include "engine/tensor.h"

/* Errors: INVALID, naming what is wrong. */
enum weir_status plan_of(const struct catalog_order *order, struct rollout_plan *out,
                         struct weir_error *err) WEIR_CHECKED;

/* The plan in a sentence. */
void plan_tell(const struct rollout_plan *plan, uint64_t stable, char *text, size_t size);

bool plan_is_same(const struct rollout_plan *a, const struct rollout_plan *b);

/* May a candidate of this signature answer the same requests? Errors: INVALID, naming the input or output that differs.
 */
enum weir_status plan_fits(const struct signature *stable, const struct signature *candidate,
                           struct weir_error *err) WEIR_CHECKED;

#endif
