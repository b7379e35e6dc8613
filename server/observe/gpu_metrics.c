#include "server/observe/gpu_metrics.h"

#include <math.h>

#include "server/observe/exposition.h"

/* The series of one number; `more` are labels behind the device's. Without help: more series of the name before. */
struct family {
    enum telemetry_value value;
    const char *name, *type, *more, *help;
};

static const struct family families[] = {
    {TELEMETRY_UTILIZATION, "weir_gpu_utilization_ratio", "gauge", "",
     "Part of the last moment in which a kernel ran on the GPU, whoever started it."},
    {TELEMETRY_MEMORY_ACTIVITY, "weir_gpu_memory_activity_ratio", "gauge", "",
     "Part of the last moment in which the GPU's memory was read or written."},
    {TELEMETRY_MEMORY_USED, "weir_gpu_memory_used_bytes", "gauge", "",
     "GPU memory in use by all processes, without what the driver reserves."},
    {TELEMETRY_MEMORY_TOTAL, "weir_gpu_memory_total_bytes", "gauge", "", "GPU memory there is."},
    {TELEMETRY_TEMPERATURE, "weir_gpu_temperature_celsius", "gauge", "", "Temperature of the GPU."},
    {TELEMETRY_POWER, "weir_gpu_power_watts", "gauge", "", "Power that the GPU draws."},
    {TELEMETRY_POWER_LIMIT, "weir_gpu_power_limit_watts", "gauge", "", "Most power that the GPU may draw."},
    {TELEMETRY_ENERGY, "weir_gpu_energy_joules_total", "counter", "",
     "Energy that the GPU drew since its driver was loaded."},
    {TELEMETRY_SM_CLOCK, "weir_gpu_sm_clock_hertz", "gauge", "", "Clock of the GPU's multiprocessors."},
    {TELEMETRY_MEMORY_CLOCK, "weir_gpu_memory_clock_hertz", "gauge", "", "Clock of the GPU's memory."},
    {TELEMETRY_ECC_CORRECTED, "weir_gpu_ecc_errors_total", "counter", ",kind=\"corrected\"",
     "Memory errors since the driver was loaded."},
    {TELEMETRY_ECC_UNCORRECTED, "weir_gpu_ecc_errors_total", "counter", ",kind=\"uncorrected\"", NULL},
};

static void render_info(const struct telemetry_reading *gpus, int count, struct bytes *out) {
    exposition_head(out, "weir_gpu_info", "gauge", "The GPUs that serve; a text that is not known is empty.");
    for (int i = 0; i < count; i++) {
        bytes_printf(out, "weir_gpu_info{device=\"%d\",bus_id=\"", i);
        exposition_label(out, gpus[i].bus_id);
        bytes_text(out, "\",name=\"");
        exposition_label(out, gpus[i].name);
        bytes_text(out, "\",uuid=\"");
        exposition_label(out, gpus[i].uuid);
        bytes_text(out, "\",driver=\"");
        exposition_label(out, gpus[i].driver);
        bytes_text(out, "\"} 1\n");
    }
}

static bool any_known(const struct telemetry_reading *gpus, int count, enum telemetry_value value) {
    bool any = false;
    for (int i = 0; i < count; i++)
        any = any || !isnan(gpus[i].values[value]);
    return any;
}

void gpu_metrics_render_triton(const struct telemetry_reading *gpus, int count, struct bytes *out) {
    static const struct family names[] = {
        {TELEMETRY_UTILIZATION, "nv_gpu_utilization", "gauge", "", "GPU utilization, 0 to 1."},
        {TELEMETRY_MEMORY_TOTAL, "nv_gpu_memory_total_bytes", "gauge", "", "GPU memory there is, in bytes."},
        {TELEMETRY_MEMORY_USED, "nv_gpu_memory_used_bytes", "gauge", "", "GPU memory in use, in bytes."},
        {TELEMETRY_POWER, "nv_gpu_power_usage", "gauge", "", "Power that the GPU draws, in watts."},
        {TELEMETRY_POWER_LIMIT, "nv_gpu_power_limit", "gauge", "", "Most power that the GPU may draw, in watts."},
    };
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        bool has_head = false;
        for (int i = 0; i < count; i++) {
            double value = gpus[i].values[names[f].value];
            if (isnan(value) || !gpus[i].uuid[0])
                continue;
            if (!has_head)
                exposition_head(out, names[f].name, names[f].type, names[f].help);
            has_head = true;
            bytes_printf(out, "%s{gpu_uuid=\"", names[f].name);
            exposition_label(out, gpus[i].uuid);
            bytes_printf(out, "\"} %.15g\n", value);
        }
    }
}

static void render_numbers(const struct telemetry_reading *gpus, int count, struct bytes *out) {
    const struct family *end = families + sizeof families / sizeof *families;
    for (const struct family *family = families; family < end; family++) {
        const struct family *second = family + 1 < end && !family[1].help ? family + 1 : family;
        if (family->help && (any_known(gpus, count, family->value) || any_known(gpus, count, second->value)))
            exposition_head(out, family->name, family->type, family->help);
        for (int i = 0; i < count; i++)
            if (!isnan(gpus[i].values[family->value]))
                bytes_printf(out, "%s{device=\"%d\"%s} %.15g\n", family->name, i, family->more,
                             gpus[i].values[family->value]);
    }
}

static void render_throttling(const struct telemetry_reading *gpus, int count, struct bytes *out) {
    static const struct {
        unsigned long bit;
        const char *name;
    } reasons[] = {
#define REASON(bit, name) {bit, name},
        TELEMETRY_REASON_LIST(REASON)
#undef REASON
    };
    if (!any_known(gpus, count, TELEMETRY_THROTTLE))
        return;
    exposition_head(out, "weir_gpu_throttled", "gauge", "1 while this is why the GPU's clocks are lower.");
    for (int i = 0; i < count; i++) {
        double bits = gpus[i].values[TELEMETRY_THROTTLE];
        for (size_t r = 0; r < sizeof reasons / sizeof *reasons && !isnan(bits); r++)
            bytes_printf(out, "weir_gpu_throttled{device=\"%d\",reason=\"%s\"} %d\n", i, reasons[r].name,
                         ((unsigned long)bits & reasons[r].bit) != 0);
    }
}

void gpu_metrics_render(const struct telemetry_reading *gpus, int count, struct bytes *out) {
    if (count == 0)
        return;
    render_info(gpus, count, out);
    exposition_head(out, "weir_gpu_lost", "gauge", "1 when the GPU is off the bus or waits for a reset.");
    for (int i = 0; i < count; i++)
        bytes_printf(out, "weir_gpu_lost{device=\"%d\"} %d\n", i, gpus[i].lost);
    render_numbers(gpus, count, out);
    render_throttling(gpus, count, out);
}
