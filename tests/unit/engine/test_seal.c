#include "engine/seal.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/fakes/temp_dir.h"

static char text[600];
static struct weir_error error;
static uint64_t bytes;

TestSuite(seal, .init = temp_dir_make, .fini = temp_dir_remove);

Test(seal, what_was_sealed_is_found_whole) {
    temp_dir_write("model.onnx", "12345");
    temp_dir_write("labels.txt", "678");
    cr_assert_str_eq(seal_remark(temp_dir, text, sizeof text), "");
    cr_assert_eq(seal_write(temp_dir, &bytes, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(bytes, 8);
    bytes = 0;
    cr_assert_eq(seal_check(temp_dir, &bytes, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(bytes, 8);
    cr_assert_str_eq(seal_remark(temp_dir, text, sizeof text), " (sealed)");
}

Test(seal, a_file_that_is_shorter_is_incomplete) {
    temp_dir_write("model.onnx", "12345");
    cr_assert_eq(seal_write(temp_dir, &bytes, &error), WEIR_OK);
    temp_dir_write("model.onnx", "123");
    cr_assert_eq(seal_check(temp_dir, &bytes, &error), WEIR_NOT_READY);
    cr_assert_not_null(strstr(error.text, temp_dir));
    cr_assert_str_eq(seal_remark(temp_dir, text, sizeof text), " (incomplete: model.onnx has 3 of 5 bytes)");
}

Test(seal, a_changed_byte_is_seen_by_the_hash_alone) {
    temp_dir_write("model.onnx", "12345");
    cr_assert_eq(seal_write(temp_dir, &bytes, &error), WEIR_OK);
    temp_dir_write("model.onnx", "12346");
    cr_assert_str_eq(seal_remark(temp_dir, text, sizeof text), " (sealed)");
    cr_assert_eq(seal_check(temp_dir, &bytes, &error), WEIR_NOT_READY);
    cr_assert_not_null(strstr(error.text, "SHA-256"));
}

Test(seal, only_a_version_can_be_sealed) {
    cr_assert_eq(seal_write(temp_dir, &bytes, &error), WEIR_INVALID);
    cr_assert_not_null(strstr(error.text, "no model.onnx"));
    cr_assert_eq(seal_check(temp_dir, &bytes, &error), WEIR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "not sealed"));
    cr_assert_eq(seal_write(temp_dir_at("nothing"), &bytes, &error), WEIR_NOT_FOUND);
    cr_assert_eq(seal_check(temp_dir_at("nothing"), &bytes, &error), WEIR_NOT_FOUND);
}
