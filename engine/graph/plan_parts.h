/* What the inside of engine/ sees of a plan: the program for the backends, the facts for the description. */
#ifndef WEIR_ENGINE_GRAPH_PLAN_PARTS_H
#define WEIR_ENGINE_GRAPH_PLAN_PARTS_H

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
    struct signature signature;
    struct program program;
    struct plan_facts facts;
    uint32_t fixed_batch;
};

/* As plan_load, from memory; directory is that of external data, -1: there is none. thread: loader. */
enum weir_status plan_read(const void *bytes, size_t size, int directory, struct plan **out,
                           struct weir_error *err) WEIR_CHECKED;

#endif
