/* How much may be in progress: prediction slots, and bytes of bodies on their way in. */
#ifndef WEIR_SERVER_ADMIT_ADMISSION_H
#define WEIR_SERVER_ADMIT_ADMISSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Shared by all loops; every function: thread: any. */
struct admission {
    _Atomic uint32_t slots;
    _Atomic uint32_t max_slots;
    _Atomic uint64_t bytes;
    _Atomic uint64_t max_bytes;
};

void admission_init(struct admission *admission, uint32_t max_slots, uint64_t max_bytes);

/* Limits may change while requests are in progress: those keep what they hold. */
void admission_set_limits(struct admission *admission, uint32_t max_slots, uint64_t max_bytes);

/* Is there a free slot at this moment? A hint: only admission_take_slot decides. spared: how many slots the caller must
 * leave to requests that matter more. */
bool admission_has_slot(const struct admission *admission, uint32_t spared);

/* True: the caller holds a slot until admission_release_slot. */
bool admission_take_slot(struct admission *admission, uint32_t spared);
void admission_release_slot(struct admission *admission);

/* True: the caller holds that many bytes more until admission_release_bytes. */
bool admission_take_bytes(struct admission *admission, uint64_t bytes);
void admission_release_bytes(struct admission *admission, uint64_t bytes);

#endif
