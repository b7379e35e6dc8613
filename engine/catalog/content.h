/* What the files of a version hold: private to engine/catalog*. Files that are copied anew are others to a snapshot,
 * and a version that a rollout has rejected must not come again for that alone. */
#ifndef WEIR_ENGINE_CATALOG_CONTENT_H
#define WEIR_ENGINE_CATALOG_CONTENT_H

#include "engine/catalog/parts.h"

/* Reads the entry's files and notes in it what they hold, unless that is known. What cannot be read, or changes
 * meanwhile, stays unknown. thread: loader, without locks. */
void content_read(struct catalog *catalog, const struct catalog_model *model, struct entry *entry);

#endif
