#include "engine/inspect.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fakes/temp_dir.h"

static char shown[4096];
static struct weir_error error;

static void make_file(const char *directory, const char *name, const char *content) {
    char path[256];
    mkdir(temp_dir_at("demo"), 0755);
    mkdir(temp_dir_at(directory), 0755);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    temp_dir_write(path, content);
}

TestSuite(inspect, .init = temp_dir_make, .fini = temp_dir_remove);

Test(inspect, versions_and_what_was_passed_over_get_a_line_each) {
    char expected[1024];
    size_t count = 0;
    make_file("demo/v2", "model.onnx", "");
    make_file("demo/10", "model.onnx", "");
    make_file("demo/new", "model.onnx", "");
    FILE *out = fmemopen(shown, sizeof shown, "w");
    cr_assert_eq(inspect_versions(temp_dir_at("demo"), NULL, out, &count, &error), WEIR_OK);
    fclose(out);
    snprintf(expected, sizeof expected,
             "model demo: 2 versions\n  version 10: %s/demo/10/model.onnx\n  version 2: %s/demo/v2/model.onnx\n"
             "  new: ignored, its name is not a version number (such as 7 or v7)\n",
             temp_dir, temp_dir);
    cr_assert_str_eq(shown, expected);
    cr_assert_eq(count, 2);
}

Test(inspect, a_model_without_versions_is_not_found) {
    mkdir(temp_dir_at("demo"), 0755);
    cr_assert_eq(inspect_model(temp_dir_at("demo"), NULL, stderr, &error), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "there is no version"));
    cr_assert_eq(inspect_model(temp_dir_at("nothing"), NULL, stderr, &error), WEIR_NOT_FOUND);
}

Test(inspect, a_broken_file_is_an_error_that_names_it) {
    make_file("demo/v2", "model.onnx", "this is no model");
    cr_assert_eq(inspect_model(temp_dir_at("demo"), NULL, stderr, &error), WEIR_INVALID);
    cr_assert_not_null(strstr(error.text, "model.onnx"), "%s", error.text);
}
