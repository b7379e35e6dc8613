/* What the runtime's handles point to. */
#ifndef WEIR_TESTS_DOUBLE_OBJECTS_H
#define WEIR_TESTS_DOUBLE_OBJECTS_H

#include <cuda_runtime_api.h>
#include <pthread.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/* What a stream runs. host: not work of the GPU (a record, a wait, a host function), so that no delay, failure or hang
 * is planned for it. */
struct operation_node {
    std::string name;
    bool host;
    std::function<void()> run;
};

struct queued_operation {
    operation_node node;
    char sync; /* from the thread that enqueued it to the stream's thread */
};

struct capture {
    cudaStreamCaptureMode mode;
    pthread_t thread;
    bool invalid;
    CUgraph_st *graph;
};

struct CUstream_st {
    std::deque<queued_operation *> queue;
    unsigned long enqueued, done;
    int device;
    unsigned flags;
    bool stop; /* its thread ends, and deletes it, when the queue is empty and nobody waits */
    int waiters;
    char sync;         /* from its thread to whoever waits for it */
    capture *captured; /* NULL: not capturing */
};

/* Shared with the operations that record it and wait for it, which may outlive the handle. */
struct event_state {
    unsigned flags;
    int device;
    unsigned long recorded, done;
    double time_ms;
    char sync;
    CUstream_st *captured_in; /* its last record was captured there */
};

struct CUevent_st {
    std::shared_ptr<event_state> state;
};

struct CUgraph_st {
    std::vector<operation_node> nodes;
};

struct CUgraphExec_st {
    std::vector<operation_node> nodes;
    size_t bytes;
    int device, running;
    CUstream_st *last;
};

struct CUmemPoolHandle_st {
    int device;
    unsigned long long threshold;
    bool built_in;
};

struct memory_block {
    size_t bytes, span, mapped; /* as asked for; counted; of address space */
    int device;
    unsigned flags;
    bool registered; /* host memory of somebody else's */
};

#endif
