#include "tests/double/check.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OBJECTS = 64, OUTPUT_BYTES = 64 * 1024 };

static cudaStream_t streams[OBJECTS];
static void *device[OBJECTS], *pinned[OBJECTS];
static int stream_count, device_count, pinned_count;

void check_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    _exit(1);
}

void check_failed_error(const char *file, int line, const char *call, int error) {
    fprintf(stderr, "%s:%d: %s gave %d\n", file, line, call, error);
    _exit(1);
}

cudaStream_t check_stream(void) {
    cudaStream_t stream;
    CHECK_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    streams[stream_count++] = stream;
    return stream;
}

float *check_device_floats(size_t count) {
    void *out;
    CHECK_OK(cudaMalloc(&out, count * sizeof(float)));
    device[device_count++] = out;
    return out;
}

float *check_pinned_floats(size_t count) {
    void *out;
    CHECK_OK(cudaHostAlloc(&out, count * sizeof(float), cudaHostAllocDefault));
    pinned[pinned_count++] = out;
    return out;
}

void check_clean(void) {
    while (stream_count > 0) {
        CHECK_OK(cudaStreamSynchronize(streams[--stream_count]));
        CHECK_OK(cudaStreamDestroy(streams[stream_count]));
    }
    while (device_count > 0)
        CHECK_OK(cudaFree(device[--device_count]));
    while (pinned_count > 0)
        CHECK_OK(cudaFreeHost(pinned[--pinned_count]));
    CHECK(cuda_double_report() == 0);
}

static void fresh(void) {
    stream_count = device_count = pinned_count = 0;
    cuda_double_reset(NULL);
}

static int build(void) {
#if defined(__SANITIZE_THREAD__)
    return IN_TSAN;
#elif defined(__SANITIZE_ADDRESS__)
    return IN_ASAN;
#else
    return IN_PLAIN;
#endif
}

/* Runs this program again for one bug; its stderr goes to output. Returns the wait status. */
static int run_bug(const char *program, int index, char *output) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", index);
        dup2(ends[1], STDERR_FILENO);
        execl(program, program, number, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    char spill[4096];
    while ((got = read(ends[0], used < OUTPUT_BYTES - 1 ? output + used : spill,
                       used < OUTPUT_BYTES - 1 ? OUTPUT_BYTES - 1 - used : sizeof spill)) > 0) {
        if (used < OUTPUT_BYTES - 1)
            used += (size_t)got;
    }
    output[used] = '\0';
    close(ends[0]);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static bool bug_found(const struct check_bug *bug, int status, const char *output) {
    if (bug->text == NULL)
        return WIFEXITED(status) && WEXITSTATUS(status) == CHECK_CAUGHT;
    bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return !ended_well && strstr(output, bug->text) != NULL;
}

int check_main(int argc, char **argv, const struct check_test *tests, const struct check_bug *bugs) {
    static char output[OUTPUT_BYTES];
    int bad = 0;
    if (argc > 1) {
        fresh();
        bugs[atoi(argv[1])].run();
        return 0;
    }
    for (; tests->sentence != NULL; tests++) {
        fresh();
        tests->run();
        printf("ok: %s\n", tests->sentence);
    }
    fresh();
    for (int i = 0; bugs[i].sentence != NULL; i++) {
        if ((bugs[i].where & build()) == 0)
            continue;
        int status = run_bug(argv[0], i, output);
        bool found = bug_found(&bugs[i], status, output);
        printf("%s: %s\n", found ? "ok" : "NOT FOUND", bugs[i].sentence);
        if (!found)
            printf("status %d, stderr:\n%s\n", status, output);
        bad += !found;
    }
    return bad == 0 ? 0 : 1;
}
