#include "engine/model/chance.h"

#include <math.h>

static double log_factorial(double n) {
    int sign;
    return lgamma_r(n + 1, &sign);
}

double chance_at_least(uint64_t least, uint64_t trials, double p) {
    double k = (double)least, n = (double)trials;
    if (least == 0 || k <= n * p)
        return 1;
    if (least > trials || p <= 0)
        return 0;
    double term = exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * log(p) + (n - k) * log1p(-p));
    double sum = term;
    /* Above the mean each term is smaller than the one before, by a ratio that falls. */
    for (double i = k; i < n && term > 1e-6 * sum; i++) {
        term *= (n - i) / (i + 1) * p / (1 - p);
        sum += term;
    }
    return sum;
}
