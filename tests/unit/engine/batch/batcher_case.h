/* A batcher of eight rows a batch, and one batch to take from it: what the batcher's tests begin with. Included once,
 * by the test itself. */
#ifndef WEIR_TESTS_UNIT_ENGINE_BATCH_BATCHER_CASE_H
#define WEIR_TESTS_UNIT_ENGINE_BATCH_BATCHER_CASE_H

#include <criterion/criterion.h>
#include <pthread.h>

#include "engine/batch/batcher.h"
#include "engine/clock.h"
#include "engine/model/cost_table.h"
#include "engine/model/model.h"
#include "tests/fakes/fake_job.h"
#include "tests/fakes/fake_version.h"

enum { ROWS = 8 };

static struct batcher *batcher;
static struct batch batch;
static struct weir_error err;

static inline void batcher_case_begin(void) {
    batcher = batcher_create(&(struct batcher_options){.batch_rows = ROWS});
    cr_assert_not_null(batcher);
    cr_assert_eq(batch_init(&batch, ROWS, &err), WEIR_OK);
}

static inline void batcher_case_end(void) {
    batcher_destroy(batcher);
    batch_release(&batch);
}

/* One row takes one_ns from now on, a full batch all_ns. */
static inline void batcher_case_learn(int64_t one_ns, int64_t all_ns) {
    struct cost_table *costs = version_costs(fake_version(0), 0);
    cost_table_init(costs, ROWS);
    cost_table_learn(costs, &(struct tensor_dims){.rows = 1}, one_ns);
    cost_table_learn(costs, &(struct tensor_dims){.rows = ROWS}, all_ns);
}

static inline void add(struct fake_job *fake) {
    cr_assert_eq(batcher_add(batcher, &fake->job, clock_now_ns(), &err), WEIR_OK);
}

/* A new job of this many rows. */
static inline void add_rows(struct fake_job *fake, uint32_t rows) {
    fake_job_init(fake, rows, 0);
    add(fake);
}

static inline bool take(void) {
    return batcher_take(batcher, 0, &batch, false);
}

static inline int end(void) {
    return batcher_end(batcher, &batch, clock_now_ns());
}

#endif
