#include "engine/model/traffic.h"

#include <stdatomic.h>

uint64_t traffic_hash(const void *bytes, size_t size) {
    const unsigned char *next = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ next[i]) * UINT64_C(0x100000001b3);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ (hash >> 33);
}

/* Scales 64 bits to a share, 0 to 999,999. */
static bool is_within(uint64_t bits, uint32_t share_ppm) {
    return (((bits >> 32) * TRAFFIC_WHOLE_PPM) >> 32) < share_ppm;
}

/* The golden ratio's multiples, modulo 1, fill the unit interval evenly (Weyl's sequence). By itself it would beat with
 * clients that take turns: with 987 connections, a Fibonacci number, the same few would be the candidate's for
 * thousands of requests. So within each block of BLOCK requests the order is shuffled, by a bijection that the block's
 * number picks. */
enum { BLOCK_BITS = 8, BLOCK = 1 << BLOCK_BITS };

static uint64_t shuffle(uint64_t position, uint64_t key) {
    for (int round = 0; round < 3; round++) {
        position = (position * (key | 1) + (key >> 8)) & (BLOCK - 1);
        position ^= position >> (BLOCK_BITS / 2);
        key >>= 16;
    }
    return position;
}

bool traffic_take(_Atomic uint64_t *counter, uint32_t share_ppm) {
    uint64_t turn = atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    uint64_t block = turn >> BLOCK_BITS;
    uint64_t place = block << BLOCK_BITS | shuffle(turn & (BLOCK - 1), traffic_hash(&block, sizeof block));
    return is_within((place + 1) * UINT64_C(0x9e3779b97f4a7c15), share_ppm);
}

bool traffic_take_key(uint64_t hash, uint32_t share_ppm) {
    return is_within(hash, share_ppm);
}
