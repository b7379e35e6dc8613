/* Activations, arithmetic, BatchNormalization and softmax. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_ELEMENTWISE_H
#define WEIR_ENGINE_GRAPH_LOWER_ELEMENTWISE_H

#include "engine/graph/lower.h"

/* Relu, LeakyRelu, Clip, Sigmoid, Tanh. */
enum weir_status lower_elementwise_activation(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err) WEIR_CHECKED;

/* Add, Sub, Mul, Div: of two computed values of one shape, or of one with a constant that broadcasts over its rows. */
enum weir_status lower_elementwise_arithmetic(struct lowering *lowering, const struct graph_node *node,
                                              struct weir_error *err) WEIR_CHECKED;

/* Inference only: a multiplication and an addition per channel, which fusing puts into a dense step before them. */
enum weir_status lower_elementwise_batch_normalization(struct lowering *lowering, const struct graph_node *node,
                                                       struct weir_error *err) WEIR_CHECKED;

/* Softmax, LogSoftmax: before opset 13 over all dimensions from axis on, since then over one. */
enum weir_status lower_elementwise_softmax(struct lowering *lowering, const struct graph_node *node,
                                           struct weir_error *err) WEIR_CHECKED;

#endif
