#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "engine/graph/graph.h"

Test(graph, a_name_is_one_value_however_often_it_comes) {
    struct graph *graph = graph_create();
    char name[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "value %d", i);
        cr_assert_eq(graph_intern(graph, name, strlen(name)), i);
    }
    for (int i = 4999; i >= 0; i--) {
        snprintf(name, sizeof name, "value %d", i);
        cr_assert_eq(graph_intern(graph, name, strlen(name)), i);
        cr_assert_str_eq(graph->values[i].name, name);
    }
    cr_assert_eq(graph->value_count, 5000);
    cr_assert_eq(graph->values[7].producer, GRAPH_NONE);
    graph_destroy(graph);
}

Test(graph, a_name_is_found_without_being_added) {
    struct graph *graph = graph_create();
    cr_assert_eq(graph_find(graph, "x", 1), GRAPH_NONE);
    int x = graph_intern(graph, "x", 1);
    cr_assert_eq(graph_find(graph, "x", 1), x);
    cr_assert_eq(graph_find(graph, "y", 1), GRAPH_NONE);
    cr_assert_eq(graph->value_count, 1);
    graph_destroy(graph);
}

Test(graph, an_added_value_has_a_name_that_nothing_else_has) {
    struct graph *graph = graph_create();
    cr_assert_eq(graph_intern(graph, "folded.1", 8), 0);
    int first = graph_add(graph, "folded"), second = graph_add(graph, "folded");
    cr_assert(first == 1 && second == 2);
    cr_assert(strcmp(graph->values[first].name, graph->values[second].name) != 0);
    cr_assert_not(graph_defined(&graph->values[first]));
    graph_destroy(graph);
}

Test(graph, more_names_than_allowed_are_refused) {
    struct graph *graph = graph_create();
    while (graph->value_count < GRAPH_MAX_VALUES) {
        char name[32];
        snprintf(name, sizeof name, "rest %d", graph->value_count);
        cr_assert(graph_intern(graph, name, strlen(name)) >= 0);
    }
    cr_assert_eq(graph_intern(graph, "one more", 8), GRAPH_NONE);
    graph_destroy(graph);
}

Test(graph, an_attribute_is_found_by_its_name) {
    struct graph_attribute attributes[] = {{.name = "alpha"}, {.name = "beta"}};
    struct graph_node node = {.attributes = attributes, .attribute_count = 2};
    cr_assert_eq(graph_attribute(&node, "beta"), &attributes[1]);
    cr_assert_null(graph_attribute(&node, "gamma"));
}

Test(graph, destroying_nothing_is_allowed) {
    graph_destroy(NULL);
}
