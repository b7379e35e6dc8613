/* Functions, layouts and codes: NVIDIA/go-nvml, gen/nvml/nvml.h, API version 13. */
#include "engine/device/nvml.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum { NVML_OK = 0, NVML_NO_DRIVER = 9, NVML_GPU_LOST = 15, NVML_RESET_REQUIRED = 16, NVML_MISMATCH = 18 };
enum { NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum { NVML_CORRECTED = 0, NVML_UNCORRECTED = 1, NVML_SINCE_DRIVER = 0 };

struct nvml_memory { /* used includes what the driver reserves */
    unsigned long long total, free, used;
};

struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml_rates {
    unsigned gpu, memory;
};

struct nvml_temperature {
    unsigned version;
    int sensor, celsius;
};

static_assert(sizeof(struct nvml_memory) == 24, "nvmlMemory_t");
static_assert(sizeof(struct nvml_memory_v2) == 40 && offsetof(struct nvml_memory_v2, total) == 8, "nvmlMemory_v2_t");
static_assert(sizeof(struct nvml_temperature) == 12, "nvmlTemperature_t");

/* A versioned struct begins with its size and version. */
#define VERSIONED(type, version) ((unsigned)sizeof(type) | (unsigned)(version) << 24)

/* X(result, name, parameters): without the first of these nothing works; the others may be missing. */
#define REQUIRED_LIST(X)                                                                                               \
    X(int, Init_v2, (void))                                                                                            \
    X(int, Shutdown, (void))                                                                                           \
    X(const char *, ErrorString, (int))                                                                                \
    X(int, DeviceGetHandleByPciBusId_v2, (const char *, struct nvml_device **))
#define OPTIONAL_LIST(X)                                                                                               \
    X(int, SystemGetDriverVersion, (char *, unsigned))                                                                 \
    X(int, DeviceGetName, (struct nvml_device *, char *, unsigned))                                                    \
    X(int, DeviceGetUUID, (struct nvml_device *, char *, unsigned))                                                    \
    X(int, DeviceGetMemoryInfo, (struct nvml_device *, struct nvml_memory *))                                          \
    X(int, DeviceGetMemoryInfo_v2, (struct nvml_device *, struct nvml_memory_v2 *))                                    \
    X(int, DeviceGetUtilizationRates, (struct nvml_device *, struct nvml_rates *))                                     \
    X(int, DeviceGetTemperature, (struct nvml_device *, int, unsigned *))                                              \
    X(int, DeviceGetTemperatureV, (struct nvml_device *, struct nvml_temperature *))                                   \
    X(int, DeviceGetPowerUsage, (struct nvml_device *, unsigned *))                                                    \
    X(int, DeviceGetEnforcedPowerLimit, (struct nvml_device *, unsigned *))                                            \
    X(int, DeviceGetTotalEnergyConsumption, (struct nvml_device *, unsigned long long *))                              \
    X(int, DeviceGetClockInfo, (struct nvml_device *, int, unsigned *))                                                \
    X(int, DeviceGetTotalEccErrors, (struct nvml_device *, int, int, unsigned long long *))                            \
    X(int, DeviceGetCurrentClocksEventReasons, (struct nvml_device *, unsigned long long *))                           \
    X(int, DeviceGetCurrentClocksThrottleReasons, (struct nvml_device *, unsigned long long *))

struct nvml {
    void *library;
    bool initialized;
#define MEMBER(result, name, parameters) result(*name) parameters;
    REQUIRED_LIST(MEMBER)
    OPTIONAL_LIST(MEMBER)
#undef MEMBER
};

/* Calls a function that may be missing. */
#define ASK(nvml, name, ...) ((nvml)->name ? (nvml)->name(__VA_ARGS__) : NVML_MISSING)
enum { NVML_MISSING = 13 }; /* NVML's own "function not found" */

static enum weir_status bind_functions(struct nvml *nvml, const char *path, struct weir_error *err) {
    static const struct {
        const char *name;
        size_t offset;
        bool required;
    } functions[] = {
#define REQUIRED(result, name, parameters) {"nvml" #name, offsetof(struct nvml, name), true},
#define OPTIONAL(result, name, parameters) {"nvml" #name, offsetof(struct nvml, name), false},
        REQUIRED_LIST(REQUIRED) OPTIONAL_LIST(OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(nvml->library, functions[i].name);
        *(void **)((char *)nvml + functions[i].offset) = found;
        if (!found && functions[i].required)
            return weir_fail(err, WEIR_DEVICE, "%.100s has no %s", path, functions[i].name);
    }
    return WEIR_OK;
}

static enum weir_status fail(const struct nvml *nvml, int code, const char *what, struct weir_error *err) {
    const char *text = nvml->ErrorString(code);
    bool lost = code == NVML_GPU_LOST || code == NVML_RESET_REQUIRED;
    const char *hint = code == NVML_NO_DRIVER  ? ": the driver is not loaded"
                       : code == NVML_MISMATCH ? ": the driver was upgraded and needs a restart of the machine"
                                               : "";
    return weir_fail(err, lost ? WEIR_DEVICE_LOST : WEIR_DEVICE, "NVML, %s: %.80s (%d)%s", what, text ? text : "error",
                     code, hint);
}

enum weir_status nvml_open(const char *library, struct nvml **out, struct weir_error *err) {
    const char *path = library ? library : "libnvidia-ml.so.1";
    struct nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for NVML");
    nvml->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    enum weir_status status = WEIR_OK;
    if (!nvml->library) {
        const char *why = dlerror();
        status = weir_fail(err, WEIR_DEVICE, "no NVML: %.200s", why ? why : path);
    }
    if (status == WEIR_OK)
        status = bind_functions(nvml, path, err);
    if (status == WEIR_OK) {
        int code = nvml->Init_v2();
        nvml->initialized = code == NVML_OK;
        if (code != NVML_OK)
            status = fail(nvml, code, "starting", err);
    }
    if (status == WEIR_OK)
        *out = nvml;
    else
        nvml_close(nvml);
    return status;
}

void nvml_close(struct nvml *nvml) {
    if (!nvml)
        return;
    if (nvml->initialized)
        (void)nvml->Shutdown();
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
}

enum weir_status nvml_find(struct nvml *nvml, const char *bus_id, struct nvml_device **out, struct weir_error *err) {
    int code = nvml->DeviceGetHandleByPciBusId_v2(bus_id, out);
    return code == NVML_OK ? WEIR_OK : fail(nvml, code, bus_id, err);
}

/* Where answers go, and whether one of them was that the GPU is lost. */
struct questions {
    double *values;
    int lost; /* 0, or the code that said so */
};

static bool good(struct questions *questions, int code) {
    if (code == NVML_GPU_LOST || code == NVML_RESET_REQUIRED)
        questions->lost = code;
    return code == NVML_OK;
}

/* The most that each number may be. NVML has no one way to say that it does not know: where a call is good all the
 * same, the number is all ones, or none that a GPU could have. */
static const double most[TELEMETRY_VALUES] = {
    [TELEMETRY_UTILIZATION] = 1,       [TELEMETRY_MEMORY_ACTIVITY] = 1,  [TELEMETRY_MEMORY_USED] = 1e15,
    [TELEMETRY_MEMORY_TOTAL] = 1e15,   [TELEMETRY_TEMPERATURE] = 300,    [TELEMETRY_POWER] = 1e5,
    [TELEMETRY_POWER_LIMIT] = 1e5,     [TELEMETRY_ENERGY] = 1e15,        [TELEMETRY_SM_CLOCK] = 1e11,
    [TELEMETRY_MEMORY_CLOCK] = 1e11,   [TELEMETRY_ECC_CORRECTED] = 1e18, [TELEMETRY_ECC_UNCORRECTED] = 1e18,
    [TELEMETRY_THROTTLE] = 0xFFFFFFFF,
};

static void put(struct questions *questions, int code, enum telemetry_value value, double number) {
    double least = value == TELEMETRY_MEMORY_TOTAL ? 1 : 0;
    if (good(questions, code) && number >= least && number <= most[value])
        questions->values[value] = number;
}

static void read_texts(struct nvml *nvml, struct nvml_device *device, struct questions *questions,
                       struct telemetry_reading *out) {
    if (!good(questions, ASK(nvml, DeviceGetName, device, out->name, sizeof out->name)))
        out->name[0] = 0;
    if (!good(questions, ASK(nvml, DeviceGetUUID, device, out->uuid, sizeof out->uuid)))
        out->uuid[0] = 0;
    if (!good(questions, ASK(nvml, SystemGetDriverVersion, out->driver, sizeof out->driver)))
        out->driver[0] = 0;
    out->name[sizeof out->name - 1] = out->uuid[sizeof out->uuid - 1] = out->driver[sizeof out->driver - 1] = 0;
}

static void read_memory(struct nvml *nvml, struct nvml_device *device, struct questions *questions) {
    struct nvml_memory_v2 memory = {.version = VERSIONED(struct nvml_memory_v2, 2)};
    struct nvml_memory older = {0};
    int code = ASK(nvml, DeviceGetMemoryInfo_v2, device, &memory);
    if (code != NVML_OK) {
        code = ASK(nvml, DeviceGetMemoryInfo, device, &older);
        memory.total = older.total;
        memory.used = older.used;
    }
    put(questions, code, TELEMETRY_MEMORY_USED, (double)memory.used);
    put(questions, code, TELEMETRY_MEMORY_TOTAL, (double)memory.total);
}

static void read_temperature(struct nvml *nvml, struct nvml_device *device, struct questions *questions) {
    struct nvml_temperature temperature = {.version = VERSIONED(struct nvml_temperature, 1),
                                           .sensor = NVML_TEMPERATURE_GPU};
    unsigned older = 0;
    int code = ASK(nvml, DeviceGetTemperatureV, device, &temperature);
    if (code != NVML_OK) {
        code = ASK(nvml, DeviceGetTemperature, device, NVML_TEMPERATURE_GPU, &older);
        temperature.celsius = (int)older;
    }
    put(questions, code, TELEMETRY_TEMPERATURE, temperature.celsius);
}

static void read_power(struct nvml *nvml, struct nvml_device *device, struct questions *questions) {
    unsigned milliwatts = 0;
    unsigned long long millijoules = 0;
    int code = ASK(nvml, DeviceGetPowerUsage, device, &milliwatts);
    put(questions, code, TELEMETRY_POWER, milliwatts / 1e3);
    code = ASK(nvml, DeviceGetEnforcedPowerLimit, device, &milliwatts);
    put(questions, code, TELEMETRY_POWER_LIMIT, milliwatts / 1e3);
    code = ASK(nvml, DeviceGetTotalEnergyConsumption, device, &millijoules);
    put(questions, code, TELEMETRY_ENERGY, (double)millijoules / 1e3);
}

static void read_clocks(struct nvml *nvml, struct nvml_device *device, struct questions *questions) {
    unsigned megahertz = 0;
    unsigned long long reasons = 0;
    int code = ASK(nvml, DeviceGetClockInfo, device, NVML_CLOCK_SM, &megahertz);
    put(questions, code, TELEMETRY_SM_CLOCK, megahertz * 1e6);
    code = ASK(nvml, DeviceGetClockInfo, device, NVML_CLOCK_MEMORY, &megahertz);
    put(questions, code, TELEMETRY_MEMORY_CLOCK, megahertz * 1e6);
    code = ASK(nvml, DeviceGetCurrentClocksEventReasons, device, &reasons);
    if (code != NVML_OK)
        code = ASK(nvml, DeviceGetCurrentClocksThrottleReasons, device, &reasons);
    put(questions, code, TELEMETRY_THROTTLE, (double)reasons);
}

static void read_counts(struct nvml *nvml, struct nvml_device *device, struct questions *questions) {
    struct nvml_rates rates = {0};
    unsigned long long errors = 0;
    int code = ASK(nvml, DeviceGetUtilizationRates, device, &rates);
    put(questions, code, TELEMETRY_UTILIZATION, rates.gpu / 100.0);
    put(questions, code, TELEMETRY_MEMORY_ACTIVITY, rates.memory / 100.0);
    code = ASK(nvml, DeviceGetTotalEccErrors, device, NVML_CORRECTED, NVML_SINCE_DRIVER, &errors);
    put(questions, code, TELEMETRY_ECC_CORRECTED, (double)errors);
    code = ASK(nvml, DeviceGetTotalEccErrors, device, NVML_UNCORRECTED, NVML_SINCE_DRIVER, &errors);
    put(questions, code, TELEMETRY_ECC_UNCORRECTED, (double)errors);
}

enum weir_status nvml_read(struct nvml *nvml, struct nvml_device *device, struct telemetry_reading *out,
                           struct weir_error *err) {
    struct questions questions = {.values = out->values};
    telemetry_clear(out, "");
    read_texts(nvml, device, &questions, out);
    read_counts(nvml, device, &questions);
    read_memory(nvml, device, &questions);
    read_temperature(nvml, device, &questions);
    read_power(nvml, device, &questions);
    read_clocks(nvml, device, &questions);
    return questions.lost ? fail(nvml, questions.lost, "reading", err) : WEIR_OK;
}
