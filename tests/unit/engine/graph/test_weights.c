#include "engine/graph/weights.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 1 << 16 };

static struct graph *graph;
static struct graph_node node;
static unsigned char *memory;
static struct graph_constant constants[3];
static struct weir_error err;
static int inputs[2], output;

/* Three values: "w" and "v" are read, "u" is not; all hold 7s. */
static void make(void) {
    graph = graph_create();
    memory = mmap(NULL, 3 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 7, 3 * BYTES);
    graph->file = memory;
    graph->file_size = 3 * BYTES;
    static const char *const names[] = {"w", "v", "u"};
    for (int i = 0; i < 3; i++) {
        constants[i] = (struct graph_constant){TENSOR_U8, {1, {BYTES}}, BYTES, memory + i * BYTES};
        int value = graph_intern(graph, names[i], 1);
        graph->values[value].constant = &constants[i];
        if (i < 2)
            inputs[i] = value;
    }
    output = graph_intern(graph, "y", 1);
    node = (struct graph_node){.op = "Add",
                               .name = "",
                               .domain = "",
                               .inputs = inputs,
                               .outputs = &output,
                               .input_count = 2,
                               .output_count = 1};
    graph->nodes = &node;
    graph->node_count = 1;
}

static void destroy(void) {
    graph_destroy(graph);
    munmap(memory, 3 * BYTES);
}

TestSuite(weights, .init = make, .fini = destroy);

Test(weights, only_what_nobody_reads_is_swept) {
    cr_assert_eq(weights_sweep(graph, &err), WEIR_OK);
    cr_assert(constants[0].bytes && constants[1].bytes && !constants[2].bytes);
    cr_assert(memory[0] == 7 && memory[2 * BYTES - 1] == 7 && memory[2 * BYTES] == 0 && memory[3 * BYTES - 1] == 0);
}

Test(weights, bytes_that_a_read_constant_shares_are_not_swept) {
    constants[1].bytes = memory + 2 * BYTES;
    cr_assert_eq(weights_sweep(graph, &err), WEIR_OK);
    cr_assert(constants[2].bytes && memory[2 * BYTES] == 7);
}

Test(weights, a_dropped_constant_is_gone_unless_its_bytes_are_shared) {
    weights_drop(graph, &constants[0]);
    cr_assert(!constants[0].bytes && memory[0] == 0 && memory[BYTES] == 7);
    weights_drop(graph, &constants[0]);
    constants[0].bytes = memory + BYTES;
    weights_drop(graph, &constants[1]);
    cr_assert(constants[1].bytes && memory[BYTES] == 7);
}

Test(weights, memory_that_is_not_the_graphs_own_is_left_alone) {
    graph->file = NULL;
    cr_assert_eq(weights_sweep(graph, &err), WEIR_OK);
    weights_drop(graph, &constants[0]);
    cr_assert(constants[0].bytes && constants[2].bytes && memory[0] == 7);
}
