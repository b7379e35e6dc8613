#include "engine/model/cost_model.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { LARGEST = 32 };

static struct cost_model model;

static int64_t truth(uint32_t rows) {
    return 2000000 + 250000 * (int64_t)rows;
}

static void setup(void) {
    cost_model_init(&model, LARGEST);
    srand(7);
}

TestSuite(cost_model, .init = setup);

static void seed(void) {
    cost_model_learn(&model, 1, truth(1));
    cost_model_learn(&model, LARGEST / 2, truth(LARGEST / 2));
    cost_model_learn(&model, LARGEST, truth(LARGEST));
}

static void assert_near(uint32_t rows, double wanted, double tolerance) {
    double got = (double)cost_model_predict(&model, rows);
    cr_assert(got > wanted * (1 - tolerance) && got < wanted * (1 + tolerance), "t(%u) is %.0f, wanted %.0f", rows, got,
              wanted);
}

Test(cost_model, it_knows_nothing_before_the_first_batch) {
    cr_assert_eq(cost_model_predict(&model, 8), 0);
    cr_assert_eq(cost_model_rows_within(&model, LARGEST, 1), LARGEST);
}

Test(cost_model, three_warm_up_batches_give_the_line) {
    seed();
    for (uint32_t rows = 1; rows <= LARGEST; rows++)
        assert_near(rows, (double)truth(rows), 0.01);
}

Test(cost_model, it_finds_the_line_in_noise) {
    seed();
    for (int i = 0; i < 2000; i++) {
        uint32_t rows = 1 + (uint32_t)(rand() % LARGEST);
        double noise = 0.9 + 0.2 * rand() / RAND_MAX;
        cost_model_learn(&model, rows, (int64_t)((double)truth(rows) * noise));
    }
    assert_near(1, (double)truth(1), 0.1);
    assert_near(16, (double)truth(16), 0.05);
    assert_near(LARGEST, (double)truth(LARGEST), 0.05);
    cr_assert_gt(model.deviation_ns, 0);
    cr_assert_lt(model.deviation_ns, 0.1 * (double)truth(LARGEST));
}

Test(cost_model, a_single_outlier_hardly_moves_it) {
    seed();
    for (int i = 0; i < 200; i++)
        cost_model_learn(&model, LARGEST, truth(LARGEST));
    cost_model_learn(&model, LARGEST, 100 * truth(LARGEST));
    assert_near(LARGEST, (double)truth(LARGEST), 0.05);
}

Test(cost_model, it_follows_a_device_that_became_slower) {
    seed();
    for (int i = 0; i < 200; i++)
        cost_model_learn(&model, 1 + (uint32_t)i % LARGEST, 3 * truth(1 + (uint32_t)i % LARGEST));
    assert_near(LARGEST, 3.0 * (double)truth(LARGEST), 0.1);
    assert_near(16, 3.0 * (double)truth(16), 0.1);
}

Test(cost_model, one_batch_size_for_hours_does_not_cost_it_the_slope) {
    seed();
    for (int i = 0; i < 100000; i++)
        cost_model_learn(&model, LARGEST, truth(LARGEST));
    assert_near(1, (double)truth(1), 0.01);
}

Test(cost_model, the_rows_that_fit_a_limit) {
    seed();
    cr_assert_eq(cost_model_rows_within(&model, LARGEST, truth(LARGEST) + 1000), LARGEST);
    uint32_t rows = cost_model_rows_within(&model, LARGEST, truth(10) + 1000);
    cr_assert(rows == 10 || rows == 9, "%u rows", rows);
    cr_assert_eq(cost_model_rows_within(&model, LARGEST, 1), 1);
}

Test(cost_model, predictions_are_never_negative) {
    seed();
    for (int i = 0; i < 1000; i++)
        cost_model_learn(&model, 1 + (uint32_t)rand() % LARGEST, 1);
    for (uint32_t rows = 1; rows <= LARGEST; rows++)
        cr_assert_geq(cost_model_predict(&model, rows), 0);
}

Test(cost_model, scaling_stretches_the_whole_line) {
    seed();
    cost_model_scale(&model, 1, 3 * truth(1));
    for (uint32_t rows = 1; rows <= LARGEST; rows++)
        assert_near(rows, 3 * (double)truth(rows), 0.01);
}

Test(cost_model, scaling_a_model_that_knows_nothing_is_learning) {
    cost_model_scale(&model, 4, 5000);
    cr_assert_eq(cost_model_predict(&model, 4), 5000);
    cr_assert_eq(model.samples, 1);
}
