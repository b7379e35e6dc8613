/* How OpenMP's threads wait for each other. */
#ifndef WEIR_ENGINE_OPENMP_H
#define WEIR_ENGINE_OPENMP_H

/* Limits for how long a thread that waits keeps its processor: GCC's libgomp spins for milliseconds, and on a machine
 * where others work too, batches on two threads then took 20 times as long as on one. libgomp reads its settings once,
 * before main: so this sets GOMP_SPINCOUNT and runs the process's program again, with the same arguments, under the
 * same process number. Returns without that where GOMP_SPINCOUNT or OMP_WAIT_POLICY is set already, and if it fails. To
 * be called before anything is open. thread: main. */
void openmp_limit_spinning(void);

#endif
