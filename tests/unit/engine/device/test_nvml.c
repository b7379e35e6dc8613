#include "engine/device/nvml.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/fakes/nvml_state.h"

static struct weir_error err;
static struct nvml *nvml;
static struct nvml_device *device;
static struct telemetry_reading reading;

static struct nvml_double *open_first(void) {
    struct nvml_double *state = nvml_state();
    cr_assert_eq(nvml_open(NVML_DOUBLE, &nvml, &err), WEIR_OK, "%s", err.text);
    cr_assert_eq(nvml_find(nvml, "0000:01:00.0", &device, &err), WEIR_OK, "%s", err.text);
    return state;
}

static void refuse(struct nvml_double *state, const char *function, int error) {
    for (size_t i = 0; i < sizeof state->failing / sizeof *state->failing; i++)
        if (!state->failing[i].name[0]) {
            snprintf(state->failing[i].name, sizeof state->failing[i].name, "%s", function);
            state->failing[i].error = error;
            return;
        }
    cr_assert_fail("too many failures");
}

Test(nvml, every_number_comes_in_its_base_unit) {
    struct nvml_double *state = open_first();
    state->devices[0].throttle_reasons = 0x24;
    state->devices[0].ecc_errors[0][0] = 5;
    state->devices[0].ecc_errors[1][0] = 1;
    state->devices[0].ecc_errors[1][1] = 99; /* ever, not since the driver was loaded */
    state->devices[0].used_bytes = 900ull << 20;
    state->devices[0].total_bytes = 1000ull << 20;
    cr_assert_eq(nvml_read(nvml, device, &reading, &err), WEIR_OK);
    const double expected[TELEMETRY_VALUES] = {
        [TELEMETRY_UTILIZATION] = 0.37,      [TELEMETRY_MEMORY_ACTIVITY] = 0.12,
        [TELEMETRY_MEMORY_USED] = 600 << 20, [TELEMETRY_MEMORY_TOTAL] = 1000 << 20,
        [TELEMETRY_TEMPERATURE] = 41,        [TELEMETRY_POWER] = 98,
        [TELEMETRY_POWER_LIMIT] = 700,       [TELEMETRY_ENERGY] = 123.456,
        [TELEMETRY_SM_CLOCK] = 1.98e9,       [TELEMETRY_MEMORY_CLOCK] = 3.201e9,
        [TELEMETRY_ECC_CORRECTED] = 5,       [TELEMETRY_ECC_UNCORRECTED] = 1,
        [TELEMETRY_THROTTLE] = 0x24};
    for (int i = 0; i < TELEMETRY_VALUES; i++)
        cr_assert_eq(reading.values[i], expected[i], "value %d is %g", i, reading.values[i]);
    cr_assert_str_eq(reading.name, "SIMULATED GPU 0");
    cr_assert_str_eq(reading.uuid, "GPU-00000000-0000-0000-0000-000000000000");
    cr_assert_str_eq(reading.driver, "580.00.double");
    cr_assert_str_eq(reading.unavailable, "");
    cr_assert_not(reading.lost);
    nvml_close(nvml);
    cr_assert_eq(state->initialized, 0);
}

Test(nvml, a_number_that_cannot_be_read_is_unknown_and_hurts_no_other) {
    struct nvml_double *state = open_first();
    state->devices[0].mig = 1; /* no utilisation */
    state->devices[0].ecc = 0;
    refuse(state, "DeviceGetPowerUsage", NVML_DOUBLE_NO_PERMISSION);
    refuse(state, "DeviceGetName", NVML_DOUBLE_NOT_SUPPORTED);
    cr_assert_eq(nvml_read(nvml, device, &reading, &err), WEIR_OK);
    cr_assert(isnan(reading.values[TELEMETRY_UTILIZATION]) && isnan(reading.values[TELEMETRY_MEMORY_ACTIVITY]));
    cr_assert(isnan(reading.values[TELEMETRY_POWER]));
    cr_assert(isnan(reading.values[TELEMETRY_ECC_CORRECTED]) && isnan(reading.values[TELEMETRY_ECC_UNCORRECTED]));
    cr_assert_eq(reading.values[TELEMETRY_POWER_LIMIT], 700);
    cr_assert_eq(reading.values[TELEMETRY_TEMPERATURE], 41);
    cr_assert_str_eq(reading.name, "");
    cr_assert_str_eq(reading.driver, "580.00.double");
    nvml_close(nvml);
}

Test(nvml, older_functions_serve_where_the_newer_are_refused) {
    struct nvml_double *state = open_first();
    refuse(state, "DeviceGetMemoryInfo_v2", NVML_DOUBLE_NOT_SUPPORTED);
    refuse(state, "DeviceGetTemperatureV", NVML_DOUBLE_NOT_SUPPORTED);
    refuse(state, "DeviceGetCurrentClocksEventReasons", NVML_DOUBLE_NOT_SUPPORTED);
    state->devices[0].throttle_reasons = 1;
    cr_assert_eq(nvml_read(nvml, device, &reading, &err), WEIR_OK);
    cr_assert_eq(reading.values[TELEMETRY_MEMORY_USED], 4 << 20);
    cr_assert_eq(reading.values[TELEMETRY_TEMPERATURE], 41);
    cr_assert_eq(reading.values[TELEMETRY_THROTTLE], 1);
    nvml_close(nvml);
}

Test(nvml, a_lost_gpu_is_said_to_be_lost) {
    struct nvml_double *state = open_first();
    state->devices[0].error = NVML_DOUBLE_GPU_LOST;
    cr_assert_eq(nvml_read(nvml, device, &reading, &err), WEIR_DEVICE_LOST);
    cr_assert(isnan(reading.values[TELEMETRY_TEMPERATURE]));
    cr_assert_not_null(strstr(err.text, "GPU is lost"), "%s", err.text);
    state->devices[0].handle_refused = true;
    cr_assert_eq(nvml_find(nvml, "0000:01:00.0", &device, &err), WEIR_DEVICE_LOST);
    nvml_close(nvml);
}

Test(nvml, devices_are_found_by_their_place_on_the_bus) {
    struct nvml_double *state = open_first();
    state->device_count = 3;
    cr_assert_eq(nvml_find(nvml, "0000:03:00.0", &device, &err), WEIR_OK);
    cr_assert_eq(nvml_read(nvml, device, &reading, &err), WEIR_OK);
    cr_assert_str_eq(reading.name, "SIMULATED GPU 2");
    cr_assert_eq(nvml_find(nvml, "0000:09:00.0", &device, &err), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "0000:09:00.0"), "%s", err.text);
    nvml_close(nvml);
}

Test(nvml, a_library_that_cannot_be_used_says_why) {
    cr_assert_eq(nvml_open("/nowhere/libnvidia-ml.so.1", &nvml, &err), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "/nowhere/libnvidia-ml.so.1"), "%s", err.text);
    cr_assert_eq(nvml_open("libc.so.6", &nvml, &err), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "libc.so.6 has no nvmlInit_v2"), "%s", err.text);
    struct nvml_double *state = nvml_state();
    state->init_error = NVML_DOUBLE_NO_DRIVER;
    cr_assert_eq(nvml_open(NVML_DOUBLE, &nvml, &err), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "the driver is not loaded"), "%s", err.text);
    state->init_error = NVML_DOUBLE_MISMATCH;
    cr_assert_eq(nvml_open(NVML_DOUBLE, &nvml, &err), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "upgraded"), "%s", err.text);
}
