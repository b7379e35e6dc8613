#include "engine/telemetry.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/device/nvml.h"
#include "engine/thread.h"

enum { STALE_PERIODS = 5, LOST_READINGS = 2, STOP_WAIT_S = 2 };

/* One GPU; the last three members are the sampler's alone. */
struct gpu {
    char bus_id[TELEMETRY_ID_BYTES];
    struct telemetry_reading reading; /* under lock */
    int64_t read_ns;                  /* under lock; 0: never */
    struct nvml_device *device;
    int lost_readings;
    char reason[TELEMETRY_WHY_BYTES];
};

struct telemetry {
    struct telemetry_options options;
    char *library;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* stopping, ended */
    bool stopping, ended, abandoned;
    struct gpu *gpus;
};

void telemetry_clear(struct telemetry_reading *out, const char *unavailable) {
    memset(out, 0, sizeof *out);
    for (int i = 0; i < TELEMETRY_VALUES; i++)
        out->values[i] = NAN;
    snprintf(out->unavailable, sizeof out->unavailable, "%.250s", unavailable);
}

static void destroy(struct telemetry *telemetry) {
    pthread_cond_destroy(&telemetry->changed);
    pthread_mutex_destroy(&telemetry->lock);
    free(telemetry->library);
    free(telemetry->gpus);
    free(telemetry);
}

/* What a GPU is called does not change while it cannot be read. */
static void keep_texts(struct telemetry_reading *to, const struct telemetry_reading *before) {
    if (!to->name[0])
        memcpy(to->name, before->name, sizeof to->name);
    if (!to->uuid[0])
        memcpy(to->uuid, before->uuid, sizeof to->uuid);
    if (!to->driver[0])
        memcpy(to->driver, before->driver, sizeof to->driver);
}

/* Returns whether the GPU is to be reported as lost, now. */
static bool publish(struct telemetry *telemetry, struct gpu *gpu, const struct telemetry_reading *reading) {
    gpu->lost_readings = reading->lost ? gpu->lost_readings + (gpu->lost_readings <= LOST_READINGS) : 0;
    pthread_mutex_lock(&telemetry->lock);
    struct telemetry_reading before = gpu->reading;
    gpu->reading = *reading;
    keep_texts(&gpu->reading, &before);
    gpu->read_ns = clock_now_ns();
    bool report = gpu->lost_readings == LOST_READINGS && !telemetry->stopping && telemetry->options.lost;
    pthread_mutex_unlock(&telemetry->lock);
    return report;
}

static void sample(struct telemetry *telemetry, struct nvml *nvml, struct gpu *gpu) {
    struct telemetry_reading reading;
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    telemetry_clear(&reading, "");
    if (!gpu->device)
        status = nvml_find(nvml, gpu->bus_id, &gpu->device, &err);
    if (status == WEIR_OK)
        status = nvml_read(nvml, gpu->device, &reading, &err);
    if (status != WEIR_OK) {
        snprintf(reading.unavailable, sizeof reading.unavailable, "%.250s", err.text);
        snprintf(gpu->reason, sizeof gpu->reason, "%.250s", err.text);
        reading.lost = status == WEIR_DEVICE_LOST;
        gpu->device = NULL; /* it may come back under another handle */
    }
    if (publish(telemetry, gpu, &reading))
        telemetry->options.lost(telemetry->options.context, (int)(gpu - telemetry->gpus), gpu->reason);
}

/* Sleeps for a period; false: it is time to end. */
static bool next(struct telemetry *telemetry) {
    int64_t until_ns = clock_now_ns() + telemetry->options.period_ns;
    pthread_mutex_lock(&telemetry->lock);
    while (!telemetry->stopping && clock_cond_wait(&telemetry->changed, &telemetry->lock, until_ns))
        continue;
    bool stopping = telemetry->stopping;
    pthread_mutex_unlock(&telemetry->lock);
    return !stopping;
}

static void publish_failure(struct telemetry *telemetry, const char *text) {
    struct telemetry_reading reading;
    telemetry_clear(&reading, text);
    for (int i = 0; i < telemetry->options.count; i++)
        (void)publish(telemetry, &telemetry->gpus[i], &reading);
}

