/* MATMUL steps: NumPy's broadcasting as cuBLASLt products, and what comes before and behind them. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_CUDA_MATMUL_H
#define WEIR_ENGINE_DEVICE_CUDA_CUDA_MATMUL_H

#include "engine/device/cuda/cuda_program.h"

/* One leading dimension, or several together. */
struct cuda_matmul_axis {
    size_t size, x_step, w_step; /* steps in elements; 0: the same matrix again */
};

struct cuda_matmul {
    struct cuda_lt_product product;
    struct cuda_lt_plan plan;
    struct cuda_matmul_axis loops[VIEW_MAX_RANK]; /* innermost first: what one call cannot do */
    int loop_count;
    int x, w, bias, y;           /* buffers; bias -1: none */
    enum cuda_form form;         /* of the operands */
    size_t x_scratch, w_scratch; /* where a 16-bit copy goes; SIZE_MAX: none is made */
    int spread;                  /* buffer that is broadcast into y first, -1: none */
    cuda_launcher spreader;
    struct operation spread_operation;
    struct unary after;
};

/* The form that products want. */
enum cuda_form cuda_matmul_form(const struct cuda_lt *lt);

/* Lays a step out: fills *matmul, adds to the wanted constants, and says how much scratch it takes. views are those of
 * the step. Errors: UNSUPPORTED, NO_MEMORY. */
enum weir_status cuda_matmul_plan(const struct cuda_program_maker *maker, struct cuda_program *program,
                                  const struct program_step *step, struct cuda_matmul *matmul, size_t *scratch_bytes,
                                  struct weir_error *err) WEIR_CHECKED;

/* Chooses the algorithm. memory: that of slot 0. Errors: as cuda_lt_prepare. */
enum weir_status cuda_matmul_prepare(const struct cuda_lt *lt, const struct cuda_program *program,
                                     const struct cuda_slot_memory *memory, struct cuda_matmul *matmul,
                                     struct weir_error *err) WEIR_CHECKED;

/* Puts it into the stream. Errors: DEVICE, DEVICE_LOST. */
enum weir_status cuda_matmul_run(const struct cuda_lt *lt, const struct cuda_program *program,
                                 const struct cuda_slot_memory *memory, const struct cuda_matmul *matmul,
                                 struct weir_error *err) WEIR_CHECKED;

#endif
