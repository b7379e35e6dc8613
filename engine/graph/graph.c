#include "engine/graph/graph.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct graph *graph_create(void) {
    struct graph *graph = calloc(1, sizeof *graph);
    if (graph)
        graph->directory = -1;
    return graph;
}

void graph_destroy(struct graph *graph) {
    if (!graph)
        return;
    region_release(&graph->region);
    free(graph->values);
    free(graph->slots);
    free(graph);
}

/* FNV-1a, 32 bits. Source: isthe.com/chongo/tech/comp/fnv. */
static uint32_t hash_name(const unsigned char *name, size_t size) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ name[i]) * 16777619u;
    return hash;
}

static bool grow(struct graph *graph) {
    int capacity = graph->value_capacity ? graph->value_capacity * 2 : 64;
    struct graph_value *values = realloc(graph->values, (size_t)capacity * sizeof *values);
    if (!values)
        return false;
    graph->values = values;
    int *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots)
        return false;
    free(graph->slots);
    graph->slots = slots;
    graph->slot_count = capacity * 2;
    graph->value_capacity = capacity;
    for (int i = 0; i < graph->value_count; i++) {
        const char *name = values[i].name;
        uint32_t slot = hash_name((const unsigned char *)name, strlen(name));
        while (slots[slot % (uint32_t)graph->slot_count])
            slot++;
        slots[slot % (uint32_t)graph->slot_count] = i + 1;
    }
    return true;
}

/* The slot of that name, or the empty one where it belongs. */
static uint32_t slot_of(const struct graph *graph, const void *name, size_t size) {
    uint32_t slot = hash_name(name, size) % (uint32_t)graph->slot_count;
    for (; graph->slots[slot]; slot = (slot + 1) % (uint32_t)graph->slot_count) {
        const char *known = graph->values[graph->slots[slot] - 1].name;
        if (strlen(known) == size && memcmp(known, name, size) == 0)
            break;
    }
    return slot;
}

int graph_find(const struct graph *graph, const void *name, size_t size) {
    return graph->slot_count > 0 ? graph->slots[slot_of(graph, name, size)] - 1 : GRAPH_NONE;
}

int graph_intern(struct graph *graph, const void *name, size_t size) {
    if (graph->value_count == graph->value_capacity && !grow(graph))
        return GRAPH_NONE;
    uint32_t slot = slot_of(graph, name, size);
    if (graph->slots[slot])
        return graph->slots[slot] - 1;
    char *copy = graph->value_count < GRAPH_MAX_VALUES ? region_copy_text(&graph->region, name, size) : NULL;
    if (!copy)
        return GRAPH_NONE;
    int index = graph->value_count++;
    graph->values[index] = (struct graph_value){.name = copy, .producer = GRAPH_NONE};
    graph->slots[slot] = index + 1;
    return index;
}

int graph_add(struct graph *graph, const char *stem) {
    char name[128];
    for (int number = graph->value_count; number < INT_MAX; number++) {
        int size = snprintf(name, sizeof name, "%.100s.%d", stem, number);
        if (graph_find(graph, name, (size_t)size) == GRAPH_NONE)
            return graph_intern(graph, name, (size_t)size);
    }
    return GRAPH_NONE;
}

bool graph_defined(const struct graph_value *value) {
    return value->constant || value->unsupported_type != 0 || value->is_input || value->producer != GRAPH_NONE;
}

const struct graph_attribute *graph_attribute(const struct graph_node *node, const char *name) {
    for (int i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    return NULL;
}
