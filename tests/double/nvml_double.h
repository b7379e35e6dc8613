/* Controls of the NVML double, a shared library with the functions that a server asks of libnvidia-ml.so.1. A test
 * opens it like the real one, finds nvml_double with dlsym, and sets what is to be measured. thread: any, but not
 * during calls. */
#ifndef WEIR_TESTS_DOUBLE_NVML_DOUBLE_H
#define WEIR_TESTS_DOUBLE_NVML_DOUBLE_H

#include <stdbool.h>

enum { NVML_DOUBLE_MAX_DEVICES = 8, NVML_DOUBLE_MAX_EVENTS = 16 };

/* Codes of NVML that tests give. */
enum {
    NVML_DOUBLE_OK = 0,
    NVML_DOUBLE_UNINITIALIZED = 1,
    NVML_DOUBLE_INVALID = 2,
    NVML_DOUBLE_NOT_SUPPORTED = 3,
    NVML_DOUBLE_NO_PERMISSION = 4,
    NVML_DOUBLE_NOT_FOUND = 6,
    NVML_DOUBLE_TOO_SMALL = 7,
    NVML_DOUBLE_NO_DRIVER = 9,
    NVML_DOUBLE_TIMEOUT = 10,
    NVML_DOUBLE_GPU_LOST = 15,
    NVML_DOUBLE_MISMATCH = 18
};

/* One GPU. error: what every question about it is answered with, and whether its handle is refused with that too. */
struct nvml_double_device {
    char name[96], uuid[96], bus_id[32];
    int error;
    bool handle_refused;
    unsigned long long total_bytes, used_bytes;
    unsigned utilization_percent, memory_percent, temperature_c, power_mw, power_limit_mw;
    unsigned long long energy_mj;
    unsigned clocks_mhz[3]; /* graphics, SM, memory */
    int ecc, mig, persistence;
    unsigned long long ecc_errors[2][2]; /* [corrected, uncorrected][since the driver was loaded, ever] */
    unsigned long long throttle_reasons;
    unsigned recovery_action, remapped_rows, memory_temperature_c, instant_power_mw;
};

/* What nvmlEventSetWait gives next. type: 8 is an Xid, whose number is data. */
struct nvml_double_event {
    int device;
    unsigned long long type, data;
};

struct nvml_double {
    int init_error;
    int driver_cuda_version;
    char driver_version[80];
    int device_count;
    struct nvml_double_device devices[NVML_DOUBLE_MAX_DEVICES];
    /* Functions that answer with an error of their own: names without "nvml", such as "DeviceGetUtilizationRates". */
    struct {
        char name[64];
        int error;
    } failing[8];
    unsigned stall_ms; /* every question about a device takes so long */
    struct nvml_double_event events[NVML_DOUBLE_MAX_EVENTS];
    int event_count;
    int initialized; /* inits less shutdowns */
    int event_sets;  /* alive */
    unsigned long calls;
};

/* dlsym "nvml_double": the double's state, which the caller may change. The environment changes it at loading:
 * NVML_DOUBLE="devices=2 error=9 xid=79 mig=1 used_mib=100 lost=1". */
struct nvml_double *nvml_double(void);

#endif
