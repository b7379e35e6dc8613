#include "engine/graph/liveness.h"

#include <criterion/criterion.h>

static struct graph *graph;
static struct graph_node nodes[3];
static struct graph_port output;
static struct weir_error err;
static int wires[3][2];

/* x -> a -> y, and x -> b, which nobody reads. */
static void make(void) {
    static const char *const names[] = {"x", "a", "y", "b"};
    int values[4];
    graph = graph_create();
    for (int i = 0; i < 4; i++)
        values[i] = graph_intern(graph, names[i], 1);
    int ends[3][2] = {{values[0], values[1]}, {values[0], values[3]}, {values[1], values[2]}};
    for (int i = 0; i < 3; i++) {
        wires[i][0] = ends[i][0];
        wires[i][1] = ends[i][1];
        nodes[i] = (struct graph_node){.op = "Relu",
                                       .name = "",
                                       .domain = "",
                                       .inputs = &wires[i][0],
                                       .outputs = &wires[i][1],
                                       .input_count = 1,
                                       .output_count = 1};
    }
    graph->nodes = nodes;
    graph->node_count = 3;
    output = (struct graph_port){.value = values[2]};
    graph->outputs = &output;
    graph->output_count = 1;
}

static void destroy(void) {
    graph_destroy(graph);
}

TestSuite(liveness, .init = make, .fini = destroy);

Test(liveness, what_no_output_needs_is_dead) {
    cr_assert_eq(liveness_mark(graph, &err), WEIR_OK);
    cr_assert(!nodes[0].dead && nodes[1].dead && !nodes[2].dead);
}

Test(liveness, what_only_a_dead_node_reads_is_dead_too) {
    nodes[2].dead = true;
    cr_assert_eq(liveness_mark(graph, &err), WEIR_OK);
    cr_assert(nodes[0].dead && nodes[1].dead);
}
