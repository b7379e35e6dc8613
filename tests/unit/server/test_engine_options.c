#include "server/engine_options.h"

#include <criterion/criterion.h>
#include <string.h>

static struct config config;
static struct config_problems problems;

static struct engine_options options_of(const char *text) {
    cr_assert(config_load_text(text, strlen(text), "test.yaml", &config, &problems));
    return engine_options_of(&config);
}

Test(engine_options, the_defaults_are_the_engine_s) {
    struct engine_options options = options_of("model_path: /m\n");
    cr_assert_eq(options.devices.choice, INVENTORY_AUTO);
    cr_assert_eq(options.devices.precision, INVENTORY_FP32);
    cr_assert_eq(options.batch_rows, 32);
    cr_assert_not(options.refuse_other_batch, "a default batch_size is nobody's wish");
    cr_assert_not(options.admit_all);
    cr_assert_null(options.observer.batch_ran);
    config_release(&config);
}

Test(engine_options, what_is_configured_is_asked_of_the_engine) {
    struct engine_options options =
        options_of("model_path: /m\ndevice: cpu\nprecision: bf16\ninvariance: strict\nbatch_size: 5\ncpu_threads: 2\n"
                   "admission: fifo\nwatchdog_ms: 7000\nmax_queue_delay_us: 3\nqueue_delay_target_ms: 4\n");
    cr_assert_eq(options.devices.choice, INVENTORY_CPU);
    cr_assert_eq(options.devices.precision, INVENTORY_BF16);
    cr_assert_eq(options.devices.invariance, INVENTORY_STRICT);
    cr_assert_eq(options.devices.cpu_threads, 2);
    cr_assert_eq(options.batch_rows, 5);
    cr_assert(options.refuse_other_batch);
    cr_assert(options.admit_all);
    cr_assert_eq(options.watchdog_ns, 7000000000);
    cr_assert_eq(options.max_queue_delay_ns, 3000);
    cr_assert_eq(options.queue_delay_target_ns, 4000000);
    config_release(&config);
}

Test(engine_options, a_device_without_room_or_without_the_precision_is_to_blame) {
    cr_assert_eq(engine_options_blame(WEIR_NO_MEMORY), WEIR_DEVICE);
    cr_assert_eq(engine_options_blame(WEIR_UNSUPPORTED), WEIR_DEVICE);
    cr_assert_eq(engine_options_blame(WEIR_DEVICE), WEIR_DEVICE);
    cr_assert_eq(engine_options_blame(WEIR_IO), WEIR_IO);
}
