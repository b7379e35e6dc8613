/* What batches of two versions take, side by side: private to engine/catalog*. */
#ifndef WEIR_ENGINE_CATALOG_TIMING_H
#define WEIR_ENGINE_CATALOG_TIMING_H

#include "engine/catalog/parts.h"
#include "engine/engine.h"

/* Runs rows of zeros through both versions in turn, so that both are warm and meet the same moments. Returns how many
 * times as long as stable's the candidate's batch takes (paired.h), of one row or, where it is short, of half a batch,
 * whichever is worse; 0: not known, as where sizes are free or a run failed. Takes a tenth of a second, up to 2 s where
 * the machine is busy, or as long as a few batches of each. thread: loader, without locks. */
double timing_run(struct catalog *catalog, struct version *stable, struct version *candidate);

/* The same for a rollout of the entry, which is loaded, beside stable; TIMING_NEVER where its plan does not check the
 * compute time. thread: loader, without locks. */
enum { TIMING_NEVER = -1 };
double timing_of(struct catalog *catalog, const struct catalog_model *model, const struct entry *entry,
                 const struct rollout_plan *plan);

/* Times a candidate that has not been timed, once: one whose rollout goes on after a restart. thread: loader, without
 * locks. */
void timing_catch_up(struct catalog *catalog, struct catalog_model *model);

#endif
