/* What the processor can do at most: float32 multiply-adds a second, and bytes read a second from buffers of given
 * sizes. usage: bench_peaks THREADS SECONDS KIB...   prints one JSON object The widest instructions that the processor
 * has are taken; every thread has its own registers and its share of a buffer. Figures are those of the best of several
 * rounds: a peak is what was reached once. */
#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 64, ROUNDS = 7, CHAINS = 12, LOOPS = 200000 };

struct worker {
    pthread_t thread;
    const char *bytes;
    size_t size;
    uint64_t passes;
    float sink;
    pthread_barrier_t *gate;
    double began, ended;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* CHAINS independent chains of multiply-adds. Returns a number that depends on all of them. */
__attribute__((target("avx512f"))) static float multiply_wide(uint64_t loops) {
    __m512 sums[CHAINS], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
    for (int i = 0; i < CHAINS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (uint64_t n = 0; n < loops; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sums[i] = _mm512_fmadd_ps(sums[i], a, b);
    }
    for (int i = 1; i < CHAINS; i++)
        sums[0] = _mm512_add_ps(sums[0], sums[i]);
    return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) static float multiply(uint64_t loops) {
    __m256 sums[CHAINS], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
    for (int i = 0; i < CHAINS; i++)
        sums[i] = _mm256_set1_ps((float)i);
    for (uint64_t n = 0; n < loops; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sums[i] = _mm256_fmadd_ps(sums[i], a, b);
    }
    for (int i = 1; i < CHAINS; i++)
        sums[0] = _mm256_add_ps(sums[0], sums[i]);
    return _mm256_cvtss_f32(sums[0]);
}

/* Reads size bytes, a multiple of 1 KiB; 16 lines at a time. */
__attribute__((target("avx512f"))) static float read_wide(const char *bytes, size_t size) {
    __m512 sums[8];
    for (int i = 0; i < 8; i++)
        sums[i] = _mm512_setzero_ps();
    for (size_t at = 0; at < size; at += 1024) {
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++)
            sums[i % 8] = _mm512_add_ps(sums[i % 8], _mm512_load_ps(bytes + at + (size_t)i * 64));
    }
    for (int i = 1; i < 8; i++)
        sums[0] = _mm512_add_ps(sums[0], sums[i]);
    return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2"))) static float read_narrow(const char *bytes, size_t size) {
    __m256 sums[8];
    for (int i = 0; i < 8; i++)
        sums[i] = _mm256_setzero_ps();
    for (size_t at = 0; at < size; at += 1024) {
#pragma GCC unroll 32
        for (int i = 0; i < 32; i++)
            sums[i % 8] = _mm256_add_ps(sums[i % 8], _mm256_load_ps((const float *)(bytes + at) + i * 8));
    }
    for (int i = 1; i < 8; i++)
        sums[0] = _mm256_add_ps(sums[0], sums[i]);
    return _mm256_cvtss_f32(sums[0]);
}

static void *multiply_in_thread(void *argument) {
    struct worker *worker = argument;
    bool wide = __builtin_cpu_supports("avx512f");
    pthread_barrier_wait(worker->gate);
    worker->began = now();
    worker->sink = wide ? multiply_wide(LOOPS) : multiply(LOOPS);
    worker->ended = now();
    return NULL;
}

static void *read_in_thread(void *argument) {
    struct worker *worker = argument;
    bool wide = __builtin_cpu_supports("avx512f");
    pthread_barrier_wait(worker->gate);
    worker->began = now();
    for (uint64_t pass = 0; pass < worker->passes; pass++)
        worker->sink += wide ? read_wide(worker->bytes, worker->size) : read_narrow(worker->bytes, worker->size);
    worker->ended = now();
    return NULL;
}

/* Runs the workers together; returns the time from the first start to the last end. */
static double run(struct worker *workers, int threads, void *(*function)(void *)) {
    pthread_barrier_t gate;
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        workers[i].gate = &gate;
        if (pthread_create(&workers[i].thread, NULL, function, &workers[i]) != 0)
            exit(1);
    }
    double began = 1e300, ended = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        began = workers[i].began < began ? workers[i].began : began;
        ended = workers[i].ended > ended ? workers[i].ended : ended;
    }
    pthread_barrier_destroy(&gate);
    return ended - began;
}

static double best_flops(struct worker *workers, int threads, double seconds) {
    double lanes = __builtin_cpu_supports("avx512f") ? 16 : 8, best = 0, end = now() + seconds;
    for (int round = 0; round < ROUNDS || now() < end; round++) {
        double rate = 2 * lanes * CHAINS * LOOPS * threads / run(workers, threads, multiply_in_thread);
        best = rate > best ? rate : best;
    }
    return best;
}

static double best_bytes(struct worker *workers, int threads, double seconds, size_t size) {
    size_t share = size / (size_t)threads / 1024 * 1024;
    if (share == 0)
        share = 1024;
    char *memory = aligned_alloc(4096, (share * (size_t)threads + 4095) / 4096 * 4096);
    if (!memory)
        exit(1);
    memset(memory, 0, share * (size_t)threads);
    for (int i = 0; i < threads; i++) {
        workers[i].bytes = memory + (size_t)i * share;
        workers[i].size = share;
        workers[i].passes = share > (8 << 20) ? 1 : (8 << 20) / share;
    }
    double best = 0, end = now() + seconds;
    for (int round = 0; round < ROUNDS || now() < end; round++) {
        double bytes = (double)share * (double)threads * (double)workers[0].passes;
        double rate = bytes / run(workers, threads, read_in_thread);
        best = rate > best ? rate : best;
    }
    free(memory);
    return best;
}

int main(int argc, char **argv) {
    static struct worker workers[MAX_THREADS];
    int threads = argc > 3 ? atoi(argv[1]) : 0;
    double seconds = argc > 3 ? strtod(argv[2], NULL) : 0;
    if (threads < 1 || threads > MAX_THREADS || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        fputs("usage: bench_peaks THREADS SECONDS KIB... (needs AVX2 and FMA)\n", stderr);
        return 2;
    }
    printf("{\"threads\": %d, \"flops\": %.4g, \"read\": {", threads, best_flops(workers, threads, seconds));
    for (int i = 3; i < argc; i++) {
        size_t kib = strtoul(argv[i], NULL, 10);
        printf("%s\"%zu\": %.4g", i > 3 ? ", " : "", kib, best_bytes(workers, threads, seconds, kib * 1024));
    }
    puts("}}");
    return 0;
}
