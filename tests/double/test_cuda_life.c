/* The CUDA backend over time: two slots kept busy under delays, two devices of which one fails, a version that is
 * loaded while another serves. */
#include <pthread.h>
#include <string.h>

#include "engine/device/cuda/cuda_backend.h"
#include "engine/graph/plan.h"
#include "tests/double/cuda_double.h"
#include "tests/double/cuda_models.h"

enum { ROWS = 6, ROUNDS = 12 };

static void begin_double(unsigned delay_us, int devices) {
    struct cuda_double_config config = cuda_double_defaults();
    config.delay_us = delay_us;
    config.devices = devices;
    config.memory_bytes = (size_t)1 << 30;
    cuda_double_reset(&config);
    cuda_models_fill(cuda_models_x, 1 << 16, 11);
}

/* The oracle's rows for the numbers at cuda_models_x, which every round starts a little further on. */
static void check_round(struct cuda_models_bench *bench, int slot, size_t shift) {
    static float kept[1 << 16];
    size_t count = cuda_models_in(bench, ROWS, 0);
    memcpy(kept, cuda_models_x, count * sizeof *kept);
    memmove(cuda_models_x, cuda_models_x + shift, count * sizeof *kept);
    cuda_models_ask(bench, ROWS, 0);
    memcpy(cuda_models_x, kept, count * sizeof *kept);
    EXPECT(cuda_models_error(bench, slot, ROWS) < 1e-5, "slot %d, shift %zu", slot, shift);
}

static void two_slots_take_turns_and_keep_their_numbers(void) {
    struct cuda_models_bench bench;
    begin_double(200, 1);
    cuda_models_load(&bench, CUDA_MODELS_MLP, (struct backend_options){0}, ROWS);
    struct tensor_dims dims = cuda_models_dims(&bench, ROWS, 0);
    size_t count = cuda_models_in(&bench, ROWS, 0);
    for (size_t round = 0; round <= ROUNDS; round++) {
        int slot = (int)(round % 2);
        if (round < ROUNDS)
            EXPECT(cuda_models_submit(&bench, slot, &dims, cuda_models_x + round, count) == WEIR_OK, "%s",
                   cuda_models_err.text);
        if (round == 0)
            continue;
        EXPECT(bench.backend->ops->wait(bench.model, 1 - slot, &cuda_models_err) == WEIR_OK, "%s",
               cuda_models_err.text);
        check_round(&bench, 1 - slot, round - 1);
    }
    cuda_models_unload(&bench);
    cuda_models_end("two slots");
}

/* The second device's own thread: it runs before and behind the first one's failure. */
struct neighbour {
    struct cuda_models_bench *bench;
    pthread_barrier_t ran, failed;
};

static void run_neighbour(struct cuda_models_bench *bench) {
    struct tensor_dims dims = cuda_models_dims(bench, ROWS, 0);
    const struct backend_ops *ops = bench->backend->ops;
    struct weir_error err;
    EXPECT(ops->begin(bench->model, 0, &dims, &err) == WEIR_OK, "%s", err.text);
    memcpy(ops->input(bench->model, 0, 0), cuda_models_x, cuda_models_in(bench, ROWS, 0) * sizeof *cuda_models_x);
    EXPECT(ops->submit(bench->model, 0, &err) == WEIR_OK, "%s", err.text);
    EXPECT(ops->wait(bench->model, 0, &err) == WEIR_OK, "%s", err.text);
}

static void *be_neighbour(void *argument) {
    struct neighbour *neighbour = argument;
    run_neighbour(neighbour->bench);
    pthread_barrier_wait(&neighbour->ran);
    pthread_barrier_wait(&neighbour->failed);
    run_neighbour(neighbour->bench);
    return NULL;
}

static void one_device_that_fails_leaves_the_other(void) {
    struct cuda_models_bench first, second;
    const struct backend_options options = {0};
    struct neighbour neighbour = {.bench = &second};
    pthread_t thread;
    begin_double(0, 2);
    cuda_models_load(&first, CUDA_MODELS_MLP, options, ROWS);
    second = first;
    EXPECT(weir_cuda_open(&options, 1, &second.backend, &cuda_models_err) == WEIR_OK, "%s", cuda_models_err.text);
    EXPECT(strcmp(first.backend->bus_id, second.backend->bus_id) != 0, "%s", second.backend->bus_id);
    EXPECT(second.backend->ops->load(second.backend, second.plan, ROWS, &second.model, &cuda_models_err) == WEIR_OK,
           "one plan serves both: %s", cuda_models_err.text);
    EXPECT(pthread_barrier_init(&neighbour.ran, NULL, 2) == 0 &&
               pthread_barrier_init(&neighbour.failed, NULL, 2) == 0 &&
               pthread_create(&thread, NULL, be_neighbour, &neighbour) == 0,
           "a thread");
    pthread_barrier_wait(&neighbour.ran);
    cuda_double_fail_operation("product", 1, 719);
    EXPECT(cuda_models_run(&first, 0, ROWS, 0) == WEIR_DEVICE_LOST, "%s", cuda_models_err.text);
    pthread_barrier_wait(&neighbour.failed);
    EXPECT(pthread_join(thread, NULL) == 0, "the thread");
    check_round(&second, 0, 0);
    EXPECT(cuda_models_run(&first, 1, ROWS, 0) == WEIR_DEVICE_LOST, "it stays lost");
    EXPECT(second.backend->ops->state(second.backend) == BACKEND_OK, "the other one's state");
    pthread_barrier_destroy(&neighbour.ran);
    pthread_barrier_destroy(&neighbour.failed);
    second.backend->ops->unload(second.model);
    second.backend->ops->close(second.backend);
    cuda_models_unload(&first);
}

static void *load_and_unload(void *argument) {
    const struct cuda_models_bench *serving = argument;
    const struct backend_ops *ops = serving->backend->ops;
    for (int i = 0; i < 3; i++) {
        struct backend_model *model = NULL;
        struct weir_error err;
        EXPECT(ops->load(serving->backend, serving->plan, ROWS, &model, &err) == WEIR_OK, "%s", err.text);
        ops->unload(model);
    }
    return NULL;
}

static void a_version_is_loaded_while_another_serves(void) {
    struct cuda_models_bench bench;
    pthread_t loader;
    begin_double(20, 1);
    cuda_models_load(&bench, CUDA_MODELS_MLP, (struct backend_options){.invariance = BACKEND_BUCKET}, ROWS);
    EXPECT(pthread_create(&loader, NULL, load_and_unload, &bench) == 0, "a thread");
    for (int round = 0; round < 4 * ROUNDS; round++)
        EXPECT(cuda_models_run(&bench, round % 2, ROWS, 0) == WEIR_OK, "%s", cuda_models_err.text);
    EXPECT(pthread_join(loader, NULL) == 0, "the thread");
    check_round(&bench, 1, 0);
    cuda_models_unload(&bench);
    cuda_models_end("loading beside serving");
}

int main(void) {
    static const struct {
        const char *sentence;
        void (*test)(void);
    } tests[] = {{"two_slots_take_turns_and_keep_their_numbers", two_slots_take_turns_and_keep_their_numbers},
                 {"one_device_that_fails_leaves_the_other", one_device_that_fails_leaves_the_other},
                 {"a_version_is_loaded_while_another_serves", a_version_is_loaded_while_another_serves}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        tests[i].test();
        printf("ok: %s\n", tests[i].sentence);
        fflush(stdout);
    }
    return 0;
}
