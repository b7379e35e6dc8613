/* Which version a request goes to: the candidate's share of the traffic, in parts per million. */
#ifndef WEIR_ENGINE_MODEL_TRAFFIC_H
#define WEIR_ENGINE_MODEL_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRAFFIC_WHOLE_PPM = 1000000 };

/* A hash of a sticky header's value: FNV-1a of 64 bits, then the final mixer of MurmurHash3. Sources: RFC 9923;
 * Appleby, MurmurHash3 (fmix64). The same on every machine and in every release: keys must not move. */
uint64_t traffic_hash(const void *bytes, size_t size);

/* Does the next request without a key belong to the share? counter is the share's own and begins with 0. The shares
 * come out even: after n requests the count is off by a few, whatever order clients and connections take turns in.
 * thread: any. */
bool traffic_take(_Atomic uint64_t *counter, uint32_t share_ppm);

/* Does the key with this hash belong to the share? A key that does stays in it while the share grows. thread: any. */
bool traffic_take_key(uint64_t hash, uint32_t share_ppm);

#endif
