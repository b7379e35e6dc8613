/* Where the batch dimension is not the first: a job keeps rows one after the other, formats that carry whole arrays
 * keep the order of the spec's shape. */
#ifndef WEIR_SERVER_CODEC_BATCH_AXIS_H
#define WEIR_SERVER_CODEC_BATCH_AXIS_H

#include "engine/job.h"
#include "engine/tensor.h"

/* Is the whole array something else than its rows one after the other? */
bool batch_axis_is_inside(const struct tensor_spec *spec);

/* The same for so many rows of this shape: one row, or nothing before the batch dimension, needs no moving. */
bool batch_axis_reorders(const struct tensor_spec *spec, const struct tensor_shape *row, uint32_t rows);

/* The whole array's shape: the row's with the batch dimension in its place, if the spec has one. */
struct tensor_shape batch_axis_whole(const struct tensor_spec *spec, const struct tensor_shape *row, uint32_t rows);

/* Copies a whole array's elements to rows, and rows to a whole array. row is the shape of one row. */
void batch_axis_to_rows(const struct tensor_spec *spec, const struct tensor_shape *row, uint32_t rows,
                        const void *whole, void *out);
void batch_axis_from_rows(const struct tensor_spec *spec, const struct tensor_shape *row, uint32_t rows,
                          const void *from, void *out);

#endif
