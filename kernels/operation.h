/* The elementwise operations that a plan names and the kernels compute. */
#ifndef WEIR_KERNELS_OPERATION_H
#define WEIR_KERNELS_OPERATION_H

enum activation_kind {
    ACTIVATION_NONE,
    ACTIVATION_RELU,       /* max(x, 0) */
    ACTIVATION_LEAKY_RELU, /* x < 0 ? low * x : x */
    ACTIVATION_CLIP,       /* min(max(x, low), high) */
    ACTIVATION_SIGMOID,    /* 1 / (1 + exp(-x)) */
    ACTIVATION_TANH
};

/* NaN stays NaN in every one of them. */
struct activation {
    enum activation_kind kind;
    float low;  /* CLIP: the minimum; LEAKY_RELU: the slope */
    float high; /* CLIP: the maximum */
};

enum combination { COMBINATION_ADD, COMBINATION_SUBTRACT, COMBINATION_MULTIPLY, COMBINATION_DIVIDE };

#endif
