#include "server/observe/histogram.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const double bounds[] = {0.5, 1, 2.5};

static struct histogram_total collect(const struct histogram *histogram) {
    struct histogram_total total = {0};
    histogram_collect(histogram, &total);
    return total;
}

Test(histogram, a_value_on_a_bound_belongs_below_it) {
    struct histogram histogram;
    histogram_init(&histogram, bounds, 3);
    const double values[] = {-1, 0.5, 0.75, 1, 2.5, 2.6, 1e9};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        histogram_add(&histogram, values[i]);
    struct histogram_total total = collect(&histogram);
    cr_assert_eq(total.buckets[0], 2);
    cr_assert_eq(total.buckets[1], 2);
    cr_assert_eq(total.buckets[2], 1);
    cr_assert_eq(total.buckets[3], 2);
    cr_assert_float_eq(total.sum, 1e9 + 6.35, 1e-6);
}

Test(histogram, ignores_what_would_spoil_the_sum) {
    struct histogram histogram;
    histogram_init(&histogram, bounds, 3);
    histogram_add(&histogram, NAN);
    histogram_add(&histogram, INFINITY);
    histogram_add(&histogram, -INFINITY);
    struct histogram_total total = collect(&histogram);
    cr_assert_eq(total.buckets[0] + total.buckets[1] + total.buckets[2] + total.buckets[3], 0);
    cr_assert_eq(total.sum, 0);
}

Test(histogram, collecting_adds_up) {
    struct histogram a, b;
    histogram_init(&a, bounds, 3);
    histogram_init(&b, bounds, 3);
    histogram_add(&a, 0.25);
    histogram_add(&b, 0.5);
    histogram_add(&b, 3);
    struct histogram_total total = {0};
    histogram_collect(&a, &total);
    histogram_collect(&b, &total);
    cr_assert_eq(total.buckets[0], 2);
    cr_assert_eq(total.buckets[3], 1);
    cr_assert_float_eq(total.sum, 3.75, 1e-12);
}

Test(histogram, prints_cumulative_buckets) {
    struct histogram histogram;
    struct bytes out = {0};
    histogram_init(&histogram, bounds, 3);
    histogram_add(&histogram, 0.25);
    histogram_add(&histogram, 2);
    histogram_add(&histogram, 4);
    struct histogram_total total = collect(&histogram);
    struct histogram_texts texts;
    histogram_write_texts(bounds, 3, &texts);
    histogram_render(&total, &texts, "weir_x", "model=\"m\"", &out);
    histogram_render(&total, &texts, "weir_y", "", &out);
    bytes_append(&out, "", 1);
    cr_assert_str_eq(out.data, "weir_x_bucket{model=\"m\",le=\"0.5\"} 1\n"
                               "weir_x_bucket{model=\"m\",le=\"1\"} 1\n"
                               "weir_x_bucket{model=\"m\",le=\"2.5\"} 2\n"
                               "weir_x_bucket{model=\"m\",le=\"+Inf\"} 3\n"
                               "weir_x_sum{model=\"m\"} 6.25\n"
                               "weir_x_count{model=\"m\"} 3\n"
                               "weir_y_bucket{le=\"0.5\"} 1\n"
                               "weir_y_bucket{le=\"1\"} 1\n"
                               "weir_y_bucket{le=\"2.5\"} 2\n"
                               "weir_y_bucket{le=\"+Inf\"} 3\n"
                               "weir_y_sum 6.25\n"
                               "weir_y_count 3\n");
    bytes_release(&out);
}

Test(histogram, one_bound_is_enough) {
    static const double one[] = {1};
    struct histogram histogram;
    histogram_init(&histogram, one, 1);
    histogram_add(&histogram, 1);
    struct histogram_total total = collect(&histogram);
    cr_assert_eq(total.buckets[0], 1);
}

Test(histogram, a_quantile_lies_within_its_bucket_as_if_values_were_spread_evenly) {
    struct histogram_total total = {.bounds = bounds, .bound_count = 3, .buckets = {0, 10, 10, 0}};
    cr_assert_float_eq(histogram_quantile(&total, 0.25), 0.75, 1e-12);
    cr_assert_float_eq(histogram_quantile(&total, 0.5), 1, 1e-12);
    cr_assert_float_eq(histogram_quantile(&total, 0.75), 1.75, 1e-12);
    cr_assert_float_eq(histogram_quantile(&total, 1), 2.5, 1e-12);
}

Test(histogram, a_quantile_above_all_bounds_is_the_last_bound_and_of_nothing_is_no_number) {
    struct histogram_total total = {.bounds = bounds, .bound_count = 3, .buckets = {1, 0, 0, 99}};
    cr_assert_eq(histogram_quantile(&total, 0.5), 2.5);
    cr_assert(isnan(histogram_quantile(&(struct histogram_total){.bounds = bounds, .bound_count = 3}, 0.5)));
}

Test(histogram, what_was_there_before_is_taken_away_and_never_below_nothing) {
    struct histogram_total total = {.bounds = bounds, .bound_count = 3, .buckets = {5, 1, 0, 2}, .sum = 10};
    const struct histogram_total before = {.bounds = bounds, .bound_count = 3, .buckets = {2, 4, 0, 2}, .sum = 4};
    histogram_subtract(&total, &before);
    cr_assert_eq(total.buckets[0], 3);
    cr_assert_eq(total.buckets[1], 0);
    cr_assert_eq(total.buckets[3], 0);
    cr_assert_eq(total.sum, 6);
}
