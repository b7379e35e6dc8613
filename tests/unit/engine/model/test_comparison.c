#include "engine/model/comparison.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 4 };

static struct comparison comparison;
static struct comparison_summary summary;

/* Compares one output of rows * columns elements. */
static void compare(enum tensor_dtype dtype, int columns, const void *stable, const void *candidate) {
    struct tensor_spec spec = {.name = (char *)"y", .dtype = dtype, .shape = {2, {TENSOR_BATCH, columns}}};
    cr_assert(tensor_spec_measure(&spec));
    struct signature signature = {.outputs = &spec, .output_count = 1};
    struct tensor_shape row = {1, {columns}};
    struct job_tensor s = {.data = (void *)stable, .row_bytes = spec.row_bytes, .row = row};
    struct job_tensor c = {.data = (void *)candidate, .row_bytes = spec.row_bytes, .row = row};
    struct comparison_pair pair = {&signature, &s, &c, ROWS};
    comparison_add(&comparison, &pair);
    comparison_summarize(&comparison, &summary);
}

static const float PLAIN[ROWS * COLUMNS] = {0.1F, 0.2F, 0.3F, 0.4F, -8, 1, 2, 3, 0, 0, 5, 0};

static void expect(double got, double wanted) {
    cr_assert(fabs(got - wanted) <= 1e-6 * fabs(wanted), "%.9g, wanted %.9g", got, wanted);
}

Test(comparison, nothing_compared_is_nothing_known) {
    comparison_summarize(&comparison, &summary);
    cr_assert_eq(summary.requests, 0);
    cr_assert(summary.mean_error == 0 && summary.agreement == -1);
}

Test(comparison, identical_outputs_have_exactly_no_error) {
    for (int i = 0; i < 100; i++)
        compare(TENSOR_F32, COLUMNS, PLAIN, PLAIN);
    cr_assert_eq(summary.requests, 100);
    cr_assert_eq(summary.rows, 300);
    cr_assert_eq(summary.all.unequal, 0);
    cr_assert_eq(summary.all.decisions, 300);
    cr_assert_eq(summary.all.agreements, 300);
    cr_assert(summary.all.max_error == 0 && summary.mean_error == 0 && summary.all.max_relative == 0);
    cr_assert(summary.agreement == 1);
}

Test(comparison, a_planted_drift_is_found_relative_to_its_row) {
    float candidate[ROWS * COLUMNS];
    memcpy(candidate, PLAIN, sizeof candidate);
    candidate[5] += 0.008F; /* the row's largest magnitude is 8 */
    compare(TENSOR_F32, COLUMNS, PLAIN, candidate);
    cr_assert(fabs(summary.all.max_error - 0.008) < 1e-6);
    cr_assert(fabs(summary.all.max_relative - 1e-3) < 1e-6);
    cr_assert(fabs(summary.mean_error - 0.008 / 12) < 1e-6);
    cr_assert_eq(summary.all.unequal, 1);
    cr_assert(summary.agreement == 1);
}

Test(comparison, drift_in_a_row_of_zeros_counts_as_all_of_it) {
    float zeros[ROWS * COLUMNS] = {0}, candidate[ROWS * COLUMNS] = {0, 1e-3F};
    compare(TENSOR_F32, COLUMNS, zeros, candidate);
    expect(summary.all.max_relative, 1);
}

Test(comparison, another_argmax_disagrees) {
    float candidate[ROWS * COLUMNS];
    memcpy(candidate, PLAIN, sizeof candidate);
    candidate[0] = 0.5F;
    compare(TENSOR_F32, COLUMNS, PLAIN, candidate);
    cr_assert_eq(summary.all.decisions, 3);
    cr_assert_eq(summary.all.agreements, 2);
}

Test(comparison, a_tie_agrees_whoever_wins_it) {
    float stable[ROWS * COLUMNS] = {1, 1, 0, 0, 1, 1.0000001F, 0, 0, 0, 0, 0, 0};
    float candidate[ROWS * COLUMNS] = {0.9F, 1, 0, 0, 1.0000001F, 1, 0, 0, 0, 0, 0, 0.7F};
    compare(TENSOR_F32, COLUMNS, stable, candidate);
    cr_assert_eq(summary.all.agreements, 3);
}

Test(comparison, new_non_finite_values_are_told_from_those_stable_has_too) {
    float stable[ROWS * COLUMNS] = {0, 1, 2, 3, NAN, INFINITY, 0, 1, INFINITY, NAN, 0, 1};
    float candidate[ROWS * COLUMNS] = {0, NAN, 2, INFINITY, NAN, INFINITY, 0, 1, -INFINITY, 5, 0, 1};
    compare(TENSOR_F32, COLUMNS, stable, candidate);
    cr_assert_eq(summary.all.new_non_finite, 2);
    cr_assert_eq(summary.all.non_finite, 2);
    cr_assert_eq(summary.all.unequal, 4);
    cr_assert(summary.all.max_error == 0, "errors are of finite elements");
    cr_assert_eq(summary.all.decisions, 1, "there is no argmax where stable's row is not finite");
    cr_assert_eq(summary.all.agreements, 0, "and none agrees with a row that is not");
}

