/* Memory given back to the system page by page, while its addresses stay taken. */
#ifndef WEIR_ENGINE_GRAPH_PAGES_H
#define WEIR_ENGINE_GRAPH_PAGES_H

#include <stddef.h>

/* Lets go of the whole pages within the range, whose bytes are lost (they read as zero). The memory must be the
 * process's own: taken by malloc or as a private anonymous mapping. Nobody may use those bytes again. */
void pages_let_go(const void *bytes, size_t size);

#endif
