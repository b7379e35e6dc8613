#include "server/admit/admission.h"

#include <assert.h>

void admission_init(struct admission *admission, uint32_t max_slots, uint64_t max_bytes) {
    atomic_init(&admission->slots, 0);
    atomic_init(&admission->bytes, 0);
    atomic_init(&admission->max_slots, max_slots);
    atomic_init(&admission->max_bytes, max_bytes);
}

void admission_set_limits(struct admission *admission, uint32_t max_slots, uint64_t max_bytes) {
    atomic_store(&admission->max_slots, max_slots);
    atomic_store(&admission->max_bytes, max_bytes);
}

static bool fits(const struct admission *admission, uint32_t slots, uint32_t spared) {
    uint32_t max_slots = atomic_load_explicit(&admission->max_slots, memory_order_relaxed);
    return (uint64_t)slots + spared < max_slots;
}

bool admission_has_slot(const struct admission *admission, uint32_t spared) {
    return fits(admission, atomic_load_explicit(&admission->slots, memory_order_relaxed), spared);
}

bool admission_take_slot(struct admission *admission, uint32_t spared) {
    uint32_t slots = atomic_load_explicit(&admission->slots, memory_order_relaxed);
    do {
        if (!fits(admission, slots, spared))
            return false;
    } while (!atomic_compare_exchange_weak(&admission->slots, &slots, slots + 1));
    return true;
}

void admission_release_slot(struct admission *admission) {
    uint32_t before = atomic_fetch_sub(&admission->slots, 1);
    assert(before > 0);
    (void)before;
}

bool admission_take_bytes(struct admission *admission, uint64_t bytes) {
    uint64_t held = atomic_load_explicit(&admission->bytes, memory_order_relaxed), sum;
    do {
        if (__builtin_add_overflow(held, bytes, &sum))
            return false;
        if (sum > atomic_load_explicit(&admission->max_bytes, memory_order_relaxed))
            return false;
    } while (!atomic_compare_exchange_weak(&admission->bytes, &held, sum));
    return true;
}

void admission_release_bytes(struct admission *admission, uint64_t bytes) {
    uint64_t before = atomic_fetch_sub(&admission->bytes, bytes);
    assert(before >= bytes);
    (void)before;
}
