/* Entries on their way from the one thread that fills them to the one that takes them: a fixed number of them, used
 * over and over. Neither waits for the other, and nothing is allocated after the start. There is a place for each
 * entry, so the ring itself is never full: what runs out is entries. */
#ifndef WEIR_SERVER_OBSERVE_ENTRY_RING_H
#define WEIR_SERVER_OBSERVE_ENTRY_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

/* The first member of an entry. */
struct ring_entry {
    struct ring_entry *next; /* in a list of free entries */
};

enum { ENTRY_RING_CACHE_LINE = 64 };

struct entry_ring {
    char *entries; /* touched only as far as they were needed */
    size_t entry_bytes;
    uint32_t capacity; /* a power of 2 */
    struct ring_entry **places;
    struct ring_entry *free; /* taken first: those used last */
    uint32_t fresh;          /* entries that were never used */
    uint32_t tail_seen;
    _Atomic uint32_t head;                                /* written by the one who fills, */
    alignas(ENTRY_RING_CACHE_LINE) _Atomic uint32_t tail; /* by the one who takes */
    _Atomic(struct ring_entry *) returned;                /* a list, taken whole by the one who fills */
};

/* Takes the memory. Errors: NO_MEMORY. Owner: the caller, by entry_ring_close, also after an error. */
enum weir_status entry_ring_open(struct entry_ring *ring, uint32_t capacity, size_t entry_bytes,
                                 struct weir_error *err) WEIR_CHECKED;
void entry_ring_close(struct entry_ring *ring);

/* An entry to fill, with whatever is in it; NULL if there is none left. thread: the one who fills. */
void *entry_ring_begin(struct entry_ring *ring);

/* Takes an entry back that nobody is to see. thread: the one who fills. */
void entry_ring_forgo(struct entry_ring *ring, void *entry);

/* Hands an entry over. Returns how many wait, as far as is known without looking, up to `enough`: from there on it
 * looks. thread: the one who fills. */
uint32_t entry_ring_put(struct entry_ring *ring, void *entry, uint32_t enough);

/* How many wait. thread: any. */
uint32_t entry_ring_waiting(const struct entry_ring *ring);

/* A visit of the one who takes: from begin to end it sees what waited when it came, one after the other, and gives
 * back what it is done with. thread: the one who takes. */
struct ring_visit {
    struct entry_ring *ring;
    struct ring_entry *done, *last;
    uint32_t first, tail, head;
};
void ring_visit_begin(struct ring_visit *visit, struct entry_ring *ring);

/* The oldest that it is not done with; NULL: there is no more. */
void *ring_visit_look(const struct ring_visit *visit);

/* Done with the one it looks at. */
void ring_visit_next(struct ring_visit *visit);

/* Returns how many it is done with; they may be filled again, the others wait for the next visit. */
uint32_t ring_visit_end(struct ring_visit *visit);

#endif
