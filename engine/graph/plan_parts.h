/* What the inside of engine/ sees of a plan. */
#ifndef WEIR_ENGINE_GRAPH_PLAN_PARTS_H
#define WEIR_ENGINE_GRAPH_PLAN_PARTS_H

#include <pthread.h>

#include "engine/graph/graph.h"
#include "engine/graph/plan.h"
#include "engine/graph/program.h"

/* How often the file's graph has an operator, after dead code is gone. */
struct plan_operator {
    const char *name;
    int count;
};

struct plan_facts {
    int64_t opset;
    int64_t ir_version;
    const char *producer;
    const struct plan_operator *operators;
    int operator_count;
    size_t parameters; /* elements of float constants that the live nodes use */
};

struct plan {
    struct graph *graph;
    unsigned char *file; /* the file's bytes, in a private mapping; NULL: the plan was read from memory */
    size_t file_size;
    struct signature signature;
    struct plan_facts facts;
    uint32_t fixed_batch, max_rows;
    char max_rows_reason[320];
    bool narrows; /* float64 in the file */
    struct tensor_dims example_dims;
    struct program example;
    pthread_mutex_t mutex; /* held while a program is made: constants are converted on first use */
};

/* As plan_load, from memory, which must outlive the plan; directory is that of external data, -1: there is none.
 * thread: loader. */
enum weir_status plan_read(const void *bytes, size_t size, int directory, struct plan **out,
                           struct weir_error *err) WEIR_CHECKED;

#endif
