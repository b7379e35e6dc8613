/* Several threads read what the sampler writes, while it runs and while it ends. A plain program, to be run under
 * ThreadSanitizer. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "engine/clock.h"
#include "engine/telemetry.h"

enum { READERS = 3, READINGS = 3000, ROUNDS = 5 };

static struct telemetry *telemetry;
static atomic_int wrong, known, lost_calls;

static void *read_all(void *context) {
    struct telemetry_reading reading;
    for (int i = 0; i < READINGS; i++) {
        telemetry_read(telemetry, i % 2, clock_now_ns(), &reading);
        double total = reading.values[TELEMETRY_MEMORY_TOTAL];
        if (isnan(total) != (reading.unavailable[0] != 0) || reading.bus_id[6] != '1' + i % 2)
            atomic_fetch_add(&wrong, 1);
        if (!isnan(total))
            atomic_fetch_add(&known, 1);
    }
    return context;
}

static void lost(void *context, int gpu, const char *reason) {
    (void)context, (void)gpu, (void)reason;
    atomic_fetch_add(&lost_calls, 1);
}

int main(void) {
    static const char *const bus_ids[] = {"0000:01:00.0", "0000:02:00.0"};
    const struct telemetry_options options = {
        .library = NVML_DOUBLE, .count = 2, .bus_ids = bus_ids, .period_ns = 20000, .lost = lost};
    struct weir_error err;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t readers[READERS];
        if (telemetry_start(&options, &telemetry, &err) != WEIR_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        for (int i = 0; i < READERS; i++)
            pthread_create(&readers[i], NULL, read_all, NULL);
        for (int i = 0; i < READERS; i++)
            pthread_join(readers[i], NULL);
        while (atomic_load(&known) == 0)
            read_all(NULL);
        telemetry_stop(telemetry);
    }
    printf("%d readings with numbers, %d wrong\n", atomic_load(&known), atomic_load(&wrong));
    return atomic_load(&wrong) == 0 && atomic_load(&lost_calls) == 0 ? 0 : 1;
}
