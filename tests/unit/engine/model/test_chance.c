#include "engine/model/chance.h"

#include <criterion/criterion.h>
#include <math.h>

static void expect(double got, double wanted) {
    cr_assert(fabs(got - wanted) <= 1e-4 * wanted, "%.9g, wanted %.9g", got, wanted);
}

Test(chance, a_tail_is_the_sum_of_its_terms) {
    expect(chance_at_least(3, 3, 0.5), 0.125);
    expect(chance_at_least(2, 3, 0.5), 0.5);
    expect(chance_at_least(1, 10, 0.05), 1 - pow(0.95, 10));
    expect(chance_at_least(2, 50, 0.002), 1 - pow(0.998, 50) - 50 * 0.002 * pow(0.998, 49));
    expect(chance_at_least(10, 10, 0.1), 1e-10);
}

Test(chance, what_is_to_be_expected_is_no_news) {
    cr_assert(chance_at_least(0, 10, 0.5) == 1);
    cr_assert(chance_at_least(5, 10, 0.5) == 1);
    cr_assert(chance_at_least(20, 1000, 0.02) == 1);
    cr_assert(chance_at_least(3, 3, 1) == 1);
}

Test(chance, the_impossible_has_none) {
    cr_assert(chance_at_least(1, 10, 0) == 0);
    cr_assert(chance_at_least(11, 10, 0.5) == 0);
}

Test(chance, many_trials_are_no_trouble) {
    double got = chance_at_least(10300, 1000000, 0.01); /* three deviations above the mean */
    cr_assert(got > 0.0012 && got < 0.0014, "%.6f", got);
    cr_assert(chance_at_least(900000000, 1000000000, 0.5) == 0);
}
