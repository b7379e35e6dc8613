/* Controls of the CUDA double: what stands in for the CUDA runtime, cuBLASLt and the GPU on machines without one. It
 * keeps the runtime's rules (streams, events, capture, budgets, errors that stay) and counts what breaks them. What it
 * cannot show stands in README.md. thread: any, but reset while nothing else runs. */
#ifndef WEIR_TESTS_DOUBLE_CUDA_DOUBLE_H
#define WEIR_TESTS_DOUBLE_CUDA_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_double_config {
    int devices;             /* 1 */
    int driver_version;      /* 13000; 0: no driver */
    int initial_error;       /* not 0: what every call returns, such as 100 */
    int major, minor;        /* 9.0 */
    size_t memory_bytes;     /* of each device: 256 MiB */
    size_t context_bytes;    /* what the first use of a device takes: 4 MiB */
    size_t graph_node_bytes; /* what an executable graph takes for each node: 1024 */
    unsigned delay_us;       /* an operation begins up to this much later, a copy to the host takes as long: 0 */
    bool protect;            /* the host's access to device memory is a SIGSEGV (slow): false */
    bool free_waits;         /* cudaFree waits for all streams of the device, as it often does: true */
    bool split_k;            /* the first algorithm for few columns and a long sum is a split-K one: true */
    int fiber_order;         /* threads of a block in order 0, reversed 1, shuffled at every barrier 2: 0 */
};

/* X(name, what it counts). */
#define CUDA_DOUBLE_ALIVE_LIST(X)                                                                                      \
    X(device_blocks, "blocks of device memory")                                                                        \
    X(pinned_blocks, "blocks of pinned memory")                                                                        \
    X(pools, "memory pools")                                                                                           \
    X(streams, "streams")                                                                                              \
    X(events, "events")                                                                                                \
    X(graphs, "graphs")                                                                                                \
    X(graph_execs, "executable graphs")                                                                                \
    X(product_objects, "handles, descriptors, layouts and preferences of cuBLASLt")

/* What a correct program does not do; the double goes on as CUDA would. */
#define CUDA_DOUBLE_MISUSE_LIST(X)                                                                                     \
    X(pageable_copies, "asynchronous copies of memory that is not pinned")                                             \
    X(legacy_stream_uses, "uses of the default stream")                                                                \
    X(blocking_streams, "streams that the default stream blocks")                                                      \
    X(calls_in_host_function, "calls from a host function")                                                            \
    X(capture_violations, "calls that a capture forbids")                                                              \
    X(red_zones_hit, "blocks written before or behind their end")                                                      \
    X(wrong_frees, "objects destroyed twice, or never made")                                                           \
    X(out_of_bounds, "copies, fills and products outside of their blocks")                                             \
    X(overlapping_launches, "executable graphs launched in a second stream before they ended in the first")            \
    X(busy_destroys, "executable graphs destroyed while they ran")                                                     \
    X(device_resets, "device resets")                                                                                  \
    X(small_workspaces, "products with less workspace than their algorithm's")                                         \
    X(misaligned_operands, "products on operands that are not 16-byte aligned")                                        \
    X(foreign_algorithms, "products with an algorithm that is not for their shape")

#define CUDA_DOUBLE_WORK_LIST(X)                                                                                       \
    X(kernels, "kernel launches, captured ones included")                                                              \
    X(products, "matrix products, captured ones included")                                                             \
    X(operations, "operations that ran")                                                                               \
    X(graph_launches, "graph launches")                                                                                \
    X(waits, "waits of the host")

struct cuda_double_counts {
#define CUDA_DOUBLE_MEMBER(name, text) unsigned long name;
    CUDA_DOUBLE_ALIVE_LIST(CUDA_DOUBLE_MEMBER)
    CUDA_DOUBLE_MISUSE_LIST(CUDA_DOUBLE_MEMBER)
    CUDA_DOUBLE_WORK_LIST(CUDA_DOUBLE_MEMBER)
#undef CUDA_DOUBLE_MEMBER
    size_t device_bytes, device_peak_bytes, pinned_bytes; /* of all devices, contexts and graphs included */
};

struct cuda_double_config cuda_double_defaults(void);

/* Forgets everything, as a new process would: objects, errors, counts, failures to come. Hanging operations end. The
 * config holds until the next reset. */
void cuda_double_reset(const struct cuda_double_config *config);

/* The nth call of the function from now on (1: the next) returns error and does nothing else. function: such as
 * "cudaMalloc", "cublasLtMatmul" (error is then a cublasStatus_t), or "*" for any. A function can have one such
 * failure to come at a time. */
void cuda_double_fail_call(const char *function, unsigned long nth, int error);
/* The function whose call failed as planned, "" if none did since the reset. Until the next reset. */
const char *cuda_double_failed(void);
/* Calls of the function ("*": any) since the reset. */
unsigned long cuda_double_calls(const char *function);

/* The nth operation of that name from now on (1: the next to begin) does not run: the device is in error for good.
 * name: a kernel's, "product", "copy to device", "copy to host", "copy on device", "fill", or "*" for any of these. */
void cuda_double_fail_operation(const char *name, unsigned long nth, int error);
/* Likewise, but it never ends, until a reset or cuda_double_release. */
void cuda_double_hang_operation(const char *name, unsigned long nth);
void cuda_double_release(void);

struct cuda_double_counts cuda_double_read(void);
/* Prints to stderr what is alive and what was misused; returns how much that is, 0 for a correct program's end. */
unsigned long cuda_double_report(void);

/* Is all of [at, at + bytes) within one live block of device (pinned) memory? */
bool cuda_double_is_device(const void *at, size_t bytes);
bool cuda_double_is_pinned(const void *at, size_t bytes);

/* In a process that cannot call these, the environment says the same, read when the double is loaded; '_' stands for a
 * space in an operation's name: CUDA_DOUBLE="devices=2 driver=13000 error=100 memory_mib=64 delay_us=50 protect=1
 * fail_call=cudaMalloc:3:2 fail_operation=copy_to_host:7:700 hang_operation=product:9". With "when=/a/file" the
 * planned failures are counted from the moment on at which that file is there. */

#ifdef __cplusplus
}
#endif

#endif
