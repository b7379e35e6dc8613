#include "server/observe/entry_ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum weir_status entry_ring_open(struct entry_ring *ring, uint32_t capacity, size_t entry_bytes,
                                 struct weir_error *err) {
    assert((capacity & (capacity - 1)) == 0 && entry_bytes >= sizeof(struct ring_entry));
    memset(ring, 0, sizeof *ring);
    ring->capacity = capacity;
    ring->entry_bytes = entry_bytes;
    ring->entries = calloc(capacity, entry_bytes);
    ring->places = calloc(capacity, sizeof(struct ring_entry *));
    if (!ring->entries || !ring->places)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for %u entries", capacity);
    return WEIR_OK;
}

void entry_ring_close(struct entry_ring *ring) {
    free(ring->entries);
    free(ring->places);
    ring->entries = NULL;
    ring->places = NULL;
}

void *entry_ring_begin(struct entry_ring *ring) {
    if (!ring->free)
        ring->free = atomic_exchange_explicit(&ring->returned, NULL, memory_order_acquire);
    struct ring_entry *entry = ring->free;
    if (entry)
        ring->free = entry->next;
    else if (ring->fresh < ring->capacity)
        entry = (struct ring_entry *)(ring->entries + ring->entry_bytes * ring->fresh++);
    return entry;
}

void entry_ring_forgo(struct entry_ring *ring, void *entry) {
    struct ring_entry *back = entry;
    back->next = ring->free;
    ring->free = back;
}

uint32_t entry_ring_put(struct entry_ring *ring, void *entry, uint32_t enough) {
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    ring->places[head & (ring->capacity - 1)] = entry;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    if (head + 1 - ring->tail_seen >= enough)
        ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    return head + 1 - ring->tail_seen;
}

uint32_t entry_ring_waiting(const struct entry_ring *ring) {
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    return atomic_load_explicit(&ring->head, memory_order_acquire) - tail;
}

void ring_visit_begin(struct ring_visit *visit, struct entry_ring *ring) {
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    *visit = (struct ring_visit){
        .ring = ring, .first = tail, .tail = tail, .head = atomic_load_explicit(&ring->head, memory_order_acquire)};
}

void *ring_visit_look(const struct ring_visit *visit) {
    return visit->tail != visit->head ? visit->ring->places[visit->tail & (visit->ring->capacity - 1)] : NULL;
}

void ring_visit_next(struct ring_visit *visit) {
    struct ring_entry *entry = ring_visit_look(visit);
    if (!visit->last)
        visit->last = entry;
    entry->next = visit->done;
    visit->done = entry;
    visit->tail++;
}

uint32_t ring_visit_end(struct ring_visit *visit) {
    struct entry_ring *ring = visit->ring;
    atomic_store_explicit(&ring->tail, visit->tail, memory_order_release);
    if (visit->done) {
        struct ring_entry *others = atomic_load_explicit(&ring->returned, memory_order_relaxed);
        do
            visit->last->next = others;
        while (!atomic_compare_exchange_weak_explicit(&ring->returned, &others, visit->done, memory_order_release,
                                                      memory_order_relaxed));
    }
    return visit->tail - visit->first;
}
