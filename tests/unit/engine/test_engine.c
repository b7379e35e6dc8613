#include "engine/engine.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/fakes/model_files.h"
#include "tests/fakes/pause.h"

static struct engine *engine;
static struct weir_error err;

static void setup(void) {
    struct engine_options options = {.devices = {.choice = INVENTORY_CPU, .cpu_threads = 1}, .batch_rows = 4};
    model_files_make();
    cr_assert_eq(engine_open(&options, &engine, &err), WEIR_OK, "%s", err.text);
}

static void teardown(void) {
    engine_close(engine);
    model_files_remove();
}

TestSuite(engine, .init = setup, .fini = teardown);

/* A request of up to 16 rows of the two-number model. */
struct ask {
    struct job job;
    float in[16][2], out[16][2];
    struct job_tensor input, output;
    atomic_int done;
};

static void on_done(struct job *job) {
    struct ask *ask = job->owner;
    atomic_fetch_add(&ask->done, 1);
}

static void ask_init(struct ask *ask, struct version *version, uint32_t rows) {
    memset(ask, 0, sizeof *ask);
    for (uint32_t row = 0; row < rows; row++) {
        ask->in[row][0] = (float)row;
        ask->in[row][1] = 10;
    }
    const struct tensor_shape row = {.rank = 1, .dims = {2}};
    ask->input = (struct job_tensor){.data = ask->in, .row_bytes = sizeof ask->in[0], .row = row};
    ask->output = (struct job_tensor){.data = ask->out, .row_bytes = sizeof ask->out[0], .row = row};
    ask->job.version = version;
    ask->job.dims.rows = rows;
    ask->job.inputs = &ask->input;
    ask->job.outputs = &ask->output;
    ask->job.deadline_ns = INT64_MAX;
    ask->job.done = on_done;
    ask->job.owner = ask;
}

static struct version *prepare(int number, const char *path) {
    struct version *version;
    cr_assert_eq(engine_prepare(engine, "demo", (uint64_t)number, path, &version, &err), WEIR_OK, "%s", err.text);
    return version;
}

static struct version *load(int number) {
    char name[16];
    snprintf(name, sizeof name, "%d", number);
    return prepare(number, model_files_version(name, number, "N"));
}

static void run(struct ask *ask) {
    cr_assert_eq(engine_submit(engine, &ask->job, &err), WEIR_OK);
    engine_flush(engine);
    while (atomic_load(&ask->done) == 0)
        pause_briefly();
}

Test(engine, a_job_of_more_rows_than_a_batch_gets_every_row_right) {
    struct ask ask;
    struct version *version = load(3);
    ask_init(&ask, version, 10);
    run(&ask);
    cr_assert_eq(ask.job.status, WEIR_OK);
    for (int row = 0; row < 10; row++) {
        cr_assert_float_eq(ask.out[row][0], (float)(row + 10 + 3), 0);
        cr_assert_float_eq(ask.out[row][1], (float)(row - 10), 0);
    }
    cr_assert_eq(atomic_load(&ask.done), 1);
    engine_release(version);
}

Test(engine, a_new_version_takes_over_while_the_old_one_finishes_its_jobs) {
    struct ask before, after;
    struct version *old = load(1);
    struct version *new = load(2);
    ask_init(&before, old, 1);
    ask_init(&after, new, 1);
    run(&before);
    run(&after);
    cr_assert_float_eq(before.out[0][0], 11, 0);
    cr_assert_float_eq(after.out[0][0], 12, 0);
    engine_release(old);
    engine_release(new);
}

Test(engine, a_version_that_does_not_load_leaves_nothing) {
    struct version *version = NULL;
    cr_assert_neq(engine_prepare(engine, "demo", 2, model_files_broken("2", "nonsense"), &version, &err), WEIR_OK);
    cr_assert_null(version);
}

static atomic_int retired;

static void on_retired(void *context) {
    (void)context;
    atomic_fetch_add(&retired, 1);
}

