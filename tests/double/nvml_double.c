/* Layouts and numbers: NVIDIA/go-nvml, gen/nvml/nvml.h, API version 13. */
#include "tests/double/nvml_double.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
enum { FIELD_MEMORY_TEMPERATURE = 82, FIELD_REMAPPED_ROWS = 142, FIELD_INSTANT_POWER = 186, FIELD_RECOVERY = 230 };
enum { TYPE_UNSIGNED_INT = 1, MEMORY_V2 = 0x2000028, TEMPERATURE_V1 = 0x100000c, RESERVED_BYTES = 300 << 20 };

struct memory {
    unsigned long long total, free, used;
};

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct utilization {
    unsigned gpu, memory;
};

struct pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct temperature {
    unsigned version;
    int sensor, celsius;
};

struct event {
    struct nvml_double_device *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

struct field {
    unsigned id, scope;
    long long time_us, latency_us;
    int type, result;
    union {
        unsigned number;
        unsigned long long large;
    };
};

static_assert(sizeof(struct memory) == 24 && sizeof(struct memory_v2) == 40, "memory");
static_assert(sizeof(struct pci) == 68 && offsetof(struct pci, bus_id) == 36, "pci");
static_assert(sizeof(struct temperature) == 12 && sizeof(struct event) == 32, "temperature and event");
static_assert(sizeof(struct field) == 40 && offsetof(struct field, number) == 32, "field");

static struct nvml_double state;

static void sleep_ms(unsigned ms) {
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* Numbers that no GPU has, from calls that are good all the same. */
static void fill_with_ones(struct nvml_double_device *device) {
    device->total_bytes = device->used_bytes = device->energy_mj = device->throttle_reasons = ~0ull;
    device->utilization_percent = device->memory_percent = device->temperature_c = ~0u;
    device->power_mw = device->power_limit_mw = ~0u;
    for (int i = 0; i < 3; i++)
        device->clocks_mhz[i] = ~0u;
}

static void set_from_text(const char *name, long value) {
    if (strcmp(name, "devices") == 0 && value >= 0 && value <= NVML_DOUBLE_MAX_DEVICES)
        state.device_count = (int)value;
    else if (strcmp(name, "error") == 0)
        state.init_error = (int)value;
    else if (strcmp(name, "xid") == 0 && state.event_count < NVML_DOUBLE_MAX_EVENTS)
        state.events[state.event_count++] = (struct nvml_double_event){0, 8, (unsigned long long)value};
    for (int i = 0; i < NVML_DOUBLE_MAX_DEVICES; i++) {
        if (strcmp(name, "mig") == 0)
            state.devices[i].mig = value != 0;
        else if (strcmp(name, "lost") == 0 && value != 0)
            state.devices[i].error = NVML_DOUBLE_GPU_LOST;
        else if (strcmp(name, "ones") == 0 && value != 0)
            fill_with_ones(&state.devices[i]);
        else if (strcmp(name, "used_mib") == 0)
            state.devices[i].used_bytes = (unsigned long long)value << 20;
    }
}

static void __attribute__((constructor)) prepare(void) {
    state.driver_cuda_version = 13000;
    strcpy(state.driver_version, "580.00.double");
    state.device_count = 1;
    for (int i = 0; i < NVML_DOUBLE_MAX_DEVICES; i++) {
        struct nvml_double_device *device = &state.devices[i];
        snprintf(device->name, sizeof device->name, "SIMULATED GPU %d", i);
        snprintf(device->uuid, sizeof device->uuid, "GPU-00000000-0000-0000-0000-%012d", i);
        snprintf(device->bus_id, sizeof device->bus_id, "00000000:%02X:00.0", i + 1);
        device->total_bytes = 256ull << 20;
        device->used_bytes = 4ull << 20;
        device->utilization_percent = 37;
        device->memory_percent = 12;
        device->temperature_c = 41;
        device->power_mw = device->instant_power_mw = 98000;
        device->power_limit_mw = 700000;
        device->energy_mj = 123456;
        device->clocks_mhz[0] = device->clocks_mhz[1] = 1980;
        device->clocks_mhz[2] = 3201;
        device->ecc = device->persistence = 1;
        device->memory_temperature_c = 47;
    }
    const char *text = getenv("NVML_DOUBLE");
    char copy[512], *save = NULL;
    snprintf(copy, sizeof copy, "%s", text != NULL ? text : "");
    for (char *entry = strtok_r(copy, " ", &save); entry != NULL; entry = strtok_r(NULL, " ", &save)) {
        char *value = strchr(entry, '=');
        if (value == NULL)
            continue;
        *value++ = '\0';
        set_from_text(entry, strtol(value, NULL, 10));
    }
}

EXPORTED struct nvml_double *nvml_double(void) {
    return &state;
}

/* What the function answers before it looks at its arguments. */
static int enter(const char *function) {
    const char *name = function + strlen("nvml");
    state.calls++;
    if (state.initialized == 0)
        return NVML_DOUBLE_UNINITIALIZED;
    for (size_t i = 0; i < sizeof state.failing / sizeof state.failing[0]; i++) {
        if (state.failing[i].name[0] != '\0' && strcmp(state.failing[i].name, name) == 0)
            return state.failing[i].error;
    }
    return NVML_DOUBLE_OK;
}

static int enter_device(const char *function, const struct nvml_double_device *device) {
    int error = enter(function);
    if (error != NVML_DOUBLE_OK)
        return error;
    if (device < state.devices || device >= state.devices + state.device_count)
        return NVML_DOUBLE_INVALID;
    sleep_ms(state.stall_ms);
    return device->error;
}

static int give_text(const char *text, char *out, unsigned bytes) {
    if (strlen(text) >= bytes)
        return NVML_DOUBLE_TOO_SMALL;
    strcpy(out, text);
    return NVML_DOUBLE_OK;
}

/* A question: `int name(parameters)` that begins with the checks. */
#define QUESTION(name, ...)                                                                                            \
    EXPORTED int name(__VA_ARGS__);                                                                                    \
    EXPORTED int name(__VA_ARGS__)
#define ENTER_OR_RETURN(check)                                                                                         \
    do {                                                                                                               \
        int entered = (check);                                                                                         \
        if (entered != NVML_DOUBLE_OK)                                                                                 \
            return entered;                                                                                            \
    } while (0)
#define ENTER()              ENTER_OR_RETURN(enter(__func__))
#define ENTER_DEVICE(device) ENTER_OR_RETURN(enter_device(__func__, device))

QUESTION(nvmlInit_v2, void) {
    state.calls++;
    if (state.init_error != 0)
        return state.init_error;
    state.initialized++;
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlShutdown, void) {
    ENTER();
    state.initialized--;
    return NVML_DOUBLE_OK;
}

EXPORTED const char *nvmlErrorString(int error);
EXPORTED const char *nvmlErrorString(int error) {
    return error == NVML_DOUBLE_OK          ? "Success"
           : error == NVML_DOUBLE_NO_DRIVER ? "Driver Not Loaded"
           : error == NVML_DOUBLE_GPU_LOST  ? "GPU is lost"
                                            : "simulated NVML error";
}

QUESTION(nvmlSystemGetDriverVersion, char *out, unsigned bytes) {
    ENTER();
    return give_text(state.driver_version, out, bytes);
}

QUESTION(nvmlSystemGetCudaDriverVersion_v2, int *out) {
    ENTER();
    *out = state.driver_cuda_version;
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetCount_v2, unsigned *out) {
    ENTER();
    *out = (unsigned)state.device_count;
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetHandleByIndex_v2, unsigned index, struct nvml_double_device **out) {
    ENTER();
    if (index >= (unsigned)state.device_count)
        return NVML_DOUBLE_INVALID;
    if (state.devices[index].handle_refused)
        return state.devices[index].error;
    *out = &state.devices[index];
    return NVML_DOUBLE_OK;
}

/* The domain may be given in 4 digits, as CUDA does, or in 8. */
QUESTION(nvmlDeviceGetHandleByPciBusId_v2, const char *bus_id, struct nvml_double_device **out) {
    ENTER();
    for (int i = 0; i < state.device_count; i++) {
        const char *own = state.devices[i].bus_id;
        if (strcasecmp(own, bus_id) != 0 && strcasecmp(own + 4, bus_id) != 0)
            continue;
        if (state.devices[i].handle_refused)
            return state.devices[i].error;
        *out = &state.devices[i];
        return NVML_DOUBLE_OK;
    }
    return NVML_DOUBLE_NOT_FOUND;
}

QUESTION(nvmlDeviceGetName, struct nvml_double_device *device, char *out, unsigned bytes) {
    ENTER_DEVICE(device);
    return give_text(device->name, out, bytes);
}

QUESTION(nvmlDeviceGetUUID, struct nvml_double_device *device, char *out, unsigned bytes) {
    ENTER_DEVICE(device);
    return give_text(device->uuid, out, bytes);
}

QUESTION(nvmlDeviceGetPciInfo_v3, struct nvml_double_device *device, struct pci *out) {
    ENTER_DEVICE(device);
    *out = (struct pci){.bus = (unsigned)(device - state.devices) + 1};
    strcpy(out->bus_id, device->bus_id);
    snprintf(out->legacy_id, sizeof out->legacy_id, "%.12s", device->bus_id + 4);
    return NVML_DOUBLE_OK;
}

/* Used includes the reserved part here, and does not in version 2. */
QUESTION(nvmlDeviceGetMemoryInfo, struct nvml_double_device *device, struct memory *out) {
    ENTER_DEVICE(device);
    *out = (struct memory){device->total_bytes, device->total_bytes - device->used_bytes, device->used_bytes};
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetMemoryInfo_v2, struct nvml_double_device *device, struct memory_v2 *out) {
    ENTER_DEVICE(device);
    if (out->version != MEMORY_V2)
        return NVML_DOUBLE_INVALID;
    unsigned long long reserved = device->used_bytes < RESERVED_BYTES ? device->used_bytes : RESERVED_BYTES;
    *out = (struct memory_v2){MEMORY_V2, device->total_bytes, reserved, device->total_bytes - device->used_bytes,
                              device->used_bytes - reserved};
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetUtilizationRates, struct nvml_double_device *device, struct utilization *out) {
    ENTER_DEVICE(device);
    if (device->mig)
        return NVML_DOUBLE_NOT_SUPPORTED;
    *out = (struct utilization){device->utilization_percent, device->memory_percent};
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetTemperature, struct nvml_double_device *device, int sensor, unsigned *out) {
    ENTER_DEVICE(device);
    if (sensor != 0)
        return NVML_DOUBLE_INVALID;
    *out = device->temperature_c;
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetTemperatureV, struct nvml_double_device *device, struct temperature *out) {
    ENTER_DEVICE(device);
    if (out->version != TEMPERATURE_V1 || out->sensor != 0)
        return NVML_DOUBLE_INVALID;
    out->celsius = (int)device->temperature_c;
    return NVML_DOUBLE_OK;
}

/* X(name, type, member): questions whose answer is one member. */
#define NUMBER_LIST(X)                                                                                                 \
    X(nvmlDeviceGetPowerUsage, unsigned, power_mw)                                                                     \
    X(nvmlDeviceGetEnforcedPowerLimit, unsigned, power_limit_mw)                                                       \
    X(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, energy_mj)                                              \
    X(nvmlDeviceGetPersistenceMode, int, persistence)                                                                  \
    X(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, throttle_reasons)                                    \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, throttle_reasons)
#define NUMBER(name, type, member)                                                                                     \
    QUESTION(name, struct nvml_double_device *device, type *out) {                                                     \
        ENTER_DEVICE(device);                                                                                          \
        *out = (type)device->member;                                                                                   \
        return NVML_DOUBLE_OK;                                                                                         \
    }
NUMBER_LIST(NUMBER)

QUESTION(nvmlDeviceGetClockInfo, struct nvml_double_device *device, int type, unsigned *out) {
    ENTER_DEVICE(device);
    if (type < 0 || type > 2)
        return NVML_DOUBLE_INVALID;
    *out = device->clocks_mhz[type];
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetEccMode, struct nvml_double_device *device, int *current, int *pending) {
    ENTER_DEVICE(device);
    *current = *pending = device->ecc;
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetTotalEccErrors, struct nvml_double_device *device, int uncorrected, int aggregate,
         unsigned long long *out) {
    ENTER_DEVICE(device);
    if (!device->ecc)
        return NVML_DOUBLE_NOT_SUPPORTED;
    *out = device->ecc_errors[uncorrected != 0][aggregate != 0];
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetMigMode, struct nvml_double_device *device, unsigned *current, unsigned *pending) {
    ENTER_DEVICE(device);
    *current = *pending = (unsigned)device->mig;
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlDeviceGetFieldValues, struct nvml_double_device *device, int count, struct field *fields) {
    ENTER_DEVICE(device);
    for (int i = 0; i < count; i++) {
        struct field *field = &fields[i];
        field->result = NVML_DOUBLE_OK;
        field->type = TYPE_UNSIGNED_INT;
        field->large = 0;
        if (field->id == FIELD_RECOVERY)
            field->number = device->recovery_action;
        else if (field->id >= FIELD_REMAPPED_ROWS && field->id <= FIELD_REMAPPED_ROWS + 3)
            field->number = field->id == FIELD_REMAPPED_ROWS ? device->remapped_rows : 0;
        else if (field->id == FIELD_INSTANT_POWER)
            field->number = device->instant_power_mw;
        else if (field->id == FIELD_MEMORY_TEMPERATURE)
            field->number = device->memory_temperature_c;
        else
            field->result = NVML_DOUBLE_NOT_SUPPORTED;
    }
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlEventSetCreate, void **out) {
    ENTER();
    *out = malloc(1);
    state.event_sets++;
    return *out != NULL ? NVML_DOUBLE_OK : 20;
}

QUESTION(nvmlDeviceRegisterEvents, struct nvml_double_device *device, unsigned long long types, void *set) {
    ENTER_DEVICE(device);
    return set != NULL && types != 0 ? NVML_DOUBLE_OK : NVML_DOUBLE_INVALID;
}

/* The events of the list one after another, then a timeout. */
QUESTION(nvmlEventSetWait_v2, void *set, struct event *out, unsigned timeout_ms) {
    ENTER();
    if (set == NULL)
        return NVML_DOUBLE_INVALID;
    if (state.event_count == 0) {
        sleep_ms(timeout_ms);
        return NVML_DOUBLE_TIMEOUT;
    }
    struct nvml_double_event first = state.events[0];
    state.event_count--;
    memmove(state.events, state.events + 1, (size_t)state.event_count * sizeof first);
    *out = (struct event){&state.devices[first.device], first.type, first.data, 0, 0};
    return NVML_DOUBLE_OK;
}

QUESTION(nvmlEventSetFree, void *set) {
    ENTER();
    free(set);
    state.event_sets--;
    return NVML_DOUBLE_OK;
}
