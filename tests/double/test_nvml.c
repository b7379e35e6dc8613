/* The NVML double, opened as a server opens the real one. argv[1]: the library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/double/nvml_double.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void *library;

/* dlsym gives a void pointer where a function's is wanted; POSIX says that copying it works. */
#define CALL(name, types, ...) (*(int(**) types) & (void *){dlsym(library, #name)})(__VA_ARGS__)

static void numbers_come_as_they_were_set(struct nvml_double *state) {
    void *device = NULL, *by_bus = NULL;
    unsigned value = 0;
    unsigned long long memory[3] = {0};
    char text[96];
    state->devices[1].temperature_c = 83;
    state->devices[1].used_bytes = 100;
    state->device_count = 2;
    CHECK(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), 1, &device) == NVML_DOUBLE_OK);
    CHECK(CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *, void **), "0000:02:00.0", &by_bus) == NVML_DOUBLE_OK);
    CHECK(device == by_bus);
    CHECK(CALL(nvmlDeviceGetTemperature, (void *, int, unsigned *), device, 0, &value) == NVML_DOUBLE_OK);
    CHECK(value == 83);
    CHECK(CALL(nvmlDeviceGetMemoryInfo, (void *, void *), device, memory) == NVML_DOUBLE_OK);
    CHECK(memory[2] == 100 && memory[0] == memory[1] + memory[2]);
    CHECK(CALL(nvmlDeviceGetName, (void *, char *, unsigned), device, text, 96) == NVML_DOUBLE_OK);
    CHECK(strcmp(text, "SIMULATED GPU 1") == 0);
    CHECK(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), 2, &device) == NVML_DOUBLE_INVALID);
}

static void what_cannot_be_read_says_so(struct nvml_double *state) {
    void *device = NULL;
    unsigned rates[2] = {99, 99}, count;
    CHECK(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), 0, &device) == NVML_DOUBLE_OK);
    state->devices[0].mig = 1;
    CHECK(CALL(nvmlDeviceGetUtilizationRates, (void *, void *), device, rates) == NVML_DOUBLE_NOT_SUPPORTED);
    CHECK(rates[0] == 99);
    strcpy(state->failing[0].name, "DeviceGetPowerUsage");
    state->failing[0].error = NVML_DOUBLE_NO_PERMISSION;
    CHECK(CALL(nvmlDeviceGetPowerUsage, (void *, unsigned *), device, &count) == NVML_DOUBLE_NO_PERMISSION);
    state->devices[0].error = NVML_DOUBLE_GPU_LOST;
    CHECK(CALL(nvmlDeviceGetTemperature, (void *, int, unsigned *), device, 0, &count) == NVML_DOUBLE_GPU_LOST);
    state->devices[0].handle_refused = true;
    CHECK(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **), 0, &device) == NVML_DOUBLE_GPU_LOST);
}

static void events_come_once(struct nvml_double *state) {
    struct {
        void *device;
        unsigned long long type, data;
        unsigned instances[2];
    } event;
    void *set = NULL;
    state->events[0] = (struct nvml_double_event){1, 8, 79};
    state->event_count = 1;
    CHECK(CALL(nvmlEventSetCreate, (void **), &set) == NVML_DOUBLE_OK);
    CHECK(CALL(nvmlEventSetWait_v2, (void *, void *, unsigned), set, &event, 1) == NVML_DOUBLE_OK);
    CHECK(event.device == &state->devices[1] && event.type == 8 && event.data == 79);
    CHECK(CALL(nvmlEventSetWait_v2, (void *, void *, unsigned), set, &event, 1) == NVML_DOUBLE_TIMEOUT);
    CHECK(CALL(nvmlEventSetFree, (void *), set) == NVML_DOUBLE_OK);
    CHECK(state->event_sets == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    struct nvml_double *state = (*(struct nvml_double * (**)(void)) & (void *){dlsym(library, "nvml_double")})();
    unsigned count;
    CHECK(CALL(nvmlDeviceGetCount_v2, (unsigned *), &count) == NVML_DOUBLE_UNINITIALIZED);
    state->init_error = NVML_DOUBLE_NO_DRIVER;
    CHECK(CALL(nvmlInit_v2, (void)) == NVML_DOUBLE_NO_DRIVER);
    state->init_error = NVML_DOUBLE_OK;
    CHECK(CALL(nvmlInit_v2, (void)) == NVML_DOUBLE_OK);
    numbers_come_as_they_were_set(state);
    what_cannot_be_read_says_so(state);
    events_come_once(state);
    CHECK(CALL(nvmlShutdown, (void)) == NVML_DOUBLE_OK);
    CHECK(state->initialized == 0);
    printf("ok: numbers, refusals and events come as they were set\n");
    return 0;
}
