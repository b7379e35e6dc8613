#include "engine/telemetry.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "engine/clock.h"
#include "tests/fakes/nvml_state.h"

enum { PERIOD_NS = 1000000, WAIT_S = 10 };

static const char *const BUS_IDS[] = {"0000:01:00.0", "0000:02:00.0"};
static struct weir_error err;
static struct telemetry *telemetry;
static atomic_int lost_calls, lost_gpu;

static void lost(void *context, int gpu, const char *reason) {
    cr_assert_not_null(strstr(reason, "lost"), "%s", reason);
    cr_assert_null(context);
    atomic_store(&lost_gpu, gpu);
    atomic_fetch_add(&lost_calls, 1);
}

static void begin(const char *library, int64_t period_ns) {
    struct telemetry_options options = {
        .library = library, .count = 2, .bus_ids = BUS_IDS, .period_ns = period_ns, .lost = lost};
    cr_assert_eq(telemetry_start(&options, &telemetry, &err), WEIR_OK);
}

static struct telemetry_reading reading_of(int gpu) {
    struct telemetry_reading out;
    telemetry_read(telemetry, gpu, clock_now_ns(), &out);
    return out;
}

static bool has_numbers(int gpu) {
    return !isnan(reading_of(gpu).values[TELEMETRY_MEMORY_TOTAL]);
}

static bool says(int gpu, const char *text) {
    struct telemetry_reading reading = reading_of(gpu);
    return strstr(reading.unavailable, text);
}

static bool reported(int gpu, const char *text) {
    (void)gpu, (void)text;
    return atomic_load(&lost_calls) > 0;
}

static void wait_until(bool (*holds)(int gpu, const char *text), int gpu, const char *text) {
    int64_t end_ns = clock_now_ns() + WAIT_S * CLOCK_NS_PER_S;
    while (!holds(gpu, text)) {
        cr_assert_lt(clock_now_ns(), end_ns, "never: %s", text);
        nanosleep(&(struct timespec){0, PERIOD_NS}, NULL);
    }
}

static bool numbers_are_there(int gpu, const char *text) {
    (void)text;
    return has_numbers(gpu);
}

Test(telemetry, gpus_are_told_apart_by_their_place_on_the_bus) {
    struct nvml_double *state = nvml_state();
    state->device_count = 2;
    state->devices[1].temperature_c = 83;
    begin(NVML_DOUBLE, PERIOD_NS);
    wait_until(numbers_are_there, 0, "the first one's numbers");
    wait_until(numbers_are_there, 1, "the second one's numbers");
    cr_assert_eq(reading_of(0).values[TELEMETRY_TEMPERATURE], 41);
    cr_assert_eq(reading_of(1).values[TELEMETRY_TEMPERATURE], 83);
    cr_assert_str_eq(reading_of(1).bus_id, BUS_IDS[1]);
    telemetry_stop(telemetry);
    cr_assert_eq(state->initialized, 0, "the library is given back");
}

Test(telemetry, a_library_that_is_missing_is_what_every_reading_says) {
    begin("/nowhere/libnvidia-ml.so.1", PERIOD_NS);
    wait_until(says, 1, "/nowhere/libnvidia-ml.so.1");
    cr_assert_not(has_numbers(1));
    cr_assert_not(reading_of(1).lost);
    telemetry_stop(telemetry);
}

Test(telemetry, a_gpu_that_nvml_does_not_show_leaves_the_others) {
    begin(NVML_DOUBLE, PERIOD_NS); /* it has one device */
    wait_until(numbers_are_there, 0, "the first one's numbers");
    wait_until(says, 1, "0000:02:00.0");
    telemetry_stop(telemetry);
}

Test(telemetry, a_lost_gpu_is_reported_once) {
    struct nvml_double *state = nvml_state();
    state->device_count = 2;
    state->devices[1].error = NVML_DOUBLE_GPU_LOST;
    begin(NVML_DOUBLE, PERIOD_NS);
    wait_until(reported, 1, "the report");
    cr_assert(reading_of(1).lost);
    wait_until(says, 1, "GPU is lost"); /* on a busy machine a reading may be old just now */
    wait_until(numbers_are_there, 0, "the other one's numbers");
    unsigned long calls = state->calls; /* a few more readings */
    while (((volatile struct nvml_double *)state)->calls < calls + 200)
        nanosleep(&(struct timespec){0, PERIOD_NS}, NULL);
    cr_assert_eq(atomic_load(&lost_calls), 1);
    cr_assert_eq(atomic_load(&lost_gpu), 1);
    telemetry_stop(telemetry);
}

Test(telemetry, before_the_first_reading_and_when_it_is_old_nothing_is_known) {
    struct nvml_double *state = nvml_state();
    struct telemetry_reading reading;
    begin(NVML_DOUBLE, 3600 * CLOCK_NS_PER_S);
    wait_until(numbers_are_there, 0, "the numbers");
    telemetry_read(telemetry, 0, clock_now_ns() + 4 * 3600 * CLOCK_NS_PER_S, &reading);
    cr_assert_eq(reading.values[TELEMETRY_TEMPERATURE], 41);
    telemetry_read(telemetry, 0, clock_now_ns() + 6 * 3600 * CLOCK_NS_PER_S, &reading);
    cr_assert(isnan(reading.values[TELEMETRY_TEMPERATURE]));
    cr_assert_not_null(strstr(reading.unavailable, "has not answered"), "%s", reading.unavailable);
    cr_assert_str_eq(reading.bus_id, BUS_IDS[0]);
    telemetry_stop(telemetry);
    state->stall_ms = 20;
    begin(NVML_DOUBLE, PERIOD_NS);
    cr_assert(says(1, "nothing has been read yet"));
    telemetry_stop(telemetry);
}

Test(telemetry, a_library_that_does_not_come_back_holds_up_nobody) {
    struct nvml_double *state = nvml_state();
    state->stall_ms = 3000;
    int64_t began_ns = clock_now_ns();
    begin(NVML_DOUBLE, PERIOD_NS);
    while (((volatile struct nvml_double *)state)->calls < 3) /* it is in the first question about a device */
        nanosleep(&(struct timespec){0, PERIOD_NS}, NULL);
    telemetry_stop(telemetry);
    cr_assert_lt(clock_now_ns() - began_ns, 20 * CLOCK_NS_PER_S);
    state->stall_ms = 0;
    while (((volatile struct nvml_double *)state)->initialized > 0) /* later it ends by itself */
        nanosleep(&(struct timespec){0, PERIOD_NS}, NULL);
}
