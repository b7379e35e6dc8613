/* What batches of a version take on a device, for each set of free sizes that comes (a sequence of 8 costs less than
 * one of 512): a small table of cost models. The sizes that have not run for longest make room for new ones. A version
 * without free dimensions has one entry. Not thread-safe: the batcher keeps it under its lock. */
#ifndef WEIR_ENGINE_MODEL_COST_TABLE_H
#define WEIR_ENGINE_MODEL_COST_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/model/cost_model.h"
#include "engine/tensor.h"

enum { COST_TABLE_ENTRIES = 16 };

struct cost_entry {
    struct tensor_dims dims; /* the free sizes; rows mean nothing */
    struct cost_model model;
    uint64_t learned; /* batches that it has learned from, up to a few */
    uint64_t used;    /* the table's clock when it last learned */
};

struct cost_table {
    struct cost_entry entries[COST_TABLE_ENTRIES];
    int count; /* an empty table has one entry that knows nothing */
    uint32_t largest_batch;
    uint64_t clock;
};

void cost_table_init(struct cost_table *table, uint32_t largest_batch);

/* The model of these free sizes, else that of the nearest (by the sum of the ratios' logarithms). Where dims holds no
 * free sizes, since they are not known yet, that of the sizes that ran last. */
const struct cost_model *cost_table_find(const struct cost_table *table, const struct tensor_dims *dims);

/* Has a batch of these free sizes run? */
bool cost_table_knows(const struct cost_table *table, const struct tensor_dims *dims);

/* A batch of dims took took_ns. Sizes that are new begin with the line of the nearest, scaled to what their first
 * batches took. */
void cost_table_learn(struct cost_table *table, const struct tensor_dims *dims, int64_t took_ns);

#endif
