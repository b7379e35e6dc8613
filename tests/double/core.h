/* The double's inner parts. One lock, core.lock, guards all of it; operations run without it. */
#ifndef WEIR_TESTS_DOUBLE_CORE_H
#define WEIR_TESTS_DOUBLE_CORE_H

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/double/cuda_double.h"
#include "tests/double/objects.h"
#include "tests/double/sanitizers.h"

struct device_state {
    bool context;
    bool hangs; /* an operation hangs: no other one begins */
    size_t used_bytes;
    int sticky;
    CUstream_st *legacy;
    CUmemPoolHandle_st *pool;
};

struct failure {
    unsigned long nth;
    int error;
};

enum { DOUBLE_MAX_DEVICES = 16 };

struct double_core {
    hidden_lock lock;
    cuda_double_config config;
    cuda_double_counts counts;
    device_state devices[DOUBLE_MAX_DEVICES];
    std::set<CUstream_st *> streams; /* legacy ones too */
    std::set<CUevent_st *> events;
    std::set<CUgraph_st *> graphs;
    std::set<CUgraphExec_st *> execs;
    std::set<CUmemPoolHandle_st *> pools;
    std::map<char *, memory_block> device_blocks, pinned_blocks;
    std::set<void *> product_objects; /* those that were never destroyed stay here: a sanitizer tells of others */
    std::map<std::string, failure> failing_calls, failing_operations;
    std::map<std::string, unsigned long> hanging_operations, calls;
    std::string failed; /* the function whose call failed as planned */
    std::string when;   /* planned failures wait for this file; "": they do not */
    bool released;      /* hanging operations end */
    int threads;        /* of streams, destroyed ones included */
    int open;           /* operations at work, while which device memory can be reached */
};

extern struct double_core &core;

struct core_guard {
    core_guard() {
        core.lock.lock();
    }
    ~core_guard() {
        core.lock.unlock();
    }
};

/* Are planned failures counted yet? Lock held. */
bool core_plans_hold(void);

/* Every call of the API begins with this: errors of the process, planned failures, sticky errors. needs_context: the
 * current device is set up if it is not. */
cudaError_t core_enter(const char *function, bool needs_context = true);
/* Planned failures of a function of cuBLASLt: the status, or 0. */
int core_enter_planned(const char *function);
/* Remembers the error for cudaGetLastError and returns it. */
cudaError_t core_error(cudaError_t error);
#define CORE_ENTER()                                                                                                   \
    do {                                                                                                               \
        cudaError_t entered = core_enter(__func__);                                                                    \
        if (entered != cudaSuccess)                                                                                    \
            return core_error(entered);                                                                                \
    } while (0)

int core_current_device(void);
void core_set_current_device(int device);
void core_forget_last_error(void);
/* Takes memory of the device's budget; false: there is not enough. Lock held. */
bool core_take(int device, size_t bytes);
void core_give_back(int device, size_t bytes);
unsigned core_random(void);
double core_now_ms(void);
void core_sleep_us(unsigned us);

/* stream.cc: enqueues operations one after another, or captures them. The handle may be that of a default stream. */
cudaError_t stream_enqueue(cudaStream_t stream, const std::vector<operation_node> &nodes);
cudaError_t stream_enqueue(cudaStream_t stream, const char *name, bool host, std::function<void()> run);
/* The stream that the handle means; NULL: there is none. Counts uses of default streams. Lock held. */
CUstream_st *stream_find(cudaStream_t stream);
/* Waits until everything enqueued so far is done. Lock held. */
cudaError_t stream_wait(CUstream_st *stream);
cudaError_t stream_wait_device(int device);
void stream_end_all(void);

/* graph.cc: an error if this thread may not make potentially unsafe calls now; breaks the captures. */
cudaError_t capture_check_unsafe(void);
extern "C" cudaError_t cuda_double_launch(const char *name, cudaStream_t stream, std::function<void()> run);

/* memory.cc. Lock held. */
bool memory_holds(const std::map<char *, memory_block> &blocks, const void *at, size_t bytes);
void memory_open(void);
void memory_close(void);
void memory_release_all(void);

#endif
