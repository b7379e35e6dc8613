/* How each operation carries the rows of a batch from its inputs to its outputs. */
#ifndef WEIR_ENGINE_GRAPH_INDEPENDENCE_RULES_H
#define WEIR_ENGINE_GRAPH_INDEPENDENCE_RULES_H

#include "engine/graph/independence.h"

/* No operation has more outputs. */
enum { INDEPENDENCE_MAX_OUTPUTS = 4 };

/* One step, with where the rows are in each of its inputs. A rule fills outputs, which begin as the same for all rows,
 * and is asked only when some input has rows. Shapes are those of the views; data is that of constants alone. */
struct independence_step {
    const struct operation *operation;
    const struct view *inputs, *outputs;
    const int *output_buffers; /* -1: it does without */
    const struct independence_place *in;
    const unsigned char *even; /* by input: bit i is set if it is known to be the same all along its dimension i */
    struct independence_place out[INDEPENDENCE_MAX_OUTPUTS];
    int input_count, output_count;
    size_t rows;
    const char *fault; /* why rows would mix, set by whoever returns false */
};

/* Returns false, with the step's fault, where the rows would not stay apart. */
typedef bool (*independence_rule)(struct independence_step *step);

/* NULL: there is no rule, rows mix. */
independence_rule independence_rule_of(enum operation_kind kind);

/* Along which dimensions is output 0 of a step without rows the same everywhere, whatever is computed? What EXPAND
 * spread out is, and what is computed of it element by element. Bit i: dimension i. */
unsigned char independence_even(const struct independence_step *step);

/* What is left of that under another shape: the leading dimensions that both have. */
unsigned char independence_even_reshaped(unsigned char even, const struct tensor_shape *before,
                                         const struct tensor_shape *after);

/* ---- what rules are made of ---- */

bool independence_mixes(struct independence_step *step, const char *fault);

/* Has the input rows? false where it is omitted. */
bool independence_has_rows(const struct independence_step *step, int input);

/* Do no inputs in [from, to) have rows? */
bool independence_rowless(const struct independence_step *step, int from, int to);

/* Are a constant's elements the same for every row, if the rows lie along that dimension? */
bool independence_is_repeated(const struct view *view, int axis, const struct independence_place *place, size_t rows);

/* Does the input hold the same for every row along its dimension axis, or each row in the given place there? axis -1:
 * it has no such dimension. */
bool independence_fits(struct independence_step *step, int input, int axis, const struct independence_place *place);

/* Inputs that broadcast to output 0: those with rows agree about their place, which is then the output's, and the
 * others are the same for all rows. */
bool independence_broadcast(struct independence_step *step, int from, int to);

/* The output's dimension axis is to hold the rows as place does; does its size allow it? */
bool independence_put(struct independence_step *step, int output, int axis, const struct independence_place *place);

/* Rules by family. */
bool independence_matmul(struct independence_step *step);
bool independence_matmul_integer(struct independence_step *step);
bool independence_qlinear_matmul(struct independence_step *step);
bool independence_window(struct independence_step *step);
bool independence_pool(struct independence_step *step);
bool independence_recurrent(struct independence_step *step);
bool independence_einsum(struct independence_step *step);
bool independence_transpose(struct independence_step *step);
bool independence_slice(struct independence_step *step);
bool independence_concat(struct independence_step *step);
bool independence_gather(struct independence_step *step);
bool independence_gather_elements(struct independence_step *step);
bool independence_gather_nd(struct independence_step *step);
bool independence_scatter_elements(struct independence_step *step);
bool independence_scatter_nd(struct independence_step *step);
bool independence_tile(struct independence_step *step);
bool independence_pad(struct independence_step *step);
bool independence_resize(struct independence_step *step);
bool independence_one_hot(struct independence_step *step);

#endif
