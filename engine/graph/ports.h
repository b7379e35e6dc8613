/* Ports: what the free dimensions of a graph's inputs mean. A file does not say which of them is the batch; there are a
 * few readings, the likeliest first, and the plan takes the first that works. */
#ifndef WEIR_ENGINE_GRAPH_PORTS_H
#define WEIR_ENGINE_GRAPH_PORTS_H

#include "engine/graph/graph.h"

/* One reading: which dimension is the batch. */
struct ports_reading {
    bool has_batch;
    bool is_fixed;    /* dimension 0 of every input, of one size */
    bool every_first; /* dimension 0 of every input, whatever it is called */
    int symbol;       /* else the free dimension of that number, in order of appearance */
    const char *name; /* what the file calls the batch; "" if nothing */
};

enum { PORTS_MAX_READINGS = TENSOR_MAX_FREE + 4 };

/* Writes the readings, likeliest first, and returns how many there are: at least one, and the last has no batch.
 * Errors: UNSUPPORTED (too many free dimensions; an input of no known type or shape). */
enum weir_status ports_read(const struct graph *graph, struct ports_reading readings[PORTS_MAX_READINGS], int *count,
                            struct weir_error *err) WEIR_CHECKED;

/* Does the name of a dimension say that it is a batch? */
bool ports_names_batch(const char *name);

/* Makes the inputs' half of the signature under that reading. Errors: TOO_LARGE, UNSUPPORTED, NO_MEMORY. Owner: the
 * caller, by signature_release, also after an error. */
enum weir_status ports_inputs(const struct graph *graph, const struct ports_reading *reading,
                              struct signature *signature, struct weir_error *err) WEIR_CHECKED;

/* Where rows are in an output, and the shape it has in the example program. */
struct ports_output {
    int batch_axis; /* -1: nowhere */
    struct tensor_shape shape;
    enum tensor_dtype dtype;
};

/* Adds the outputs' half. Errors: NO_MEMORY. */
enum weir_status ports_outputs(const struct graph *graph, const struct tensor_dims *example,
                               const struct ports_output *outputs, struct signature *signature,
                               struct weir_error *err) WEIR_CHECKED;

#endif
