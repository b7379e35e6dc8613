/* Every call that the CUDA backend makes of the runtime and of cuBLASLt fails in turn, with an error that passes and
 * with one that stays, while it opens, loads, runs and lets go; every operation fails in turn on the device. Each ends
 * in a clean refusal or in the loss of the device, with the right status and its reason, and nothing is left over. */
#include <stdio.h>
#include <string.h>

#include "engine/device/cuda/cuda_backend.h"
#include "tests/double/cuda_double.h"
#include "tests/double/cuda_models.h"

/* AddressSanitizer makes a turn slow: there one call in three is tried. */
#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 3 };
#else
enum { STRIDE = 1 };
#endif

enum { PASSES = 1, STAYS = 700, MAX_ROWS = 5, RUNS = 2 };

struct turn {
    enum weir_status status;
    char reason[sizeof((struct weir_error *)NULL)->text];
    bool opened;
    bool stays_lost; /* after a loss every call says so, and none goes to the device */
};

static void reset(void) {
    struct cuda_double_config small = cuda_double_defaults();
    small.major = 8; /* its workspace is small, and so is what it reserves: a turn takes less time */
    small.memory_bytes = 48 << 20;
    cuda_double_reset(&small);
}

/* Calls that a lost device should be spared. Descriptors of cuBLASLt are the host's alone. */
static unsigned long runtime_calls(void) {
    static const char *const functions[] = {"cudaSetDevice",    "cudaStreamSynchronize", "cudaGraphExecDestroy",
                                            "cudaEventDestroy", "cudaStreamDestroy",     "cudaFreeHost",
                                            "cudaFree",         "cudaGraphLaunch"};
    unsigned long sum = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        sum += cuda_double_calls(functions[i]);
    return sum;
}

/* Opens, loads, runs in both slots, lets go. */
static struct turn take_turn(int which) {
    struct cuda_models_bench bench;
    struct turn turn = {.stays_lost = true};
    cuda_models_err.text[0] = 0;
    turn.status = cuda_models_try_load(&bench, which, (struct backend_options){.invariance = BACKEND_BUCKET}, MAX_ROWS);
    turn.opened = bench.backend != NULL;
    for (int i = 0; i < RUNS && turn.status == WEIR_OK; i++)
        turn.status = cuda_models_run(&bench, i, 1 + (uint32_t)i * 2, 1 + i);
    if (turn.status != WEIR_OK)
        EXPECT(cuda_models_err.text[0], "a failure has its reason");
    memcpy(turn.reason, cuda_models_err.text, sizeof turn.reason);
    if (turn.status == WEIR_DEVICE_LOST) {
        unsigned long calls = runtime_calls();
        EXPECT(bench.backend->ops->state(bench.backend) == BACKEND_LOST, "the state");
        turn.stays_lost = !bench.model || cuda_models_run(&bench, 0, 1, 1) == WEIR_DEVICE_LOST;
        cuda_models_unload(&bench);
        turn.stays_lost = turn.stays_lost && runtime_calls() == calls;
    } else {
        cuda_models_unload(&bench);
    }
    return turn;
}

static unsigned long alive(void) {
    struct cuda_double_counts counts = cuda_double_read();
    unsigned long sum = 0;
#define ADD(name, text) sum += counts.name;
    CUDA_DOUBLE_ALIVE_LIST(ADD)
#undef ADD
    return sum;
}

static unsigned long misused(void) {
    struct cuda_double_counts counts = cuda_double_read();
    unsigned long sum = 0;
#define ADD(name, text) sum += counts.name;
    CUDA_DOUBLE_MISUSE_LIST(ADD)
#undef ADD
    return sum;
}

/* A call that lets go of something: when it fails, that one thing is left, and nobody is told. */
static bool lets_go(const char *function) {
    return strstr(function, "Free") || strstr(function, "Destroy");
}

static void judge(const char *function, unsigned long nth, int error, const struct turn *turn) {
    bool is_lt = strncmp(function, "cuda", 4) != 0, ends_capture = strcmp(function, "cudaStreamEndCapture") == 0;
    /* On the way out these are nobody's; "a context" is a part of cudaSetDevice. */
    bool quiet = lets_go(function) || strcmp(function, "cudaSetDevice") == 0 || strcmp(function, "a context") == 0 ||
                 strcmp(function, "cudaStreamSynchronize") == 0;
    if (turn->status == WEIR_OK)
        EXPECT(quiet, "%s, call %lu: nobody noticed", function, nth);
    else if (error == STAYS && turn->opened && !is_lt)
        EXPECT(turn->status == WEIR_DEVICE_LOST && turn->stays_lost, "%s, call %lu: %s", function, nth, turn->reason);
    else
        EXPECT(turn->status == WEIR_DEVICE || turn->status == WEIR_NO_MEMORY ||
                   (error == STAYS && turn->status == WEIR_DEVICE_LOST),
               "%s, call %lu: %s", function, nth, turn->reason);
    /* Of a lost device nothing is freed: the process ends. The double leaves a capture open that it failed to end. */
    if (turn->status != WEIR_DEVICE_LOST)
        EXPECT(alive() <= lets_go(function), "%s, call %lu: %lu objects are left", function, nth, alive());
    EXPECT(misused() == 0 || ends_capture, "%s, call %lu: misused", function, nth);
}

static void every_call_fails(int which, int error) {
    unsigned long failures = 0, nth;
    for (nth = 1;; nth += STRIDE) {
        reset();
        cuda_double_fail_call("*", nth, error);
        struct turn turn = take_turn(which);
        if (!cuda_double_failed()[0])
            break;
        judge(cuda_double_failed(), nth, error, &turn);
        failures += turn.status != WEIR_OK;
    }
    printf("   %s, error %d: %lu of %lu calls ended a turn\n", cuda_models[which].name, error, failures,
           (nth - 1) / STRIDE);
    EXPECT(failures > 100 / STRIDE, "%lu calls", failures);
}

static void every_operation_fails(int which) {
    unsigned long nth;
    for (nth = 1;; nth += STRIDE) {
        reset();
        cuda_double_fail_operation("*", nth, STAYS);
        struct turn turn = take_turn(which);
        if (turn.status == WEIR_OK)
            break;
        EXPECT(turn.status == (turn.opened ? WEIR_DEVICE_LOST : WEIR_DEVICE) && turn.stays_lost, "operation %lu: %s",
               nth, turn.reason);
        EXPECT(strstr(turn.reason, "cudaErrorIllegalAddress"), "%s", turn.reason);
        EXPECT(misused() == 0, "operation %lu: misused", nth);
    }
    printf("   %s: %lu operations\n", cuda_models[which].name, nth - 1);
    EXPECT(nth > 20, "%lu operations", nth);
}

int main(void) {
    static const int models[] = {CUDA_MODELS_MLP, CUDA_MODELS_FREE};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        every_call_fails(models[i], PASSES);
        every_call_fails(models[i], STAYS);
        every_operation_fails(models[i]);
    }
    printf("ok: every call and every operation that fails ends in a refusal or a loss, with nothing left over\n");
    return 0;
}
