#include "engine/seal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[64], text[600];
static struct weir_error error;
static uint64_t bytes;

static void make_root(void) {
    strcpy(root, "/tmp/weir-seal-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert_eq(system(command), 0);
}

static void make_file(const char *name, const char *content) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(content, file);
    fclose(file);
}

TestSuite(seal, .init = make_root, .fini = remove_root);

Test(seal, what_was_sealed_is_found_whole) {
    make_file("model.onnx", "12345");
    make_file("labels.txt", "678");
    cr_assert_str_eq(seal_remark(root, text, sizeof text), "");
    cr_assert_eq(seal_write(root, &bytes, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(bytes, 8);
    bytes = 0;
    cr_assert_eq(seal_check(root, &bytes, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(bytes, 8);
    cr_assert_str_eq(seal_remark(root, text, sizeof text), " (sealed)");
}

Test(seal, a_file_that_is_shorter_is_incomplete) {
    make_file("model.onnx", "12345");
    cr_assert_eq(seal_write(root, &bytes, &error), WEIR_OK);
    make_file("model.onnx", "123");
    cr_assert_eq(seal_check(root, &bytes, &error), WEIR_NOT_READY);
    cr_assert_not_null(strstr(error.text, root));
    cr_assert_str_eq(seal_remark(root, text, sizeof text), " (incomplete: model.onnx has 3 of 5 bytes)");
}

Test(seal, a_changed_byte_is_seen_by_the_hash_alone) {
    make_file("model.onnx", "12345");
    cr_assert_eq(seal_write(root, &bytes, &error), WEIR_OK);
    make_file("model.onnx", "12346");
    cr_assert_str_eq(seal_remark(root, text, sizeof text), " (sealed)");
    cr_assert_eq(seal_check(root, &bytes, &error), WEIR_NOT_READY);
    cr_assert_not_null(strstr(error.text, "SHA-256"));
}

Test(seal, only_a_version_can_be_sealed) {
    cr_assert_eq(seal_write(root, &bytes, &error), WEIR_INVALID);
    cr_assert_not_null(strstr(error.text, "no model.onnx"));
    cr_assert_eq(seal_check(root, &bytes, &error), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "not sealed"));
    strcat(root, "/nothing");
    cr_assert_eq(seal_write(root, &bytes, &error), WEIR_NOT_FOUND);
    cr_assert_eq(seal_check(root, &bytes, &error), WEIR_NOT_FOUND);
    root[strlen(root) - strlen("/nothing")] = 0;
}
