#include "engine/verify.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/fakes/model_files.h"
#include "tests/fakes/temp_dir.h"

static struct engine *engine;
static struct verify_report report;
static struct weir_error error;

static void setup(void) {
    const struct engine_options options = {.devices = {.choice = INVENTORY_CPU, .cpu_threads = 1}, .batch_rows = 8};
    model_files_make();
    cr_assert_eq(engine_open(&options, &engine, &error), WEIR_OK, "%s", error.text);
}

static void teardown(void) {
    verify_release(&report);
    engine_close(engine);
    model_files_remove();
}

TestSuite(verify, .init = setup, .fini = teardown);

static enum weir_status verify(const char *samples, bool record) {
    const struct verify_options options = {.model_path = temp_dir, .samples_path = samples, .record = record};
    verify_release(&report);
    return verify_model(engine, &options, &report, &error);
}

static void assert_refused(const char *samples, bool record, enum weir_status expected, const char *text) {
    enum weir_status status = verify(samples, record);
    cr_assert_eq(status, expected, "%d %s", status, error.text);
    cr_assert_not_null(strstr(error.text, text), "%s", error.text);
}

static void assert_line(int index, uint32_t rows, uint32_t runs, uint64_t off, double worst) {
    const struct verify_line *line = &report.lines[index];
    cr_assert_str_eq(line->output, "y");
    cr_assert_eq(line->rows, rows);
    cr_assert_eq(line->runs, runs);
    cr_assert_eq(line->off, off);
    cr_assert(fabs(line->error - worst) < 1e-6, "%g", line->error);
    cr_assert(line->allowed > 0 && line->allowed < 1e-3, "%g", line->allowed);
}

Test(verify, samples_that_agree_have_a_line_for_each_size) {
    model_files_version("1", 1, "N");
    model_files_version("2", 2, "N");
    model_files_samples("2", 2);
    cr_assert_eq(verify(NULL, false), WEIR_OK, "%s", error.text);
    cr_assert_eq(report.version, 2);
    cr_assert_eq(report.samples, 1);
    cr_assert_eq(report.runs, 3);
    cr_assert_eq(report.line_count, 3);
    for (int i = 0; i < 3; i++)
        assert_line(i, (const uint32_t[]){1, 7, 8}[i], 1, 0, 0);
    cr_assert_eq(report.off, 0);
    cr_assert_eq(report.first.status, WEIR_OK);
}

Test(verify, samples_that_do_not_agree_are_all_counted_and_the_first_is_told) {
    model_files_version("1", 2, "N");
    model_files_samples("1", 5); /* y0 is 5, and should be 8 */
    cr_assert_eq(verify(NULL, false), WEIR_OK, "%s", error.text);
    assert_line(0, 1, 1, 1, 3);
    assert_line(1, 7, 1, 7, 3);
    assert_line(2, 8, 1, 8, 3);
    cr_assert_eq(report.off, 16);
    cr_assert_not_null(strstr(report.first.text, "sample 0 at batch 1: output \"y\"[0]: got 5, expected 8"), "%s",
                       report.first.text);
}

Test(verify, samples_may_lie_elsewhere) {
    model_files_version("1", 2, "N");
    model_files_version("x", 2, "N");
    model_files_samples("x", 2);
    assert_refused(NULL, false, WEIR_NOT_FOUND, "/1/samples: there is no such directory");
    cr_assert_eq(verify(temp_dir_at("x/samples"), false), WEIR_OK, "%s", error.text);
    cr_assert_eq(report.off, 0);
    assert_refused(temp_dir_at("nowhere"), false, WEIR_NOT_FOUND, "/nowhere: there is no such directory");
}

Test(verify, what_is_recorded_agrees) {
    char command[200];
    model_files_version("1", 4, "N");
    model_files_samples("1", 1);
    cr_assert_eq(verify(NULL, true), WEIR_OK, "%s", error.text);
    cr_assert_eq(report.off, 0);
    model_files_samples("1", 1);
    snprintf(command, sizeof command, "rm %s/1/samples/output.y.npy", temp_dir);
    shell(command);
    assert_refused(NULL, false, WEIR_INVALID, "output.y.npy: is missing");
    cr_assert_eq(verify(NULL, true), WEIR_OK, "%s", error.text);
    cr_assert_eq(report.off, 0);
    cr_assert_eq(verify(NULL, false), WEIR_OK, "%s", error.text);
    cr_assert_eq(report.off, 0);
}

Test(verify, what_cannot_be_verified_is_refused_with_its_file) {
    assert_refused(NULL, false, WEIR_NOT_FOUND, "there is no version in it");
    model_files_broken("1", "nonsense");
    assert_refused(NULL, false, WEIR_INVALID, "/1/model.onnx");
    model_files_version("2", 2, "N");
    assert_refused(NULL, true, WEIR_NOT_FOUND, "/2/samples: there is no such directory");
}
