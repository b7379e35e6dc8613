/* One element of a view as a number, for kernels that need not be fast. The data may lie in any alignment. */
#ifndef WEIR_KERNELS_ELEMENT_H
#define WEIR_KERNELS_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/view.h"

bool element_is_float(enum element element);

/* Of any element; an I64 beyond 2^53 is rounded. */
double element_number(const struct view *view, size_t index);

/* Of an integer or bool. */
int64_t element_integer(const struct view *view, size_t index);

/* Writes an element that is float, rounded to its precision. */
void element_set_number(const struct view *view, size_t index, double number);

/* Writes an element that is an integer, modulo its width; a bool becomes whether the integer is not 0. */
void element_set_integer(const struct view *view, size_t index, int64_t integer);

/* Truncates towards zero; what does not fit becomes the element's least or greatest integer, NaN becomes 0. A bool is 1
 * for all but 0. */
int64_t element_saturate(enum element element, double number);

#endif
