/* The oracle for what moves, repeats or picks elements by position, of any element type. Operands as in
 * kernels/operation.h; none needs scratch memory. */
#ifndef WEIR_KERNELS_REF_REF_MOVE_H
#define WEIR_KERNELS_REF_REF_MOVE_H

#include "kernels/operation.h"
#include "kernels/ref/ref_gather.h" /* the other half of this family */

void ref_transpose(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                   void *scratch);
void ref_slice(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

/* Takes inputs until their sizes along the axis add up to y's: how many there are is not said elsewhere. */
void ref_concat(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);
void ref_expand(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                void *scratch);
void ref_tile(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

/* REFLECT and WRAP go on as often as the padding needs. Without a value CONSTANT pads with zeros. */
void ref_pad(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

/* Where in 0..size-1 position `at` of the padded dimension comes from, counted from the first element that is not
 * padding; -1: from nowhere. */
int64_t ref_pad_source(enum pad_mode mode, int64_t at, int64_t size);

/* An index outside -depth..depth-1 gives only off. Indices are of any number type; fractions are cut off. */
void ref_one_hot(const struct operation *operation, const struct view *inputs, const struct view *outputs,
                 void *scratch);
void ref_trilu(const struct operation *operation, const struct view *inputs, const struct view *outputs, void *scratch);

#endif
