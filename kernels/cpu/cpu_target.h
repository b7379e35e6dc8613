/* One source, several instruction sets: a loop is written once as an always-inlined function, and compiled for each
 * target by functions that only call it. The results are the same bits, as long as the compiler does not contract
 * a * b + c (it does not in ISO C mode). */
#ifndef WEIR_KERNELS_CPU_CPU_TARGET_H
#define WEIR_KERNELS_CPU_CPU_TARGET_H

#define CPU_TARGET_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define CPU_TARGET_AVX2   __attribute__((target("avx2")))
#define CPU_TARGET_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl")))

CPU_TARGET_INLINE int cpu_target_has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/* Defines `static void name(parameters)`, which calls body(arguments) compiled for the best target of this machine. */
#define CPU_TARGET_VARIANTS(name, body, parameters, arguments)                                                         \
    CPU_TARGET_AVX2 static void name##_avx2 parameters {                                                               \
        body arguments;                                                                                                \
    }                                                                                                                  \
    CPU_TARGET_AVX512 static void name##_avx512 parameters {                                                           \
        body arguments;                                                                                                \
    }                                                                                                                  \
    static void name parameters {                                                                                      \
        if (cpu_target_has_avx512())                                                                                   \
            name##_avx512 arguments;                                                                                   \
        else if (__builtin_cpu_supports("avx2"))                                                                       \
            name##_avx2 arguments;                                                                                     \
        else                                                                                                           \
            body arguments;                                                                                            \
    }
#else
#define CPU_TARGET_VARIANTS(name, body, parameters, arguments)                                                         \
    static void name parameters {                                                                                      \
        body arguments;                                                                                                \
    }
#endif

/* Before a loop of independent iterations (y may be x, element by element). */
#if defined(__GNUC__) && !defined(__clang__)
#define CPU_TARGET_INDEPENDENT _Pragma("GCC ivdep")
#else
#define CPU_TARGET_INDEPENDENT
#endif

#endif
