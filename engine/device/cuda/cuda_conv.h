/* CONV steps as products: columns of x, piece by piece, times the weights, then placed where they belong. Every image
 * is cut in the same way, so that its numbers do not depend on its place in the batch. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_CONV_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_CONV_H

#include "engine/device/cuda/cuda_program.h"

/* Two kinds of piece at most: whole images (or a part of one), and the rest of an image. */
enum { CUDA_CONV_FULL, CUDA_CONV_REST, CUDA_CONV_PIECES };

struct cuda_conv {
    const struct operation *operation;
    struct cuda_lt_product products[CUDA_CONV_PIECES];
    struct cuda_lt_plan plans[CUDA_CONV_PIECES];
    bool direct;                             /* a kernel of one element: x is its own columns */
    size_t images;                           /* in a full piece; 0: it is a part of one image */
    size_t pixels[CUDA_CONV_PIECES];         /* of the output in a piece; REST 0: images are cut evenly */
    size_t columns_at, copy_at, products_at; /* in scratch; copy: in 16 bits */
    int x, w, bias, sum, y;                  /* buffers; -1: none */
    enum cuda_form form;
};

/* As cuda_matmul_plan. */
enum weir_status cuda_conv_plan(const struct cuda_program_maker *maker, struct cuda_program *program,
                                const struct program_step *step, struct cuda_conv *conv, size_t *scratch_bytes,
                                struct weir_error *err) WEIR_CHECKED;

/* Chooses the algorithms. Errors: as cuda_lt_prepare. */
enum weir_status cuda_conv_prepare(const struct cuda_lt *lt, struct cuda_conv *conv,
                                   struct weir_error *err) WEIR_CHECKED;

/* Puts it into the stream. Errors: DEVICE, DEVICE_LOST. */
enum weir_status cuda_conv_run(const struct cuda_lt *lt, const struct cuda_program *program,
                               const struct cuda_slot_memory *memory, const struct cuda_conv *conv,
                               struct weir_error *err) WEIR_CHECKED;

#endif
