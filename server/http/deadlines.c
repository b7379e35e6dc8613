#include "server/http/deadlines.h"

#include <stdlib.h>
#include <string.h>

void deadlines_release(struct deadlines *deadlines) {
    free(deadlines->heap);
    memset(deadlines, 0, sizeof *deadlines);
}

bool deadlines_reserve(struct deadlines *deadlines, uint32_t count) {
    if (count <= deadlines->capacity)
        return true;
    uint32_t capacity = deadlines->capacity < 32 ? 64 : deadlines->capacity * 2;
    if (capacity < count)
        capacity = count;
    struct deadline **heap = realloc(deadlines->heap, capacity * sizeof *heap);
    if (!heap)
        return false;
    deadlines->heap = heap;
    deadlines->capacity = capacity;
    return true;
}

static void put(struct deadlines *deadlines, uint32_t index, struct deadline *deadline) {
    deadlines->heap[index] = deadline;
    deadline->place = index + 1;
}

static void sift_up(struct deadlines *deadlines, uint32_t index, struct deadline *deadline) {
    while (index > 0) {
        uint32_t parent = (index - 1) / 2;
        if (deadlines->heap[parent]->key_ns <= deadline->key_ns)
            break;
        put(deadlines, index, deadlines->heap[parent]);
        index = parent;
    }
    put(deadlines, index, deadline);
}

static void sift_down(struct deadlines *deadlines, uint32_t index, struct deadline *deadline) {
    for (;;) {
        uint32_t child = 2 * index + 1;
        if (child >= deadlines->count)
            break;
        if (child + 1 < deadlines->count && deadlines->heap[child + 1]->key_ns < deadlines->heap[child]->key_ns)
            child++;
        if (deadlines->heap[child]->key_ns >= deadline->key_ns)
            break;
        put(deadlines, index, deadlines->heap[child]);
        index = child;
    }
    put(deadlines, index, deadline);
}

void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ns) {
    deadline->at_ns = at_ns;
    if (deadline->place == 0) {
        if (at_ns == DEADLINE_NEVER || deadlines->count == deadlines->capacity)
            return;
        deadline->key_ns = at_ns;
        sift_up(deadlines, deadlines->count++, deadline);
    } else if (at_ns < deadline->key_ns) {
        deadline->key_ns = at_ns;
        sift_up(deadlines, deadline->place - 1, deadline);
    }
}

void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline) {
    if (deadline->place == 0)
        return;
    uint32_t index = deadline->place - 1;
    struct deadline *last = deadlines->heap[--deadlines->count];
    deadline->place = 0;
    if (last == deadline)
        return;
    if (index > 0 && last->key_ns < deadlines->heap[(index - 1) / 2]->key_ns)
        sift_up(deadlines, index, last);
    else
        sift_down(deadlines, index, last);
}

struct deadline *deadlines_pop(struct deadlines *deadlines, int64_t now_ns) {
    while (deadlines->count > 0 && deadlines->heap[0]->key_ns <= now_ns) {
        struct deadline *top = deadlines->heap[0];
        if (top->at_ns <= now_ns) {
            deadlines_remove(deadlines, top);
            return top;
        }
        if (top->at_ns == DEADLINE_NEVER) {
            deadlines_remove(deadlines, top);
        } else { /* it was moved later since */
            top->key_ns = top->at_ns;
            sift_down(deadlines, 0, top);
        }
    }
    return NULL;
}

int64_t deadlines_next_ns(const struct deadlines *deadlines) {
    return deadlines->count > 0 ? deadlines->heap[0]->key_ns : DEADLINE_NEVER;
}
