/* What the server would read of a GPU. usage: nvml LIBRARY BUS_ID   ("-": the driver's library) */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/device/nvml.h"
#include "tests/device/report.h"

int main(int argc, char **argv) {
    static const char *const names[TELEMETRY_VALUES] = {
        [TELEMETRY_UTILIZATION] = "utilization",     [TELEMETRY_MEMORY_ACTIVITY] = "memory activity",
        [TELEMETRY_MEMORY_USED] = "memory used",     [TELEMETRY_MEMORY_TOTAL] = "memory total",
        [TELEMETRY_TEMPERATURE] = "temperature",     [TELEMETRY_POWER] = "power",
        [TELEMETRY_POWER_LIMIT] = "power limit",     [TELEMETRY_ENERGY] = "energy",
        [TELEMETRY_SM_CLOCK] = "sm clock",           [TELEMETRY_MEMORY_CLOCK] = "memory clock",
        [TELEMETRY_ECC_CORRECTED] = "ecc corrected", [TELEMETRY_ECC_UNCORRECTED] = "ecc uncorrected",
        [TELEMETRY_THROTTLE] = "throttle reasons"};
    struct telemetry_reading reading;
    struct weir_error err;
    struct nvml *nvml;
    struct nvml_device *device;
    if (argc != 3)
        return REPORT_USAGE;
    if (nvml_open(strcmp(argv[1], "-") == 0 ? NULL : argv[1], &nvml, &err) != WEIR_OK ||
        nvml_find(nvml, argv[2], &device, &err) != WEIR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return REPORT_NO_DEVICE;
    }
    double began = report_now_us();
    enum weir_status status = nvml_read(nvml, device, &reading, &err);
    report_row(report_now_us() - began, "us", "one reading");
    report_text("name", reading.name);
    report_text("driver", reading.driver);
    for (int i = 0; i < TELEMETRY_VALUES; i++)
        if (!isnan(reading.values[i]))
            report_row(reading.values[i], "", "%s", names[i]);
    nvml_close(nvml);
    if (status != WEIR_OK)
        fprintf(stderr, "%s\n", err.text);
    return status != WEIR_OK;
}
