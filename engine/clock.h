/* Monotonic time. Policy code takes now_ns as a parameter; only the edges call clock_now_ns. */
#ifndef WEIR_ENGINE_CLOCK_H
#define WEIR_ENGINE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_NS_PER_US = 1000, CLOCK_NS_PER_MS = 1000000 };
#define CLOCK_NS_PER_S INT64_C(1000000000)

/* CLOCK_MONOTONIC in nanoseconds. thread: any. */
int64_t clock_now_ns(void);

/* Initialises a condition for clock_cond_wait. */
void clock_cond_init(pthread_cond_t *cond);

/* Waits, with the lock, until the condition is signalled or clock_now_ns() is at_ns. Returns false in the second case.
 * thread: any. */
bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t at_ns);

/* Seconds since 1970, for people and files. thread: any. */
int64_t clock_unix_s(void);

#endif