static void *run(void *context) {
    struct telemetry *telemetry = context;
    struct nvml *nvml = NULL;
    struct weir_error err;
    thread_enter(THREAD_SAMPLER, 0);
    if (nvml_open(telemetry->library, &nvml, &err) == WEIR_OK) {
        do
            for (int i = 0; i < telemetry->options.count; i++)
                sample(telemetry, nvml, &telemetry->gpus[i]);
        while (next(telemetry));
        nvml_close(nvml);
    } else {
        publish_failure(telemetry, err.text);
        while (next(telemetry))
            publish_failure(telemetry, err.text); /* so that the reason does not grow stale */
    }
    pthread_mutex_lock(&telemetry->lock);
    telemetry->ended = true;
    bool abandoned = telemetry->abandoned;
    pthread_cond_broadcast(&telemetry->changed);
    pthread_mutex_unlock(&telemetry->lock);
    if (abandoned)
        destroy(telemetry);
    return NULL;
}

static bool init(struct telemetry *telemetry, const struct telemetry_options *options) {
    clock_cond_init(&telemetry->changed);
    pthread_mutex_init(&telemetry->lock, NULL);
    telemetry->options = *options;
    if (options->period_ns <= 0)
        telemetry->options.period_ns = CLOCK_NS_PER_S;
    telemetry->library = options->library ? strdup(options->library) : NULL;
    telemetry->gpus = calloc((size_t)options->count, sizeof *telemetry->gpus);
    if (!telemetry->gpus || (options->library && !telemetry->library))
        return false;
    for (int i = 0; i < options->count; i++) {
        snprintf(telemetry->gpus[i].bus_id, sizeof telemetry->gpus[i].bus_id, "%s", options->bus_ids[i]);
        telemetry_clear(&telemetry->gpus[i].reading, "nothing has been read yet");
    }
    return true;
}

enum weir_status telemetry_start(const struct telemetry_options *options, struct telemetry **out,
                                 struct weir_error *err) {
    struct telemetry *telemetry = calloc(1, sizeof *telemetry);
    if (!telemetry)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for telemetry");
    if (!init(telemetry, options) || pthread_create(&telemetry->thread, NULL, run, telemetry) != 0) {
        destroy(telemetry);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for telemetry");
    }
    *out = telemetry;
    return WEIR_OK;
}

void telemetry_stop(struct telemetry *telemetry) {
    if (!telemetry)
        return;
    int64_t until_ns = clock_now_ns() + STOP_WAIT_S * CLOCK_NS_PER_S;
    pthread_mutex_lock(&telemetry->lock);
    telemetry->stopping = true;
    pthread_cond_broadcast(&telemetry->changed);
    while (!telemetry->ended && clock_cond_wait(&telemetry->changed, &telemetry->lock, until_ns))
        continue;
    telemetry->abandoned = !telemetry->ended;
    bool abandoned = telemetry->abandoned;
    pthread_t thread = telemetry->thread;
    if (abandoned)
        pthread_detach(thread);
    pthread_mutex_unlock(&telemetry->lock);
    if (abandoned)
        return;
    pthread_join(thread, NULL);
    destroy(telemetry);
}

void telemetry_read(struct telemetry *telemetry, int gpu, int64_t now_ns, struct telemetry_reading *out) {
    struct gpu *from = &telemetry->gpus[gpu];
    pthread_mutex_lock(&telemetry->lock);
    *out = from->reading;
    int64_t read_ns = from->read_ns;
    pthread_mutex_unlock(&telemetry->lock);
    if (read_ns > 0 && now_ns - read_ns > STALE_PERIODS * telemetry->options.period_ns) {
        char why[TELEMETRY_WHY_BYTES];
        struct telemetry_reading last = *out;
        snprintf(why, sizeof why, "NVML has not answered for %.1f s", (double)(now_ns - read_ns) / 1e9);
        telemetry_clear(out, why);
        out->lost = last.lost;
        keep_texts(out, &last);
    }
    memcpy(out->bus_id, from->bus_id, sizeof out->bus_id);
}
