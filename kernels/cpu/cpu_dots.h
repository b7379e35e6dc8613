/* Rows times a matrix that is stored transposed: dot products of rows with rows, for the recurrent kernels. */
#ifndef WEIR_KERNELS_CPU_CPU_DOTS_H
#define WEIR_KERNELS_CPU_CPU_DOTS_H

#include <stddef.h>

enum { CPU_DOTS_MOST_ROWS = 16 };

/* out[row * out_stride + i] = bias[i] + rows[row] . weights[i], i < outputs; without a bias it is added to what is
 * there. weights are [outputs, depth]. */
struct cpu_dots {
    const float *rows[CPU_DOTS_MOST_ROWS];
    size_t row_count;
    const float *weights, *bias;
    size_t outputs, depth;
    float *out;
    size_t out_stride;
};

/* Each sum is taken in the same order however many rows and outputs there are. */
void cpu_dots_run(const struct cpu_dots *dots);

#endif
