/* Independence: do the rows of a batch stay apart? Rows of strangers run together, so every value must either not
 * depend on the rows at all, or hold each row in one place along one dimension. */
#ifndef WEIR_ENGINE_GRAPH_INDEPENDENCE_H
#define WEIR_ENGINE_GRAPH_INDEPENDENCE_H

#include "engine/graph/program.h"

/* Where the rows are in a tensor: dimension axis = outer * rows * inner, the row being the middle digit. */
struct independence_place {
    int axis; /* -1: the tensor is the same for all rows */
    size_t outer, inner;
};

/* Follows the rows through the program, which was made for `rows` (at least 2) of them. inputs: where the rows are in
 * each input (axis -1: shared). Writes those of the outputs, outer and inner being 1. Errors: UNSUPPORTED, saying which
 * step mixes rows; NO_MEMORY. */
enum weir_status independence_check(const struct program *program, uint32_t rows,
                                    const struct independence_place *inputs, struct independence_place *outputs,
                                    struct weir_error *err) WEIR_CHECKED;

/* Do two programs of one graph, made for different numbers of rows and followed before, compute with the same numbers?
 * Else a row's result depends on how many others share its batch. Errors: UNSUPPORTED, saying which step. */
enum weir_status independence_compare(const struct program *a, const struct program *b,
                                      struct weir_error *err) WEIR_CHECKED;

#endif
