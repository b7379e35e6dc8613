/* Large loops on all threads of OpenMP, where it was compiled with it. */
#ifndef WEIR_KERNELS_CPU_CPU_PARALLEL_H
#define WEIR_KERNELS_CPU_CPU_PARALLEL_H

#include <stddef.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* Does the parts from..to-1 of a job. */
typedef void (*cpu_parallel_function)(const void *job, size_t from, size_t to);

enum { CPU_PARALLEL_LEAST = 1 << 16 }; /* elements from which on it pays */

/* Does the parts 0..count-1, in ranges on several threads if there are elements enough in all. */
static inline void cpu_parallel_run(cpu_parallel_function function, const void *job, size_t count, size_t elements) {
#ifdef _OPENMP
    if (elements >= CPU_PARALLEL_LEAST && count > 1 && omp_get_max_threads() > 1) {
#pragma omp parallel
        {
            size_t threads = (size_t)omp_get_num_threads(), thread = (size_t)omp_get_thread_num();
            function(job, count * thread / threads, count * (thread + 1) / threads);
        }
        return;
    }
#endif
    (void)elements;
    function(job, 0, count);
}

#endif
