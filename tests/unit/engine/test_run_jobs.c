#include "engine/run_jobs.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/fakes/model_files.h"

enum { JOBS = 40 };

static struct engine *engine;
static struct version *version;
static struct weir_error error;
static float x[JOBS][2];
static struct job_tensor inputs[JOBS], outputs[JOBS];
static struct job jobs[JOBS];

static void setup(void) {
    const struct engine_options options = {.devices = {.choice = INVENTORY_CPU, .cpu_threads = 1}, .batch_rows = 8};
    model_files_make();
    cr_assert_eq(engine_open(&options, &engine, &error), WEIR_OK, "%s", error.text);
    const char *path = model_files_version("1", 3, "N");
    cr_assert_eq(engine_prepare(engine, "demo", 1, path, &version, &error), WEIR_OK, "%s", error.text);
    for (int i = 0; i < JOBS; i++) {
        x[i][0] = (float)i;
        inputs[i] = (struct job_tensor){.data = x[i], .row_bytes = sizeof x[i], .row = {.rank = 1, .dims = {2}}};
        jobs[i] = (struct job){.version = version, .dims = {.rows = 1}, .inputs = &inputs[i], .outputs = &outputs[i]};
    }
}

static void teardown(void) {
    for (int i = 0; i < JOBS; i++)
        free(outputs[i].data);
    engine_release(version);
    engine_close(engine);
    model_files_remove();
}

TestSuite(run_jobs, .init = setup, .fini = teardown);

Test(run_jobs, all_have_run_with_their_own_rows) {
    cr_assert_eq(run_jobs(engine, jobs, JOBS, &error), WEIR_OK, "%s", error.text);
    for (int i = 0; i < JOBS; i++) {
        cr_assert_eq(jobs[i].status, WEIR_OK);
        cr_assert_eq(((const float *)outputs[i].data)[0], (float)(i + 3));
        cr_assert_geq(jobs[i].finished_ns, jobs[i].started_ns);
    }
}

Test(run_jobs, none_at_all_is_no_wait) {
    cr_assert_eq(run_jobs(engine, jobs, 0, &error), WEIR_OK);
}

Test(run_jobs, one_job_gives_its_outputs) {
    const struct tensor_dims dims = {.rows = 1};
    struct job_runner runner = {.engine = engine, .version = version};
    cr_assert_eq(run_one_job(&runner, &dims, &inputs[7], &outputs[7], &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(((const float *)outputs[7].data)[0], 10);
}

Test(run_jobs, an_engine_that_takes_no_more_says_so) {
    engine_drain(engine);
    cr_assert_eq(run_jobs(engine, jobs, JOBS, &error), WEIR_DRAINING, "%s", error.text);
    cr_assert_null(outputs[0].data);
}
