#include "engine/device/cuda/cuda_graph.h"

#include "engine/device/cuda/cuda_steps.h"
#include "engine/device/cuda/cuda_wait.h"

/* Capture is ended whatever happens, or the stream could not be used again. Thread-local: what other threads do
 * meanwhile (a loader that takes memory) does not break it. */
static enum weir_status capture(const struct cuda_lt *lt, const struct cuda_program *program,
                                const struct cuda_slot_memory *memory, cudaGraph_t *graph, struct weir_error *err) {
    cudaError_t code = cudaStreamBeginCapture(memory->stream, cudaStreamCaptureModeThreadLocal);
    *graph = NULL;
    if (code != cudaSuccess)
        return cuda_errors_fail(lt->errors, code, "beginning a graph", err);
    enum weir_status status = cuda_steps_run(lt, program, memory, err);
    code = cudaStreamEndCapture(memory->stream, graph);
    if (code != cudaSuccess)
        *graph = NULL;
    if (status != WEIR_OK) {
        (void)cudaGetLastError(); /* of a capture that the failure broke */
        return status;
    }
    return cuda_errors_check(lt->errors, code, "ending a graph", err);
}

enum weir_status cuda_graph_record(const struct cuda_lt *lt, struct cuda_program *program, int slot,
                                   const struct cuda_slot_memory *memory, struct weir_error *err) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t made = NULL;
    enum weir_status status = cuda_steps_run(lt, program, memory, err);
    if (status == WEIR_OK)
        status = cuda_wait(lt->errors, memory->stream, "the first run", err);
    if (status == WEIR_OK)
        status = capture(lt, program, memory, &graph, err);
    if (status == WEIR_OK)
        status = cuda_errors_check(lt->errors, cudaGraphInstantiate(&made, graph, 0), "making a graph", err);
    if (graph)
        (void)cudaGraphDestroy(graph);
    if (status != WEIR_OK)
        return status;
    program->graphs[slot] = made;
    status = cuda_errors_check(lt->errors, cudaGraphUpload(made, memory->stream), "sending up a graph", err);
    if (status == WEIR_OK)
        status = cuda_wait(lt->errors, memory->stream, "sending up a graph", err);
    return status;
}

void cuda_graph_forget(struct cuda_program *program, bool lost) {
    for (int slot = 0; slot < CUDA_SLOTS; slot++) {
        if (program->graphs[slot] && !lost)
            (void)cudaGraphExecDestroy(program->graphs[slot]);
        program->graphs[slot] = NULL;
    }
}
