#include "server/api/ui_sample.h"

#include <math.h>
#include <time.h>

#include "engine/catalog_admin.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "server/api/api.h"
#include "server/http/listener.h"
#include "server/observe/process_stats.h"
#include "server/observe/statistics.h"

/* What a row of a full batch takes; NAN: no batch has run yet. */
static double row_ns(struct api *api, struct version *version) {
    struct engine_costs costs = engine_costs(api->engine, version);
    double rows = engine_describe(version).batch_rows, batch_ns = costs.base_ns + costs.row_ns * rows;
    return rows > 0 && batch_ns > 0 ? batch_ns / rows : NAN;
}

/* Rows a second in full batches of the versions that serve, as the rows since the last call were shared between them;
 * of the default model when there were none. */
static double capacity(struct ui_sampler *sampler, struct api *api, int devices) {
    double rows = 0, ns = 0, alone_ns = NAN;
    for (int i = 0; i < catalog_model_count(api->catalog) && i < CATALOG_MAX_MODELS; i++) {
        struct version *version = catalog_stable(api->catalog, i);
        if (!version)
            continue;
        struct version_info info = engine_describe(version);
        uint64_t now = statistics_read(api->statistics, info.tag).rows;
        bool is_same = sampler->serials[i] == info.serial && now >= sampler->rows[i];
        double mine = is_same ? (double)(now - sampler->rows[i]) : 0, each_ns = row_ns(api, version);
        sampler->serials[i] = info.serial;
        sampler->rows[i] = now;
        if (i == 0)
            alone_ns = each_ns;
        if (mine > 0 && isfinite(each_ns)) {
            rows += mine;
            ns += mine * each_ns;
        }
        engine_release(version);
    }
    return devices * 1e9 / (rows > 0 ? ns / rows : alone_ns);
}

static void read_gpus(struct api *api, struct history_point *out) {
    struct telemetry_reading gpu;
    double utilization = 0, used = 0, total = 0;
    int known = 0, with_memory = 0;
    for (int i = 0; i < TELEMETRY_MOST_GPUS && engine_telemetry(api->engine, i, &gpu); i++) {
        if (isfinite(gpu.values[TELEMETRY_UTILIZATION])) {
            utilization += gpu.values[TELEMETRY_UTILIZATION];
            known++;
        }
        if (isfinite(gpu.values[TELEMETRY_MEMORY_USED]) && isfinite(gpu.values[TELEMETRY_MEMORY_TOTAL])) {
            used += gpu.values[TELEMETRY_MEMORY_USED];
            total += gpu.values[TELEMETRY_MEMORY_TOTAL];
            with_memory++;
        }
    }
    if (known > 0)
        out->gpu_permille = history_figure(utilization / known * 1000);
    if (with_memory > 0) {
        out->gpu_memory_mib = history_figure(used / 1048576);
        out->gpu_memory_total_mib = history_figure(total / 1048576);
    }
}

bool ui_sample(struct ui_sampler *sampler, struct api *api, struct history_point *out) {
    struct metrics_totals totals, counted;
    struct engine_status status;
    struct timespec wall;
    int64_t now_ns = clock_now_ns(), interval_ns = now_ns - sampler->at_ns;
    bool is_first = sampler->at_ns == 0;
    struct process_stats process = process_stats_brief();
    metrics_totals_read(api->metrics, &totals);
    engine_status(api->engine, &status);
    double rows_per_s = capacity(sampler, api, status.device_count);
    if (!is_first) {
        counted = totals;
        metrics_totals_subtract(&counted, &sampler->totals);
        history_measure(&counted, interval_ns, out);
        clock_gettime(CLOCK_REALTIME, &wall);
        out->unix_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
        out->capacity = history_figure(rows_per_s);
        double busy = counted.batch_compute.sum * 1e9 / ((double)interval_ns * status.device_count);
        out->busy_permille = history_figure(fmin(busy, 1) * 1000);
        if (process.cpu_seconds >= 0)
            out->cpu_permille =
                history_figure((process.cpu_seconds - sampler->cpu_seconds) * 1e12 / (double)interval_ns);
        if (process.resident_bytes >= 0)
            out->resident_kib = history_figure(process.resident_bytes / 1024);
        out->in_flight = atomic_load(&api->admission.slots);
        out->queued_rows = status.queued_rows;
        out->connections = atomic_load(&api->connections->open);
        read_gpus(api, out);
    }
    sampler->totals = totals;
    sampler->at_ns = now_ns;
    sampler->cpu_seconds = process.cpu_seconds;
    return !is_first;
}
