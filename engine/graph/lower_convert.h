/* Casts, and operators that hand values on as they are. */
#ifndef WEIR_ENGINE_GRAPH_LOWER_CONVERT_H
#define WEIR_ENGINE_GRAPH_LOWER_CONVERT_H

#include "engine/graph/lower.h"

/* Cast, CastLike. A cast to float16 or bfloat16 gives float32 of that precision. */
enum weir_status lower_convert_cast(struct lowering *lowering, const struct graph_node *node,
                                    struct weir_error *err) WEIR_CHECKED;

/* Inference only: the input, and a mask that lets all through. */
enum weir_status lower_convert_dropout(struct lowering *lowering, const struct graph_node *node,
                                       struct weir_error *err) WEIR_CHECKED;

enum weir_status lower_convert_identity(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) WEIR_CHECKED;

/* Constant: a tensor, one number or a list of them. */
enum weir_status lower_convert_constant(struct lowering *lowering, const struct graph_node *node,
                                        struct weir_error *err) WEIR_CHECKED;

#endif
