#include "engine/catalog/content.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

static struct catalog catalog = {.changing = PTHREAD_MUTEX_INITIALIZER};
static struct catalog_model model;

static void setup(void) {
    temp_dir_make();
    cr_assert_eq(mkdir(temp_dir_at("1"), 0755), 0);
    cr_assert_eq(mkdir(temp_dir_at("2"), 0755), 0);
}

TestSuite(content, .init = setup, .fini = temp_dir_remove);

static void put(const char *relative, const char *bytes, size_t size) {
    int file = open(temp_dir_at(relative), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, bytes, size), (ssize_t)size);
    cr_assert_eq(close(file), 0);
}

/* What the version's files hold; it is known. */
static struct entry of(const char *relative) {
    static char path[4096];
    snprintf(path, sizeof path, "%s", temp_dir_at(relative));
    struct entry entry = {.path = path};
    content_read(&catalog, &model, &entry);
    cr_assert_gt(entry.held.files, 0, "%s", relative);
    return entry;
}

static bool same(const char *a, const char *b) {
    struct entry one = of(a), other = of(b);
    cr_assert_not(snapshot_equal(&one.held, &other.held), "they are other files");
    return memcmp(one.content, other.content, sizeof one.content) == 0;
}

Test(content, copies_hold_the_same_and_a_changed_byte_something_else) {
    enum { SIZE = 2500003 };
    char *bytes = calloc(1, SIZE);
    cr_assert_not_null(bytes);
    put("1/model.onnx", bytes, SIZE);
    put("1/weights", "abc", 3);
    put("2/weights", "abc", 3);
    put("2/model.onnx", bytes, SIZE);
    cr_assert(same("1/model.onnx", "2/model.onnx"));
    for (size_t at = 0; at < SIZE; at += SIZE / 5) {
        bytes[at] = 1;
        put("2/model.onnx", bytes, SIZE);
        cr_assert_not(same("1/model.onnx", "2/model.onnx"), "byte %zu", at);
        bytes[at] = 0;
    }
    put("2/model.onnx", bytes, SIZE - 1);
    cr_assert_not(same("1/model.onnx", "2/model.onnx"), "a byte is missing");
    free(bytes);
}

Test(content, every_file_counts_with_its_name) {
    put("1/model.onnx", "x", 1);
    put("2/model.onnx", "x", 1);
    put("1/weights", "abc", 3);
    put("2/weight", "abc", 3);
    cr_assert_not(same("1/model.onnx", "2/model.onnx"));
    put("2/weights", "abd", 3);
    cr_assert_eq(unlink(temp_dir_at("2/weight")), 0);
    cr_assert_not(same("1/model.onnx", "2/model.onnx"));
    put("2/weights", "abc", 3);
    cr_assert(same("1/model.onnx", "2/model.onnx"));
}

Test(content, of_a_loose_file_what_lies_beside_it_does_not_count) {
    put("1/model.onnx", "x", 1);
    put("2/model.onnx", "x", 1);
    put("2/weights", "abc", 3);
    cr_assert_not(same("1/model.onnx", "2/model.onnx"));
    model.is_loose = true;
    cr_assert(same("1/model.onnx", "2/model.onnx"));
    put("2/other.onnx", "x", 1);
    cr_assert_not(same("1/model.onnx", "2/other.onnx"), "another name");
}

Test(content, what_cannot_be_read_stays_unknown) {
    struct entry entry = {.path = "/nowhere/model.onnx"};
    content_read(&catalog, &model, &entry);
    cr_assert_eq(entry.held.files, 0);
}
