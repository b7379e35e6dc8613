/* Lowers one node and runs its steps by the oracle's kernels: tests of single operators, without a model file. */
#ifndef WEIR_TESTS_FAKES_NODE_RUN_H
#define WEIR_TESTS_FAKES_NODE_RUN_H

#include "engine/graph/operators.h"

enum { NODE_RUN_INPUTS = 10, NODE_RUN_OUTPUTS = 3, NODE_RUN_STEPS = 8, NODE_RUN_ELEMENTS = 256 };

/* A tensor of dims "2,3" ("" is a scalar); dims NULL: it is omitted. Its elements count as computed, not as known. */
struct node_tensor {
    enum tensor_dtype dtype;
    const char *dims;
    const void *data;
};

/* attributes are words such as "alpha:f=0.5", "axis:i=-1", "pads:l=1,2" and "mode:s=same"; NULL: none. */
struct node_case {
    const char *op, *attributes;
    struct node_tensor inputs[NODE_RUN_INPUTS];
    int input_count, output_count;
};

/* Elements of an output, as bytes. */
struct node_output {
    enum tensor_dtype dtype;
    struct tensor_shape shape;
    union {
        float floats[NODE_RUN_ELEMENTS];
        int64_t longs[NODE_RUN_ELEMENTS];
        int32_t ints[NODE_RUN_ELEMENTS];
        uint8_t bytes[NODE_RUN_ELEMENTS];
        int8_t chars[NODE_RUN_ELEMENTS];
    };
};

struct node_result {
    struct weir_error err;
    int step_count;
    struct operation steps[NODE_RUN_STEPS];
    struct node_output outputs[NODE_RUN_OUTPUTS];
};

/* Returns what the lowering does; the outputs are there if it is OK. */
enum weir_status node_run(const struct operator_family *family, const struct node_case *node,
                          struct node_result *result) WEIR_CHECKED;

/* Has the output these dimensions ("2,3")? */
bool node_run_has_shape(const struct node_output *output, const char *dims);

#endif
