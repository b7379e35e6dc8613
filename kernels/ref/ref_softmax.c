#include "kernels/ref/ref_softmax.h"

#include <math.h>

void ref_softmax_run(const float *x, float *y, size_t length, bool log_of_it) {
    double greatest = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < length; i++)
        greatest = fmax(greatest, x[i]);
    for (size_t i = 0; i < length; i++)
        sum += exp(x[i] - greatest);
    for (size_t i = 0; i < length; i++)
        y[i] = (float)(log_of_it ? x[i] - greatest - log(sum) : exp(x[i] - greatest) / sum);
}
