#include "engine/file_read.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

static struct weir_error err;
static char bytes[16];
static int file;

static void make(void) {
    temp_dir_make();
    temp_dir_write("file", "0123456789");
    file = open(temp_dir_at("file"), O_RDONLY);
    cr_assert_geq(file, 0);
}

static void destroy(void) {
    close(file);
    temp_dir_remove();
}

TestSuite(file_read, .init = make, .fini = destroy);

Test(file_read, exactly_what_was_asked_for_is_read) {
    cr_assert_eq(file_read_exactly(file, bytes, 10, 0, &err), WEIR_OK, "%s", err.text);
    cr_assert_str_eq(bytes, "0123456789");
    cr_assert_eq(file_read_exactly(file, bytes, 3, 4, &err), WEIR_OK, "%s", err.text);
    cr_assert_str_eq(bytes, "4563456789");
    cr_assert_eq(file_read_exactly(file, bytes, 0, 10, &err), WEIR_OK, "%s", err.text);
}

Test(file_read, a_file_that_ends_before_is_an_error) {
    cr_assert_eq(file_read_exactly(file, bytes, 11, 0, &err), WEIR_IO);
    cr_assert_str_eq(err.text, "it became shorter while it was read");
    cr_assert_eq(file_read_exactly(file, bytes, 1, 10, &err), WEIR_IO);
}

Test(file_read, what_the_system_says_is_the_reason) {
    cr_assert_eq(file_read_exactly(-1, bytes, 1, 0, &err), WEIR_IO);
    cr_assert_str_eq(err.text, "Bad file descriptor");
}
