/* Memory that is taken piece by piece and released all at once: what belongs to one graph or one plan. */
#ifndef WEIR_ENGINE_GRAPH_REGION_H
#define WEIR_ENGINE_GRAPH_REGION_H

#include <stdbool.h>
#include <stddef.h>

struct region_block;

/* All zero is an empty region. */
struct region {
    struct region_block *blocks;
    size_t left_bytes; /* free at the end of the newest block */
};

/* Takes count * bytes_each zeroed bytes, 64-byte aligned when the piece is 4 KiB or more, else 16-byte. NULL: out of
 * memory, or the product overflows. Owner: the region. */
void *region_take(struct region *region, size_t count, size_t bytes_each);

/* Takes a copy of size bytes with a NUL behind them. NULL: out of memory. */
char *region_copy_text(struct region *region, const void *bytes, size_t size);

/* Does a piece of the region begin or lie at this address? */
bool region_holds(const struct region *region, const void *piece);

void region_release(struct region *region);

#endif
