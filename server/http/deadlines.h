/* Absolute deadlines on one loop. Moving a deadline later costs nothing: the heap holds the earliest time at which it
 * could have passed, and looks again when that comes. thread: the loop's. */
#ifndef WEIR_SERVER_HTTP_DEADLINES_H
#define WEIR_SERVER_HTTP_DEADLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEADLINE_NEVER INT64_MAX

/* Embedded in what it watches. All zero bytes but at_ns = DEADLINE_NEVER is a deadline that is not set. */
struct deadline {
    int64_t at_ns;  /* when it passes; read it, set it through deadlines_set */
    int64_t key_ns; /* its place in the heap, never later than at_ns */
    uint32_t place; /* index in the heap + 1; 0 when it is not in it */
    uint32_t kind;  /* free for the owner */
};

struct deadlines {
    struct deadline **heap;
    uint32_t count;
    uint32_t capacity;
};

void deadlines_release(struct deadlines *deadlines);

/* Makes room for `count` deadlines, so that deadlines_set cannot fail for that many. Returns false without memory. */
bool deadlines_reserve(struct deadlines *deadlines, uint32_t count);

/* Sets or moves a deadline; DEADLINE_NEVER leaves it without one. The heap must have room (deadlines_reserve). */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ns);

/* Takes it out of the heap: before its owner is freed. */
void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

/* Takes out and returns one deadline with at_ns <= now_ns, or NULL if there is none. */
struct deadline *deadlines_pop(struct deadlines *deadlines, int64_t now_ns);

/* When to look again: the earliest key, DEADLINE_NEVER for none. */
int64_t deadlines_next_ns(const struct deadlines *deadlines);

#endif
