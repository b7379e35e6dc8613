#include "server/observe/access_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/observe/access_entry.h"
#include "tests/fakes/temp_dir.h"

static char path[64], other[64];
static struct access_file file;
static struct weir_error err;

static void setup(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    temp_dir_make();
    snprintf(path, sizeof path, "%s/log", temp_dir);
    snprintf(other, sizeof other, "%s/log.1", temp_dir);
}

static void teardown(void) {
    temp_dir_remove();
}

TestSuite(access_file, .init = setup, .fini = teardown);

static bool add(const char *text) {
    char *room = access_file_room(&file);
    if (room) {
        strcpy(room, text);
        access_file_add(&file, strlen(text));
    }
    return room != NULL;
}

static const char *content(const char *of) {
    static char bytes[300000];
    int fd = open(of, O_RDONLY | O_NONBLOCK);
    ssize_t size, used = 0;
    while ((size = read(fd, bytes + used, sizeof bytes - 1 - (size_t)used)) > 0)
        used += size;
    bytes[used] = 0;
    close(fd);
    return bytes;
}

static void limit_size(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(access_file, lines_are_appended_and_counted) {
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(access_file_open(&file, path, &err), WEIR_OK);
        cr_assert(add("one\n") && add("two\n"));
        cr_assert_eq(access_file_flush(&file), ACCESS_FILE_DONE);
        cr_assert_eq(file.lines, 2);
        access_file_close(&file);
    }
    cr_assert_str_eq(content(path), "one\ntwo\none\ntwo\n");
}

Test(access_file, a_full_buffer_has_no_room_until_it_is_flushed) {
    int count = 0;
    cr_assert_eq(access_file_open(&file, path, &err), WEIR_OK);
    while (add("0123456789012345678901234567890123456789\n"))
        count++;
    cr_assert_gt(count, 1000);
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_DONE);
    cr_assert(add("more\n"));
    cr_assert_eq(file.lines, count);
    access_file_drop(&file);
    cr_assert_eq(file.losses, 1);
    access_file_close(&file);
}

Test(access_file, what_cannot_be_opened_is_named) {
    cr_assert_eq(access_file_open(&file, temp_dir, &err), WEIR_IO);
    cr_assert_not_null(strstr(err.text, "Is a directory"), "%s", err.text);
    cr_assert_eq(access_file_open(&file, "/nowhere/log", &err), WEIR_IO);
    cr_assert_not_null(strstr(err.text, "/nowhere/log: No such file"), "%s", err.text);
}

Test(access_file, a_renamed_file_is_opened_anew_and_no_line_is_lost) {
    cr_assert_eq(access_file_open(&file, path, &err), WEIR_OK);
    cr_assert(add("old\n"));
    cr_assert_eq(rename(path, other), 0);
    cr_assert_eq(access_file_reopen(&file, &err), WEIR_OK);
    cr_assert(add("new\n"));
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_DONE);
    cr_assert_str_eq(content(other), "old\n");
    cr_assert_str_eq(content(path), "new\n");
    access_file_close(&file);
}

Test(access_file, a_file_that_cannot_be_opened_anew_goes_on_as_it_was) {
    cr_assert_eq(access_file_open(&file, path, &err), WEIR_OK);
    cr_assert_eq(rename(path, other), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(access_file_reopen(&file, &err), WEIR_IO);
    cr_assert(add("still\n"));
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_DONE);
    cr_assert_str_eq(content(other), "still\n");
    access_file_close(&file);
    rmdir(path);
}

Test(access_file, a_full_disk_loses_lines_and_tears_none) {
    cr_assert_eq(access_file_open(&file, path, &err), WEIR_OK);
    limit_size(10);
    cr_assert(add("first\n") && add("second\n") && add("third\n") && add("fourth\n"));
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_FAILED);
    cr_assert_eq(file.error, EFBIG);
    cr_assert(file.lines == 1 && file.losses == 2, "%d %d", (int)file.lines, (int)file.losses);
    cr_assert_str_eq(content(path), "first\nseco");
    cr_assert(add("fifth\n"));
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_FAILED);
    cr_assert_eq(file.losses, 3);
    limit_size(1000);
    cr_assert(add("sixth\n"));
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_DONE);
    cr_assert_str_eq(content(path), "first\nsecond\nsixth\n");
    cr_assert(file.lines == 3 && file.losses == 3 && file.error == 0);
    access_file_close(&file);
}

Test(access_file, the_rest_of_a_torn_line_does_not_go_to_another_file) {
    cr_assert_eq(access_file_open(&file, path, &err), WEIR_OK);
    limit_size(3);
    cr_assert(add("first\n"));
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_FAILED);
    cr_assert_eq(rename(path, other), 0);
    cr_assert_eq(access_file_reopen(&file, &err), WEIR_OK);
    limit_size(1000);
    cr_assert(add("next\n"));
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_DONE);
    cr_assert_str_eq(content(path), "next\n");
    cr_assert(file.lines == 1 && file.losses == 1);
    access_file_close(&file);
}

Test(access_file, dev_full_fails_every_line) {
    cr_assert_eq(access_file_open(&file, "/dev/full", &err), WEIR_OK);
    cr_assert(add("one\n") && add("two\n"));
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_FAILED);
    cr_assert(file.error == ENOSPC && file.losses == 2 && file.lines == 0);
    access_file_close(&file);
}

Test(access_file, a_fifo_that_nobody_reads_is_full_and_goes_on_when_somebody_does) {
    int written = 0, rounds = 0;
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_eq(access_file_open(&file, path, &err), WEIR_OK);
    enum access_file_state state = ACCESS_FILE_DONE;
    while (state == ACCESS_FILE_DONE && rounds++ < 10) {
        while (add("a line of a log that nobody reads, of which a pipe holds no more than it does\n"))
            written++;
        state = access_file_flush(&file);
    }
    cr_assert_eq(state, ACCESS_FILE_BUSY);
    cr_assert_eq(file.losses, 0);
    size_t seen = 0;
    for (int i = 0; i < 100 && state == ACCESS_FILE_BUSY; i++) {
        seen += strlen(content(path));
        state = access_file_flush(&file);
    }
    seen += strlen(content(path));
    cr_assert_eq(state, ACCESS_FILE_DONE);
    cr_assert_eq(seen, (size_t)written * 78);
    cr_assert_eq(file.lines, written);
    access_file_close(&file);
}

Test(access_file, standard_output_stays_open) {
    int saved = dup(STDOUT_FILENO), fd = open(path, O_CREAT | O_WRONLY, 0600);
    dup2(fd, STDOUT_FILENO);
    cr_assert_eq(access_file_open(&file, "-", &err), WEIR_OK);
    cr_assert(add("out\n"));
    cr_assert_eq(access_file_reopen(&file, &err), WEIR_OK);
    cr_assert_eq(access_file_flush(&file), ACCESS_FILE_DONE);
    access_file_close(&file);
    cr_assert_eq(fcntl(STDOUT_FILENO, F_GETFD), 0);
    dup2(saved, STDOUT_FILENO);
    cr_assert_str_eq(content(path), "out\n");
}
