/* Monotonic time. Policy code takes now_ns as a parameter; only the edges call clock_now_ns. */
#ifndef WEIR_ENGINE_CLOCK_H
#define WEIR_ENGINE_CLOCK_H

#include <stdint.h>

enum { CLOCK_NS_PER_US = 1000, CLOCK_NS_PER_MS = 1000000 };
#define CLOCK_NS_PER_S INT64_C(1000000000)

/* CLOCK_MONOTONIC in nanoseconds. thread: any. */
int64_t clock_now_ns(void);

/* Seconds since 1970, for people and files. thread: any. */
int64_t clock_unix_s(void);

#endif