Test(engine, a_version_is_freed_where_the_loader_wants_it) {
    struct engine_options options = {.devices = {.choice = INVENTORY_CPU, .cpu_threads = 1},
                                     .batch_rows = 4,
                                     .observer = {.version_retired = on_retired}};
    engine_close(engine);
    cr_assert_eq(engine_open(&options, &engine, &err), WEIR_OK, "%s", err.text);
    struct version *version = load(1);
    engine_hold(version);
    engine_release(version);
    cr_assert_eq(atomic_load(&retired), 0);
    engine_release(version);
    cr_assert_eq(atomic_load(&retired), 1, "it is told, and still there");
    engine_reap(engine);
}

Test(engine, versions_differ_in_their_serials_and_keep_their_tags) {
    struct version *first = load(1), *second = load(1);
    engine_set_tag(first, 7);
    cr_assert_neq(engine_describe(first).serial, engine_describe(second).serial);
    cr_assert_eq(engine_describe(first).tag, 7);
    cr_assert_eq(engine_describe(second).tag, 0);
    engine_release(first);
    engine_release(second);
}

Test(engine, a_spare_job_runs_on_an_idle_device) {
    struct ask ask;
    struct version *version = load(1);
    ask_init(&ask, version, 2);
    cr_assert_eq(engine_submit_spare(engine, &ask.job, INT64_MAX, &err), WEIR_OK);
    engine_flush(engine);
    while (atomic_load(&ask.done) == 0)
        pause_briefly();
    cr_assert_float_eq(ask.out[1][0], 1 + 10 + 1, 0);
    engine_release(version);
}

Test(engine, nothing_is_taken_while_draining) {
    struct ask ask;
    struct version *version = load(1);
    ask_init(&ask, version, 1);
    engine_drain(engine);
    cr_assert_eq(engine_submit(engine, &ask.job, &err), WEIR_DRAINING);
    engine_release(version);
}

Test(engine, a_cancelled_job_comes_back_one_way_only) {
    struct ask ask;
    struct version *version = load(1);
    ask_init(&ask, version, 1);
    cr_assert_eq(engine_submit(engine, &ask.job, &err), WEIR_OK);
    bool mine = engine_cancel(engine, &ask.job);
    engine_flush(engine);
    engine_stop(engine);
    cr_assert_eq(atomic_load(&ask.done), mine ? 0 : 1);
    engine_release(version);
}

/* Runs a job of `rows` rows of `size` ones through the model that sums them. */
static void run_sum(struct version *version, struct ask *ask, uint32_t rows, int64_t size) {
    ask_init(ask, version, rows);
    for (int i = 0; i < 32; i++)
        ask->in[i / 2][i % 2] = 1;
    ask->input.row_bytes = (size_t)size * sizeof(float);
    ask->input.row = (struct tensor_shape){.rank = 1, .dims = {size}};
    ask->output.row_bytes = sizeof(float);
    ask->output.row = (struct tensor_shape){.rank = 1, .dims = {1}};
    ask->job.dims = (struct tensor_dims){.rows = rows, .free_count = 1, .free = {size}};
    run(ask);
    cr_assert_eq(ask->job.status, WEIR_OK, "%s", ask->job.error.text);
    const float *sums = (const float *)ask->out;
    for (uint32_t row = 0; row < rows; row++)
        cr_assert_float_eq(sums[row], (float)size, 0);
}

Test(engine, jobs_of_any_free_size_run) {
    struct ask ask;
    struct version *version = prepare(1, model_files_free("1"));
    run_sum(version, &ask, 5, 3);
    run_sum(version, &ask, 1, 17);
    run_sum(version, &ask, 2, 1);
    run_sum(version, &ask, 5, 3);
    engine_release(version);
}

Test(engine, a_version_that_runs_rows_alone_says_why) {
    struct version *version = prepare(1, model_files_mixing("1"));
    cr_assert_eq(engine_describe(version).batch_rows, 1);
    cr_assert_neq(engine_describe(version).batching[0], 0);
    engine_release(version);
}

Test(engine, the_status_names_the_device) {
    struct engine_status status;
    engine_status(engine, &status);
    cr_assert_str_eq(status.device, "cpu");
    cr_assert_eq(status.device_count, 1);
    cr_assert_eq(status.queued_rows, 0);
    cr_assert_not_null(strstr(status.device_description, "oneDNN"));
}
