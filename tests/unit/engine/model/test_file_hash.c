#include "engine/model/file_hash.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

TestSuite(file_hash, .init = temp_dir_make, .fini = temp_dir_remove);

static int pieces;

static bool go_on(void *context, size_t bytes) {
    (void)bytes;
    return ++pieces < *(const int *)context;
}

static enum weir_status read_file(size_t size, const struct file_hash_pace *pace, char hex[65], uint64_t *bytes) {
    static char text[3 << 20];
    struct file_hash hash;
    struct weir_error err;
    unsigned char out[FILE_HASH_BYTES];
    memset(text, 'a', sizeof text);
    FILE *file = fopen(temp_dir_at("file"), "w");
    cr_assert(file && fwrite(text, 1, size, file) == size && fclose(file) == 0);
    int opened = open(temp_dir_at("file"), O_RDONLY);
    cr_assert_eq(file_hash_open(&hash, pace, &err), WEIR_OK);
    enum weir_status status = file_hash_read(&hash, opened, out, bytes, &err);
    file_hash_close(&hash);
    close(opened);
    for (int i = 0; i < FILE_HASH_BYTES; i++)
        sprintf(hex + 2 * i, "%02x", out[i]);
    return status;
}

/* Source of the hashes: sha256sum of GNU coreutils. */
Test(file_hash, hashes_are_those_of_sha256sum) {
    char hex[65];
    uint64_t size;
    cr_assert_eq(read_file(0, NULL, hex, &size), WEIR_OK);
    cr_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    cr_assert_eq(size, 0);
    cr_assert_eq(read_file(3, NULL, hex, &size), WEIR_OK);
    cr_assert_str_eq(hex, "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0");
    cr_assert_eq(size, 3);
}

Test(file_hash, a_file_of_several_pieces_can_be_given_up) {
    int most = 2;
    char hex[65];
    uint64_t size;
    const struct file_hash_pace pace = {.context = &most, .go_on = go_on};
    cr_assert_eq(read_file(3 << 20, &pace, hex, &size), WEIR_CANCELLED);
    cr_assert_eq(pieces, 2);
}
