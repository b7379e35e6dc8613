/* Copying between two strided tensors: what transposing, slicing, expanding, tiling and concatenating have in common.
 */
#ifndef WEIR_KERNELS_CPU_CPU_STRIDED_H
#define WEIR_KERNELS_CPU_CPU_STRIDED_H

#include <stddef.h>
#include <stdint.h>

enum { CPU_STRIDED_MAX_RANK = 16 };

/* y[sum of i[d] * out[d]] = x[sum of i[d] * in[d]] for all i[d] < dims[d]. Strides count elements and may be 0 or, for
 * x, negative. bytes of an element: 1, 4 or 8. */
struct cpu_strided {
    int rank;
    size_t dims[CPU_STRIDED_MAX_RANK];
    int64_t in[CPU_STRIDED_MAX_RANK], out[CPU_STRIDED_MAX_RANK];
    size_t bytes;
    const char *x;
    char *y;
};

/* Copies, with threads where it is large. Dimensions that stay together are merged first (*copy is changed). */
void cpu_strided_run(struct cpu_strided *copy);

#endif
