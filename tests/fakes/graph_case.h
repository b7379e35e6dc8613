/* A graph read from a few nodes, rewritten by the patterns, and run both as written and as rewritten. */
#ifndef WEIR_TESTS_FAKES_GRAPH_CASE_H
#define WEIR_TESTS_FAKES_GRAPH_CASE_H

#include "engine/graph/graph.h"
#include "tests/fakes/onnx_writer.h"

/* All zero is an empty case. The input is x, the output y, both float32. */
struct graph_case {
    struct onnx_model model;
    struct graph *graph;
    double error; /* the largest difference of an element of y between the two runs; negative: a run failed */
    char text[512];
};

/* As in onnx_writer; attributes may be NULL. */
void graph_case_node(struct graph_case *test, const char *op, const char *inputs, const char *outputs,
                     const char *attributes);

/* A constant of one number, and one of as many as dims says, all different and not far from 1. */
void graph_case_number(struct graph_case *test, const char *name, float value);
void graph_case_floats(struct graph_case *test, const char *name, const char *dims);

/* Reads the graph for an input of [2,dims], folds constants, runs it, applies the patterns, and runs it again. Returns
 * the operators that are alive then, "Conv Relu". */
const char *graph_case_apply(struct graph_case *test, const char *dims);

/* The node that gives y. */
const struct graph_node *graph_case_last(const struct graph_case *test);

void graph_case_release(struct graph_case *test);

#endif
