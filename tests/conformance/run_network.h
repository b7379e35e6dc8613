/* A model with inputs from files, run once or over and over; by the CPU backend, that of a CUDA module, or step by step
 * by the oracle's kernels. */
#ifndef WEIR_TESTS_CONFORMANCE_RUN_NETWORK_H
#define WEIR_TESTS_CONFORMANCE_RUN_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/device/backend.h"
#include "engine/graph/plan.h"
#include "engine/tensor.h"

enum { NETWORK_MAX_INPUTS = 64, NETWORK_PATH_BYTES = 4096 };

struct network_input {
    enum tensor_dtype dtype;
    struct tensor_shape shape;
    void *data;
    size_t bytes;
};

/* All zero but for options is a network without a model. */
struct network {
    char path[NETWORK_PATH_BYTES];
    bool by_oracle;
    char module[NETWORK_PATH_BYTES]; /* the CUDA module's file; "": the CPU */
    uint32_t max_rows;               /* for the backend; 0: as many as the inputs have */
    struct backend_options options;
    struct network_input inputs[NETWORK_MAX_INPUTS];
    int input_count;
    struct plan *plan;
    struct backend *backend;
    struct backend_model *model;
    int64_t load_ns; /* of the plan and of the backend's model */
};

/* What a run hands out for each output, in the signature's order. */
typedef bool (*network_output_function)(void *context, int index, enum tensor_dtype dtype,
                                        const struct tensor_shape *shape, const void *data);

/* Reads and checks the model, unless that was done. Errors: those of plan_load. */
enum weir_status network_read(struct network *network, struct weir_error *err) WEIR_CHECKED;

/* The sizes that the inputs have for what the signature leaves open. Errors: INVALID where they do not fit it. */
enum weir_status network_dims(const struct network *network, struct tensor_dims *dims,
                              struct weir_error *err) WEIR_CHECKED;

/* Runs the inputs once. Errors: those of plan_load and of the backend; IO where `output` returns false. */
enum weir_status network_run(struct network *network, network_output_function output, void *context,
                             struct weir_error *err) WEIR_CHECKED;

/* Runs the inputs for that long, by the backend: begin, copy the inputs, submit, wait, each time. Writes how often, and
 * the median time of one run. */
enum weir_status network_measure(struct network *network, double seconds, uint64_t *runs, int64_t *median_ns,
                                 struct weir_error *err) WEIR_CHECKED;

/* Lets go of the model, keeps the options. */
void network_close(struct network *network);
void network_drop_inputs(struct network *network);

/* The run by the oracle: every step of the program by its kernel of kernels/ref. */
enum weir_status network_oracle_run(struct network *network, const struct tensor_dims *dims,
                                    network_output_function output, void *context, struct weir_error *err) WEIR_CHECKED;

#endif
