#include "engine/model/manifest.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

static struct weir_error error;

/* A sealed version of two files, in v1. */
static void make_version(void) {
    temp_dir_enter();
    shell("mkdir -p v1/samples; printf 'the model' >v1/model.onnx; printf sample >v1/samples/x.npy");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_OK, "%s", error.text);
}

/* How both looks end: with the status and text that the sizes tell, or if those are right with what the hashes tell. */
static void assert_sizes(enum weir_status status, const char *text) {
    bool present = false;
    cr_assert_eq(manifest_sizes("v1", &present, &error), status, "%s", error.text);
    if (status != WEIR_OK)
        cr_assert_str_eq(error.text, text);
    else
        cr_assert(present);
}

static void assert_verify(enum weir_status status, const char *text) {
    bool present = false;
    cr_assert_eq(manifest_verify("v1", NULL, &present, &error), status, "%s", error.text);
    if (status != WEIR_OK)
        cr_assert_str_eq(error.text, text);
    else
        cr_assert(present);
}

static void assert_both(enum weir_status status, const char *text) {
    assert_sizes(status, text);
    assert_verify(status, text);
}

TestSuite(manifest, .init = make_version, .fini = temp_dir_remove);

Test(manifest, a_sealed_version_is_whole_and_sha256sum_agrees) {
    assert_both(WEIR_OK, "");
    shell("cd v1; sha256sum --quiet --strict -c manifest.sha256");
    shell("test \"$(head -n 3 v1/manifest.sha256 | tr '\\n' ,)\" = "
          "'# weir manifest 1,# size 9 model.onnx,# size 6 samples/x.npy,'");
    shell("test \"$(ls -A v1)\" = \"$(printf 'manifest.sha256\\nmodel.onnx\\nsamples')\"");
}

Test(manifest, a_version_without_one_is_not_looked_at) {
    bool present = true;
    shell("rm v1/manifest.sha256 v1/samples/x.npy");
    cr_assert_eq(manifest_sizes("v1", &present, &error), WEIR_OK, "%s", error.text);
    cr_assert_not(present);
    present = true;
    cr_assert_eq(manifest_verify("v1", NULL, &present, &error), WEIR_OK, "%s", error.text);
    cr_assert_not(present);
}

Test(manifest, a_half_copied_version_is_incomplete) {
    shell("truncate -s 2 v1/samples/x.npy");
    assert_both(WEIR_NOT_READY, "incomplete: samples/x.npy has 2 of 6 bytes");
    shell("rm v1/samples/x.npy");
    assert_both(WEIR_NOT_READY, "incomplete: samples/x.npy is missing");
    shell("rm -r v1/samples");
    assert_both(WEIR_NOT_READY, "incomplete: samples/x.npy is missing");
    shell("truncate -s -1 v1/manifest.sha256");
    assert_both(WEIR_NOT_READY, "incomplete: manifest.sha256 ends within a line");
    shell(": >v1/manifest.sha256");
    assert_both(WEIR_NOT_READY, "incomplete: manifest.sha256 names no files");
}

Test(manifest, another_content_of_the_same_size_is_found_by_its_hash) {
    shell("printf 'the modem' >v1/model.onnx");
    assert_sizes(WEIR_OK, "");
    assert_verify(WEIR_NOT_READY, "incomplete: model.onnx has another SHA-256 than manifest.sha256 says");
}

Test(manifest, files_that_it_does_not_name_are_refused_but_for_readmes_and_hidden_ones) {
    shell("touch v1/README v1/samples/README.md v1/.hidden; mkdir v1/.git; touch v1/.git/x");
    assert_both(WEIR_OK, "");
    shell("touch v1/samples/y.npy");
    assert_sizes(WEIR_OK, "");
    assert_verify(WEIR_INVALID, "samples/y.npy is not in manifest.sha256");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_OK, "%s", error.text);
    assert_both(WEIR_OK, "");
    shell("! grep -q README v1/manifest.sha256");
}

Test(manifest, what_sha256sum_wrote_is_enough) {
    shell("cd v1; sha256sum model.onnx samples/x.npy >manifest.sha256");
    assert_both(WEIR_OK, "");
    shell("truncate -s 2 v1/samples/x.npy");
    assert_sizes(WEIR_OK, "");
    assert_verify(WEIR_NOT_READY, "incomplete: samples/x.npy has another SHA-256 than manifest.sha256 says");
}

