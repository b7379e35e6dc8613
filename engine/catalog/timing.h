/* What batches of two versions take, side by side: private to engine/catalog*. */
#ifndef WEIR_ENGINE_CATALOG_TIMING_H
#define WEIR_ENGINE_CATALOG_TIMING_H

#include "engine/catalog/parts.h"
#include "engine/engine.h"

/* Runs rows of zeros through both versions in turn, so that the quickest batches of each (engine_costs) are of the same
 * moments, and both were warm. Sizes that are free are not timed. thread: loader. */
void timing_run(struct catalog *catalog, struct version *stable, struct version *candidate);

/* How much longer than stable's the candidate's quickest batches of the same rows took: the middle one of the ratios at
 * one row, half the largest batch and the largest; the lesser of two; 0 if there is none. */
double timing_ratio(const struct engine_costs *stable, const struct engine_costs *candidate);

#endif
