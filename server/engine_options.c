#include "server/engine_options.h"

#include "engine/clock.h"

struct engine_options engine_options_of(const struct config *config) {
    static const enum inventory_choice choices[] = {[CONFIG_DEVICE_AUTO] = INVENTORY_AUTO,
                                                    [CONFIG_DEVICE_CPU] = INVENTORY_CPU,
                                                    [CONFIG_DEVICE_CUDA] = INVENTORY_CUDA};
    static const enum inventory_precision precisions[] = {[CONFIG_PRECISION_FP32] = INVENTORY_FP32,
                                                          [CONFIG_PRECISION_TF32] = INVENTORY_TF32,
                                                          [CONFIG_PRECISION_FP16] = INVENTORY_FP16,
                                                          [CONFIG_PRECISION_BF16] = INVENTORY_BF16,
                                                          [CONFIG_PRECISION_INT8] = INVENTORY_INT8};
    static const enum inventory_invariance invariances[] = {[CONFIG_INVARIANCE_OFF] = INVENTORY_VARIANT,
                                                            [CONFIG_INVARIANCE_BUCKET] = INVENTORY_BUCKET,
                                                            [CONFIG_INVARIANCE_STRICT] = INVENTORY_STRICT};
    return (struct engine_options){
        .devices = {.choice = choices[config->device],
                    .gpu_count = (int)config->gpu_count,
                    .cuda_module = config->cuda_module,
                    .allow_simulated = config->allow_simulated != 0,
                    .cpu_threads = (int)config->cpu_threads,
                    .precision = precisions[config->precision],
                    .invariance = invariances[config->invariance]},
        .batch_rows = (uint32_t)config->batch_size,
        .refuse_other_batch = config->origins[CONFIG_KEY_batch_size].kind != CONFIG_ORIGIN_DEFAULT,
        .admit_all = config->admission == CONFIG_ADMISSION_FIFO,
        .max_queue_delay_ns = config->max_queue_delay_us * CLOCK_NS_PER_US,
        .queue_delay_target_ns = config->queue_delay_target_ms * CLOCK_NS_PER_MS,
        .watchdog_ns = config->watchdog_ms * CLOCK_NS_PER_MS,
    };
}

enum weir_status engine_options_blame(enum weir_status status) {
    return status == WEIR_NO_MEMORY || status == WEIR_UNSUPPORTED ? WEIR_DEVICE : status;
}