Test(comparison, integers_are_equal_or_not) {
    int64_t stable[ROWS * COLUMNS] = {1, 2, 3, 4, INT64_MAX, 0},
                          candidate[ROWS * COLUMNS] = {1, 2, 3, 5, INT64_MAX - 1, 0};
    compare(TENSOR_I64, COLUMNS, stable, candidate);
    cr_assert_eq(summary.all.elements, 12);
    cr_assert_eq(summary.all.unequal, 2, "doubles would not tell the large ones apart");
    cr_assert_eq(summary.all.decisions, 0);
    cr_assert(summary.agreement == -1);
}

Test(comparison, rows_of_one_integer_are_labels_that_agree_or_not) {
    uint8_t stable[ROWS] = {1, 0, 7}, candidate[ROWS] = {1, 0, 6};
    compare(TENSOR_U8, 1, stable, candidate);
    cr_assert_eq(summary.all.decisions, 3);
    cr_assert_eq(summary.all.agreements, 2);
}

Test(comparison, a_single_float_has_no_argmax) {
    float stable[ROWS] = {1, 2, 3};
    compare(TENSOR_F32, 1, stable, stable);
    cr_assert_eq(summary.all.decisions, 0);
}

Test(comparison, half_and_double_precision_are_read_as_what_they_are) {
    uint16_t half[ROWS * COLUMNS] = {0x3c00, 0x4000, 0, 0}, other[ROWS * COLUMNS] = {0x3c00, 0x4200, 0, 0};
    compare(TENSOR_F16, COLUMNS, half, other);
    expect(summary.all.max_error, 1);
    expect(summary.all.max_relative, 0.5);
    memset(&comparison, 0, sizeof comparison);
    uint16_t brain[ROWS * COLUMNS] = {0x3f80, 0x4000}, changed[ROWS * COLUMNS] = {0x3f80, 0x4080};
    compare(TENSOR_BF16, COLUMNS, brain, changed);
    expect(summary.all.max_error, 2);
    memset(&comparison, 0, sizeof comparison);
    double wide[ROWS * COLUMNS] = {1, 2}, near[ROWS * COLUMNS] = {1 + 1e-12, 2};
    compare(TENSOR_F64, COLUMNS, wide, near);
    cr_assert_eq(summary.all.unequal, 1);
    cr_assert(summary.all.max_error > 0 && summary.all.max_error < 2e-12);
}

Test(comparison, outputs_without_rows_are_compared_once) {
    struct tensor_spec specs[2] = {{.dtype = TENSOR_F32, .shape = {1, {2}}}, {.dtype = TENSOR_I32, .shape = {0, {0}}}};
    cr_assert(tensor_spec_measure(&specs[0]) && tensor_spec_measure(&specs[1]));
    struct signature signature = {.outputs = specs, .output_count = 2};
    float pair_stable[2] = {1, 2}, pair_candidate[2] = {2, 1};
    int32_t one_stable = 5, one_candidate = 5;
    struct job_tensor stable[2] = {{pair_stable, 8, {1, {2}}}, {&one_stable, 4, {0, {0}}}};
    struct job_tensor candidate[2] = {{pair_candidate, 8, {1, {2}}}, {&one_candidate, 4, {0, {0}}}};
    struct comparison_pair pair = {&signature, stable, candidate, 5};
    comparison_add(&comparison, &pair);
    comparison_summarize(&comparison, &summary);
    cr_assert_eq(summary.all.elements, 3);
    cr_assert_eq(summary.all.decisions, 2);
    cr_assert_eq(summary.all.agreements, 1);
    cr_assert_eq(comparison.output_count, 2);
    cr_assert_eq(comparison.outputs[1].unequal, 0);
}

Test(comparison, outputs_of_other_sizes_are_a_misfit) {
    struct tensor_spec spec = {.dtype = TENSOR_F32, .shape = {2, {TENSOR_BATCH, TENSOR_FREE(0)}}};
    cr_assert(tensor_spec_measure(&spec));
    struct signature signature = {.outputs = &spec, .output_count = 1};
    float data[4] = {0};
    struct job_tensor stable = {data, 16, {1, {4}}}, candidate = {data, 8, {1, {2}}};
    struct comparison_pair pair = {&signature, &stable, &candidate, 1};
    comparison_add(&comparison, &pair);
    candidate = (struct job_tensor){NULL, 16, {1, {4}}};
    comparison_add(&comparison, &pair);
    comparison_summarize(&comparison, &summary);
    cr_assert_eq(summary.misfits, 2);
    cr_assert_eq(summary.requests, 2);
    cr_assert_eq(summary.rows, 0);
}
