/* The oracle of the operations of two numbers, over all that broadcasts. */
#ifndef WEIR_KERNELS_REF_REF_BINARY_H
#define WEIR_KERNELS_REF_REF_BINARY_H

#include "kernels/operation.h"

/* F32 in double, integers in int64 and stored modulo their width; comparisons of both to bool; AND, OR, XOR and EQUAL
 * of bool. POWER: the exponent may have another element; an integer base with an integer exponent is exact, modulo the
 * width (a negative exponent truncates). SHIFT: by the width or more gives 0. */
void ref_binary(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);

#endif
