#include "engine/model/snapshot.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

static struct weir_error error;

static struct snapshot take(const char *path, bool whole_directory) {
    struct snapshot snapshot;
    cr_assert_eq(snapshot_take(path, whole_directory, &snapshot, &error), WEIR_OK, "%s", error.text);
    return snapshot;
}

/* A version with a sample; all files changed at the same second of the past. */
static void make_version(void) {
    shell("mkdir -p v1/samples; echo model >v1/model.onnx; echo sample >v1/samples/x.npy;"
          "find v1 -type f -exec touch -d '2024-01-01 00:00:00.5' {} +");
}

/* Does the command change the version's snapshot? */
static bool changes(const char *command) {
    struct snapshot before = take("v1/model.onnx", true);
    shell(command);
    struct snapshot after = take("v1/model.onnx", true);
    return !snapshot_equal(&before, &after);
}

TestSuite(snapshot, .init = temp_dir_enter, .fini = temp_dir_remove);

Test(snapshot, two_looks_at_the_same_files_are_equal) {
    make_version();
    cr_assert_not(changes("cat v1/model.onnx v1/samples/x.npy >/dev/null"));
    struct snapshot snapshot = take("v1/model.onnx", true);
    cr_assert_eq(snapshot.files, 2);
    cr_assert_eq(snapshot.bytes, 13);
}

Test(snapshot, every_change_of_a_file_is_seen) {
    make_version();
    cr_assert(changes("echo more >>v1/samples/x.npy; touch -d '2024-01-01 00:00:00.5' v1/samples/x.npy"));
    cr_assert(changes("touch -d '2024-01-01 00:00:00.500000001' v1/model.onnx"));
    cr_assert(changes("cp -p v1/model.onnx v1/new; mv v1/new v1/model.onnx"));
    cr_assert(changes("mv v1/samples/x.npy v1/samples/y.npy"));
    cr_assert(changes("mv v1/samples/y.npy v1/y.npy"));
    cr_assert(changes("touch v1/empty"));
    cr_assert(changes("rm v1/empty"));
    cr_assert_not(changes("touch v1/.hidden"));
}

Test(snapshot, two_files_that_swap_their_names_are_seen) {
    make_version();
    shell("echo elpmas >v1/samples/y.npy; touch -d '2024-01-01 00:00:00.5' v1/samples/y.npy");
    cr_assert(changes("cd v1/samples; mv x.npy z; mv y.npy x.npy; mv z y.npy"));
}

Test(snapshot, the_order_in_which_files_were_made_does_not_matter) {
    shell("mkdir a b; for i in $(seq 50); do echo $i >a/$i; done; touch a/model.onnx;"
          "for i in model.onnx $(seq 50 -1 1); do ln a/$i b/$i; done");
    struct snapshot a = take("a/model.onnx", true), b = take("b/model.onnx", true);
    cr_assert_eq(a.files, 51);
    cr_assert(snapshot_equal(&a, &b));
}

Test(snapshot, a_swapped_link_is_seen) {
    shell("mkdir -p v1/..1 v1/..2; for d in 1 2; do echo model >v1/..$d/model.onnx;"
          "touch -d 2024-01-01 v1/..$d/model.onnx; done; ln -s ..1 v1/..data; ln -s ..data/model.onnx v1/model.onnx");
    cr_assert_eq(take("v1/model.onnx", true).files, 1);
    cr_assert(changes("ln -s ..2 v1/..new; mv -T v1/..new v1/..data"));
    cr_assert(changes("rm v1/..data; ln -s ..1 v1/..data"));
}

Test(snapshot, without_the_directory_only_the_model_counts) {
    make_version();
    struct snapshot before = take("v1/model.onnx", false);
    cr_assert_eq(before.files, 1);
    cr_assert_eq(before.bytes, 6);
    shell("rm -r v1/samples");
    struct snapshot after = take("v1/model.onnx", false);
    cr_assert(snapshot_equal(&before, &after));
    shell("touch v1/model.onnx");
    after = take("v1/model.onnx", false);
    cr_assert_not(snapshot_equal(&before, &after));
}

Test(snapshot, a_path_without_a_directory_is_in_this_one) {
    make_version();
    cr_assert_eq(chdir("v1"), 0);
    cr_assert_eq(take("model.onnx", true).files, 2);
    cr_assert_eq(take("model.onnx", false).files, 1);
    cr_assert_eq(chdir("/"), 0);
}

Test(snapshot, what_is_not_there_is_not_found) {
    struct snapshot snapshot;
    make_version();
    for (int whole = 0; whole <= 1; whole++) {
        cr_assert_eq(snapshot_take("v1/other.onnx", whole, &snapshot, &error), WEIR_NOT_FOUND);
        cr_assert_eq(snapshot_take("v2/model.onnx", whole, &snapshot, &error), WEIR_NOT_FOUND);
        cr_assert_eq(snapshot_take("v1/samples", whole, &snapshot, &error), WEIR_NOT_FOUND);
    }
    shell("ln -s gone v1/samples/y.npy");
    cr_assert_eq(snapshot_take("v1/model.onnx", true, &snapshot, &error), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "samples/y.npy: vanished"), "%s", error.text);
}
