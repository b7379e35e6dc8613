#include "engine/model/cost_table.h"

#include <math.h>
#include <string.h>

enum { SCALED_BATCHES = 3 }; /* the first batches of new sizes touch new memory: the last of these sets the scale */

void cost_table_init(struct cost_table *table, uint32_t largest_batch) {
    memset(table, 0, sizeof *table);
    table->count = 1;
    table->largest_batch = largest_batch;
    cost_model_init(&table->entries[0].model, largest_batch);
}

static double distance(const struct tensor_dims *a, const struct tensor_dims *b) {
    double sum = 0;
    for (int i = 0; i < a->free_count; i++)
        sum += fabs(log(((double)a->free[i] + 1) / ((double)b->free[i] + 1)));
    return sum;
}

/* The entry of these free sizes, or the nearest. */
static int find(const struct cost_table *table, const struct tensor_dims *dims) {
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i < table->count; i++) {
        const struct cost_entry *entry = &table->entries[i];
        bool same_kind = entry->dims.free_count == dims->free_count;
        /* Sizes that are not known: the entry used last is the nearest. */
        double far = same_kind ? distance(dims, &entry->dims) : (double)(table->clock - entry->used);
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return best;
}

const struct cost_model *cost_table_find(const struct cost_table *table, const struct tensor_dims *dims) {
    return &table->entries[find(table, dims)].model;
}

bool cost_table_knows(const struct cost_table *table, const struct tensor_dims *dims) {
    return table->clock > 0 && tensor_dims_share(&table->entries[find(table, dims)].dims, dims);
}

static int oldest(const struct cost_table *table) {
    int best = 0;
    for (int i = 1; i < table->count; i++)
        if (table->entries[i].used < table->entries[best].used)
            best = i;
    return best;
}

void cost_table_learn(struct cost_table *table, const struct tensor_dims *dims, int64_t took_ns) {
    if (dims->rows == 0 || took_ns <= 0)
        return;
    struct cost_entry *entry = &table->entries[find(table, dims)];
    bool is_first = table->clock++ == 0;
    if (!is_first && !tensor_dims_share(&entry->dims, dims)) {
        struct cost_model nearest = entry->model;
        entry = &table->entries[table->count < COST_TABLE_ENTRIES ? table->count++ : oldest(table)];
        *entry = (struct cost_entry){.model = nearest};
    } else if (is_first) {
        entry->learned = SCALED_BATCHES; /* nothing to scale: the cost model sets itself */
    }
    entry->dims = *dims;
    entry->used = table->clock;
    if (entry->learned < SCALED_BATCHES) {
        entry->learned++;
        cost_model_scale(&entry->model, dims->rows, took_ns);
    } else {
        cost_model_learn(&entry->model, dims->rows, took_ns);
    }
}