Test(manifest, paths_stay_beneath_the_directory) {
    shell("printf sample >outside; ln -sf ../../outside v1/samples/x.npy");
    assert_both(WEIR_INVALID, "samples/x.npy leads out of the version's directory");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_INVALID);
    cr_assert_str_eq(error.text, "samples/x.npy leads out of the version's directory");
    shell("ln -sf \"$PWD/v1/model.onnx\" v1/samples/x.npy");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_INVALID);
    shell("rm -r v1/samples; mkdir elsewhere; printf sample >elsewhere/x.npy; ln -s ../elsewhere v1/samples");
    assert_both(WEIR_INVALID, "samples/x.npy leads out of the version's directory");
    shell("rm v1/samples; mkdir -p v1/samples/x.npy");
    assert_both(WEIR_INVALID, "samples/x.npy is not a regular file");
}

Test(manifest, links_within_the_directory_are_followed) {
    shell(
        "mkdir v1/..1; mv v1/model.onnx v1/samples v1/..1; ln -s ..1 v1/..data; ln -s ..data/model.onnx v1/model.onnx;"
        "ln -s ..data/samples v1/samples");
    assert_both(WEIR_OK, "");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_OK, "%s", error.text);
    shell("grep -q '# size 6 samples/x.npy' v1/manifest.sha256");
}

Test(manifest, names_that_cannot_stand_in_a_line_are_not_sealed) {
    shell("touch 'v1/a\\b'");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_INVALID);
    cr_assert_str_eq(error.text, "a\\b holds a backslash or a control character");
    assert_sizes(WEIR_OK, "");
}

Test(manifest, an_empty_directory_is_not_sealed) {
    shell("rm -r v1; mkdir v1; touch v1/README");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_INVALID);
    cr_assert_str_eq(error.text, "there are no files to seal");
}

Test(manifest, no_directory_is_not_found) {
    bool present;
    cr_assert_eq(manifest_seal("v2", NULL, &error), WEIR_NOT_FOUND);
    cr_assert_eq(manifest_sizes("v2", &present, &error), WEIR_NOT_FOUND);
    cr_assert_eq(manifest_verify("v1/model.onnx", NULL, &present, &error), WEIR_NOT_FOUND);
}

Test(manifest, one_that_cannot_be_written_leaves_the_old_one_and_nothing_else) {
    shell("rm v1/manifest.sha256; mkdir v1/manifest.sha256; touch v1/manifest.sha256/.x");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_IO, "%s", error.text);
    cr_assert_eq(strncmp(error.text, "manifest.sha256 cannot be written: ", 35), 0, "%s", error.text);
    shell("test \"$(ls -A v1)\" = \"$(printf 'manifest.sha256\\nmodel.onnx\\nsamples')\"");
}

Test(manifest, one_that_is_too_large_is_refused) {
    shell("truncate -s 5M v1/manifest.sha256");
    assert_both(WEIR_TOO_LARGE, "manifest.sha256: 5242880 bytes, the limit is 4194304");
}

static size_t read_bytes;

static bool count_pieces(void *context, size_t bytes) {
    int *left = context;
    read_bytes += bytes;
    return --*left > 0;
}

Test(manifest, whoever_sets_the_pace_sees_each_piece_and_can_stop) {
    int pieces = 100;
    bool present;
    struct file_hash_pace pace = {.context = &pieces, .go_on = count_pieces};
    shell("truncate -s 2500000 v1/model.onnx");
    cr_assert_eq(manifest_seal("v1", &pace, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(pieces, 96);
    cr_assert_eq(read_bytes, 2500006);
    pieces = 2;
    cr_assert_eq(manifest_verify("v1", &pace, &present, &error), WEIR_CANCELLED);
    pieces = 2;
    cr_assert_eq(manifest_seal("v1", &pace, &error), WEIR_CANCELLED);
    assert_both(WEIR_OK, "");
}

Test(manifest, no_descriptor_stays_open) {
    int before = dup(0);
    close(before);
    shell("printf 'the modem' >v1/model.onnx");
    assert_verify(WEIR_NOT_READY, "incomplete: model.onnx has another SHA-256 than manifest.sha256 says");
    shell("rm v1/model.onnx");
    assert_both(WEIR_NOT_READY, "incomplete: model.onnx is missing");
    cr_assert_eq(manifest_seal("v1", NULL, &error), WEIR_OK, "%s", error.text);
    int after = dup(0);
    close(after);
    cr_assert_eq(after, before);
}
