#include "engine/model/manifest_text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "00010203040506070809101112131415161718192021222324252627282930FF"

static struct manifest_text manifest;
static struct weir_error error;

/* Parses from a block of the text's size, so that a step past it is seen. */
static enum weir_status parse_bytes(const char *text, size_t size) {
    char *block = malloc(size + (size == 0));
    memcpy(block, text, size);
    manifest = (struct manifest_text){.count = 0};
    enum weir_status status = manifest_text_parse(block, size, &manifest, &error);
    free(block);
    return status;
}

static void assert_refused(const char *text, enum weir_status expected, const char *words) {
    enum weir_status status = parse_bytes(text, strlen(text));
    manifest_text_release(&manifest);
    cr_assert_eq(status, expected, "%s: %d %s", text, status, error.text);
    cr_assert_not_null(strstr(error.text, words), "%s: %s", text, error.text);
}

Test(manifest_text, sizes_and_hashes_are_joined_in_order_of_the_paths) {
    const char text[] = "# weir manifest 1\n# size 12 model.onnx\n# size 0 a/b c.npy\n# a comment\n\n" HEX_A
                        "  model.onnx\n" HEX_B " *a/b c.npy\n";
    cr_assert_eq(parse_bytes(text, sizeof text - 1), WEIR_OK, "%s", error.text);
    cr_assert(manifest.has_sizes);
    cr_assert_eq(manifest.count, 2);
    cr_assert_str_eq(manifest.entries[0].path, "a/b c.npy");
    cr_assert_eq(manifest.entries[0].size, 0);
    cr_assert_eq(memcmp(manifest.entries[0].hash, "\0\1\2\3", 4), 0);
    cr_assert_eq(manifest.entries[0].hash[31], 0xFF);
    cr_assert_str_eq(manifest.entries[1].path, "model.onnx");
    cr_assert_eq(manifest.entries[1].size, 12);
    cr_assert(manifest_text_names(&manifest, "model.onnx"));
    cr_assert_not(manifest_text_names(&manifest, "model"));
    manifest_text_release(&manifest);
}

Test(manifest_text, what_sha256sum_writes_is_read_without_sizes) {
    const char text[] = "# size 7 model.onnx is a comment here\n" HEX_A "  model.onnx\n";
    cr_assert_eq(parse_bytes(text, sizeof text - 1), WEIR_OK, "%s", error.text);
    cr_assert_not(manifest.has_sizes);
    cr_assert_eq(manifest.count, 1);
    cr_assert_not(manifest.entries[0].has_size);
    manifest_text_release(&manifest);
}

Test(manifest_text, a_text_that_ends_anywhere_is_not_ready) {
    const char text[] = "# weir manifest 1\n# size 12 model.onnx\n# size 3 x\n" HEX_A "  model.onnx\n" HEX_B "  x\n";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        cr_assert_eq(parse_bytes(text, size), WEIR_NOT_READY, "%zu bytes: %s", size, error.text);
        cr_assert_eq(strncmp(error.text, "incomplete: ", 12), 0, "%s", error.text);
        manifest_text_release(&manifest);
    }
}

Test(manifest_text, faulty_lines_are_refused_with_their_number) {
    assert_refused("# weir manifest 2\n", WEIR_UNSUPPORTED, "another form: # weir manifest 2");
    assert_refused("# weir manifest 1\n# size x model\n", WEIR_INVALID, "line 2 is not \"# size BYTES PATH\"");
    assert_refused("# weir manifest 1\n# size 1\n", WEIR_INVALID, "line 2");
    assert_refused("# weir manifest 1\n# size 1 \n", WEIR_INVALID, "line 2");
    assert_refused("# weir manifest 1\n# size 99999999999999999999 x\n", WEIR_INVALID, "too large a size");
    assert_refused("hello\n", WEIR_INVALID, "line 1 is not \"SHA-256  PATH\"");
    assert_refused(HEX_A "  \n", WEIR_INVALID, "line 1");
    assert_refused(HEX_A " model.onnx\n", WEIR_INVALID, "line 1");
    assert_refused("g" HEX_A "  model.onnx\n", WEIR_INVALID, "line 1");
    assert_refused("\\" HEX_A "  model\\\\onnx\n", WEIR_INVALID, "line 1");
    assert_refused(HEX_A "  x\n" HEX_B "  x\n", WEIR_INVALID, "names x twice");
    assert_refused("# weir manifest 1\n# size 1 x\n# size 1 x\n" HEX_A "  x\n", WEIR_INVALID, "names x twice");
    assert_refused("# weir manifest 1\n# size 1 x\n" HEX_A "  x\n" HEX_A "  y\n", WEIR_INVALID, "no size of y");
    assert_refused("# weir manifest 1\n# size 1 x\n# size 2 y\n" HEX_A "  x\n", WEIR_NOT_READY, "no hash of y");
}

Test(manifest_text, paths_must_lie_beneath) {
    static const char *const faulty[] = {"",    "/etc/passwd", "../x", "a/../x", "a/..", "..",  ".",
                                         "./x", "a//x",        "a/",   "a\\x",   "a\nx", "a\tx"};
    static const char *const right[] = {"x", "a/b/c", "..data/x", ".x", "a/...", "a b", "\xC3\xA9"};
    for (size_t i = 0; i < sizeof faulty / sizeof faulty[0]; i++)
        cr_assert_not_null(manifest_text_path_fault(faulty[i], strlen(faulty[i])), "%s", faulty[i]);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++)
        cr_assert_null(manifest_text_path_fault(right[i], strlen(right[i])), "%s", right[i]);
    assert_refused(HEX_A "  ../x\n", WEIR_INVALID, "line 1 is not a path beneath");
}

Test(manifest_text, more_entries_than_a_version_may_have_files_are_refused) {
    struct manifest_text many = {.count = 0};
    size_t count = 0;
    while (manifest_text_add(&many, "x", 1))
        count++;
    cr_assert_eq(count, 8192);
    manifest_text_release(&many);
}

Test(manifest_text, what_is_written_is_read_again) {
    struct manifest_text one = {.has_sizes = true};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    manifest_text_add(&one, "samples/x.npy", 13)->size = 345;
    struct manifest_entry *model = manifest_text_add(&one, "model.onnx", 10);
    model->size = UINT64_MAX;
    memset(model->hash, 0xAA, sizeof model->hash);
    manifest_text_sort(&one);
    cr_assert(manifest_text_write(&one, out));
    fclose(out);
    cr_assert_str_eq(text,
                     "# weir manifest 1\n# size 18446744073709551615 model.onnx\n# size 345 samples/x.npy\n" HEX_A
                     "  model.onnx\n0000000000000000000000000000000000000000000000000000000000000000  samples/x.npy\n");
    cr_assert_eq(parse_bytes(text, size), WEIR_OK, "%s", error.text);
    cr_assert_eq(manifest.count, 2);
    cr_assert_eq(manifest.entries[0].size, UINT64_MAX);
    manifest_text_release(&manifest);
    manifest_text_release(&one);
    free(text);
}
