#include "engine/model/cost_table.h"

#include <criterion/criterion.h>

#include "engine/clock.h"

enum { LARGEST = 8, MS = 1000000 };

static struct cost_table table;

static void setup(void) {
    cost_table_init(&table, LARGEST);
}

TestSuite(cost_table, .init = setup);

static struct tensor_dims sized(uint32_t rows, int64_t size) {
    return (struct tensor_dims){.rows = rows, .free_count = 1, .free = {size}};
}

static void learn(uint32_t rows, int64_t size, int64_t took_ns) {
    struct tensor_dims dims = sized(rows, size);
    cost_table_learn(&table, &dims, took_ns);
}

static int64_t predict(uint32_t rows, int64_t size) {
    struct tensor_dims dims = sized(rows, size);
    return cost_model_predict(cost_table_find(&table, &dims), rows);
}

Test(cost_table, sizes_are_known_once_a_batch_of_them_has_run) {
    struct tensor_dims seven = sized(1, 7), nine = sized(1, 9);
    cr_assert_not(cost_table_knows(&table, &seven));
    learn(1, 7, MS);
    cr_assert(cost_table_knows(&table, &seven));
    cr_assert_not(cost_table_knows(&table, &nine));
    cr_assert_not(cost_table_knows(&table, &(struct tensor_dims){.rows = 1}), "sizes that have not come yet");
}

Test(cost_table, an_empty_table_knows_nothing) {
    cr_assert_eq(predict(1, 7), 0);
    cr_assert_eq(cost_table_find(&table, &(struct tensor_dims){.rows = 1})->samples, 0);
}

Test(cost_table, without_free_sizes_it_is_one_cost_model) {
    const struct tensor_dims one = {.rows = 1}, all = {.rows = LARGEST};
    cost_table_learn(&table, &one, 3 * MS);
    cost_table_learn(&table, &all, 10 * MS);
    cr_assert_eq(table.count, 1);
    cr_assert_eq(cost_model_predict(cost_table_find(&table, &one), 4), 6 * MS);
}

Test(cost_table, new_sizes_begin_with_the_nearest_and_are_scaled_by_their_first_batch) {
    learn(1, 16, 3 * MS);
    learn(LARGEST, 16, 10 * MS);
    cr_assert_eq(predict(LARGEST, 20), 10 * MS, "all that is known");
    learn(1, 32, 6 * MS);
    cr_assert_eq(table.count, 2);
    cr_assert_float_eq((double)predict(LARGEST, 32), 20 * MS, 10, "twice as long for one row, twice as long for eight");
    cr_assert_eq(predict(LARGEST, 16), 10 * MS);
    cr_assert_float_eq((double)predict(LARGEST, 30), 20 * MS, 10, "30 is nearer to 32 than to 16");
    cr_assert_eq(predict(LARGEST, 5), 10 * MS);
}

Test(cost_table, the_first_batches_of_new_sizes_may_be_slow) {
    learn(LARGEST, 16, 10 * MS);
    learn(LARGEST, 32, 100 * MS);
    learn(LARGEST, 32, 20 * MS);
    cr_assert_float_eq((double)predict(LARGEST, 32), 20 * MS, 10);
}

Test(cost_table, sizes_that_are_not_known_yet_are_taken_for_those_of_late) {
    const struct tensor_dims unknown = {.rows = 1};
    learn(LARGEST, 16, 10 * MS);
    learn(LARGEST, 512, 200 * MS);
    cr_assert_float_eq((double)cost_model_predict(cost_table_find(&table, &unknown), LARGEST), 200 * MS, 10);
    learn(LARGEST, 16, 10 * MS);
    cr_assert_float_eq((double)cost_model_predict(cost_table_find(&table, &unknown), LARGEST), 10 * MS, 10);
}

Test(cost_table, it_is_bounded_and_forgets_what_has_not_run_for_longest) {
    for (int64_t size = 1; size <= COST_TABLE_ENTRIES; size++)
        learn(LARGEST, size * 1000, size * MS);
    learn(LARGEST, 1000, 1 * MS);
    learn(LARGEST, 50000, 70 * MS);
    cr_assert_eq(table.count, COST_TABLE_ENTRIES);
    cr_assert_float_eq((double)predict(LARGEST, 50000), 70 * MS, 10);
    cr_assert_float_eq((double)predict(LARGEST, 1000), 1 * MS, 10, "it ran of late");
    cr_assert_neq(predict(LARGEST, 2000), 2 * MS, "it gave way");
}

Test(cost_table, nothing_is_learned_from_no_time_or_no_rows) {
    learn(0, 5, MS);
    learn(1, 5, 0);
    cr_assert_eq(predict(1, 5), 0);
}
