#include "engine/graph/weights.h"

#include <stdlib.h>

#include "engine/graph/pages.h"

struct range {
    const unsigned char *begin, *end;
};

static struct range range_of(const struct graph_constant *constant) {
    return (struct range){constant->bytes, constant->bytes + constant->elements * tensor_dtype_bytes(constant->dtype)};
}

static int compare(const void *a, const void *b) {
    const struct range *left = a, *right = b;
    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* Writes whether each value is read by a live node, or is an output. */
static bool *mark_read(const struct graph *graph) {
    bool *read = calloc((size_t)graph->value_count + 1, sizeof *read);
    for (int i = 0; read && i < graph->node_count; i++)
        for (int j = 0; !graph->nodes[i].dead && j < graph->nodes[i].input_count; j++)
            if (graph->nodes[i].inputs[j] != GRAPH_NONE)
                read[graph->nodes[i].inputs[j]] = true;
    for (int i = 0; read && i < graph->output_count; i++)
        read[graph->outputs[i].value] = true;
    return read;
}

/* Does the range meet one of those, which are sorted? Equal and nested ones may be among them. */
static bool meets(const struct range *ranges, size_t count, struct range range) {
    size_t low = 0, high = count; /* the first that begins at or after the range's end */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].begin < range.end)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && ranges[low - 1].end > range.begin;
}

enum weir_status weights_sweep(struct graph *graph, struct weir_error *err) {
    if (!graph->file)
        return WEIR_OK;
    bool *read = mark_read(graph);
    struct range *ranges = calloc((size_t)graph->value_count + 1, sizeof *ranges);
    size_t count = 0;
    for (int i = 0; read && ranges && i < graph->value_count; i++) {
        const struct graph_constant *constant = graph->values[i].constant;
        if (read[i] && constant && constant->bytes && constant->elements > 0)
            ranges[count++] = range_of(constant);
    }
    bool enough = read && ranges;
    if (enough) {
        qsort(ranges, count, sizeof *ranges, compare);
        for (size_t i = 1; i < count; i++) /* each end becomes the furthest so far: shared bytes nest */
            if (ranges[i].end < ranges[i - 1].end)
                ranges[i].end = ranges[i - 1].end;
    }
    for (int i = 0; enough && i < graph->value_count; i++) {
        struct graph_constant *constant = (struct graph_constant *)(uintptr_t)graph->values[i].constant;
        if (read[i] || !constant || !constant->bytes || constant->elements == 0 ||
            meets(ranges, count, range_of(constant)))
            continue;
        pages_let_go(constant->bytes, constant->elements * tensor_dtype_bytes(constant->dtype));
        constant->bytes = NULL;
    }
    free(read);
    free(ranges);
    return enough ? WEIR_OK : weir_fail(err, WEIR_NO_MEMORY, "no memory for %d values", graph->value_count);
}

void weights_drop(struct graph *graph, const struct graph_constant *constant) {
    struct graph_constant *own = NULL;
    if (!graph->file || !constant->bytes || constant->elements == 0)
        return;
    struct range range = range_of(constant);
    for (int i = 0; i < graph->node_count; i++)
        for (int j = 0; !graph->nodes[i].dead && j < graph->nodes[i].input_count; j++) {
            if (graph->nodes[i].inputs[j] == GRAPH_NONE)
                continue;
            const struct graph_constant *other = graph->values[graph->nodes[i].inputs[j]].constant;
            if (other == constant) {
                own = (struct graph_constant *)(uintptr_t)other;
            } else if (other && other->bytes && other->elements > 0) {
                struct range theirs = range_of(other);
                if (theirs.begin < range.end && range.begin < theirs.end)
                    return;
            }
        }
    if (!own)
        return;
    pages_let_go(range.begin, (size_t)(range.end - range.begin));
    own->bytes = NULL;
}
