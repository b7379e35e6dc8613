#include "server/observe/access_log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

static char path[64], other[64];
static struct access_log *the_log;
static int reader, lines_read;
static struct weir_error err;

static void setup(void) {
    signal(SIGPIPE, SIG_IGN);
    temp_dir_make();
    snprintf(path, sizeof path, "%s/log", temp_dir);
    snprintf(other, sizeof other, "%s/log.1", temp_dir);
}

static void teardown(void) {
    access_log_close(the_log);
    temp_dir_remove();
}

TestSuite(access_log, .init = setup, .fini = teardown);

static void open_log(const char *where, int lanes, uint32_t percent) {
    struct access_log_options options = {.path = where, .lanes = lanes, .percent = percent};
    cr_assert_eq(access_log_open(&options, &the_log, &err), WEIR_OK);
}

/* One request whose version is `number`. Returns whether it had an entry. */
static bool request(struct access_lane *lane, int code, uint64_t number) {
    struct access_entry *entry = access_log_begin(lane);
    if (entry) {
        entry->model_size = (uint8_t)access_entry_copy(entry->model, sizeof entry->model, "m", 1);
        entry->version = number;
    }
    access_log_end(lane, entry, code);
    return entry != NULL;
}

/* The lines of a file; *ordered says whether their versions grow. */
static int count_lines(const char *of, bool *ordered) {
    FILE *file = fopen(of, "r");
    char line[ACCESS_LINE_BYTES + 2];
    int count = 0;
    long last = -1;
    *ordered = true;
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "\"version\":");
        long number = at ? atol(at + 10) : -1;
        *ordered = *ordered && number > last;
        last = number;
        count++;
    }
    if (file)
        fclose(file);
    return count;
}

static bool wait_until(bool (*is_so)(void)) {
    for (int i = 0; i < 2000; i++) {
        if (is_so())
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return false;
}

Test(access_log, lines_come_in_the_order_in_which_requests_end_and_none_is_lost) {
    enum { REQUESTS = 30000 };
    bool ordered;
    open_log(path, 1, 100);
    struct access_lane *lane = access_log_lane(the_log, 0);
    int with = 0;
    for (int i = 0; i < REQUESTS; i++)
        with += request(lane, 200, (uint64_t)i);
    access_log_stop(the_log);
    struct access_log_counts counts = access_log_counts(the_log);
    cr_assert_eq(count_lines(path, &ordered), with);
    cr_assert(ordered);
    cr_assert_eq(counts.lines, with);
    cr_assert_eq(counts.lines + counts.dropped, REQUESTS);
}

Test(access_log, entries_that_nobody_writes_run_out_and_are_counted) {
    cr_assert_eq(mkfifo(path, 0600), 0);
    open_log(path, 2, 100);
    uint64_t all = 0;
    while (access_log_counts(the_log).dropped < 100 && all < 200000) {
        request(access_log_lane(the_log, 0), 200, all++);
        if (all % 4096 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    cr_assert_eq(access_log_counts(the_log).dropped, 100);
    cr_assert_leq(all, ACCESS_LOG_ENTRIES + 3000);
    cr_assert(request(access_log_lane(the_log, 1), 200, 0), "another lane has its own");
    time_t before = time(NULL);
    access_log_stop(the_log);
    cr_assert_leq(time(NULL) - before, 2, "the end does not wait for a reader");
    struct access_log_counts counts = access_log_counts(the_log);
    cr_assert_leq(counts.lines + counts.dropped, all + 1);
}

Test(access_log, entries_come_back_and_know_nothing) {
    open_log("/dev/null", 1, 100);
    struct access_lane *lane = access_log_lane(the_log, 0);
    for (int i = 0; i < 5 * ACCESS_LOG_ENTRIES; i++) {
        struct access_entry *entry;
        while (!(entry = access_log_begin(lane)))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        cr_assert(entry->model_size == 0 && entry->rows == 0 && entry->times_ns[ACCESS_QUEUE] == -1 && !entry->method);
        entry->model_size = 1;
        entry->rows = 7;
        entry->times_ns[ACCESS_QUEUE] = 1;
        entry->method = "GET";
        access_log_end(lane, entry, 200);
    }
    cr_assert_eq(access_log_counts(the_log).dropped, 0);
}

Test(access_log, a_sample_has_its_part_and_every_500) {
    bool ordered;
    open_log(path, 1, 10);
    struct access_lane *lane = access_log_lane(the_log, 0);
    int all = 20000;
    for (int i = 0; i < all; i++)
        cr_assert(request(lane, i % 100 == 0 ? 500 : i % 2 ? 200 : 503, (uint64_t)i));
    access_log_stop(the_log);
    int lines = count_lines(path, &ordered);
    cr_assert(lines > 1700 && lines < 2700, "%d", lines);
    cr_assert_eq(access_log_counts(the_log).dropped, 0);
}

Test(access_log, nothing_is_sampled_at_0_and_all_at_100_from_the_next_request_on) {
    bool ordered;
    open_log(path, 1, 0);
    struct access_lane *lane = access_log_lane(the_log, 0);
    for (int i = 0; i < 1000; i++)
        request(lane, 200, (uint64_t)i);
    access_log_set(the_log, ACCESS_COMBINED, 100);
    cr_assert(access_log_has_fields(lane));
    access_log_set(the_log, ACCESS_JSON, 100);
    for (int i = 0; i < 1000; i++)
        request(lane, 200, (uint64_t)i);
    access_log_stop(the_log);
    cr_assert_eq(count_lines(path, &ordered), 1000);
}

static bool is_there(void) {
    return access(path, F_OK) == 0;
}

Test(access_log, a_renamed_file_is_made_anew) {
    bool ordered;
    open_log(path, 1, 100);
    struct access_lane *lane = access_log_lane(the_log, 0);
    for (int i = 0; i < 100; i++)
        request(lane, 200, (uint64_t)i);
    cr_assert_eq(rename(path, other), 0);
    access_log_reopen(the_log);
    cr_assert(wait_until(is_there));
    for (int i = 0; i < 100; i++)
        request(lane, 200, (uint64_t)i);
    access_log_stop(the_log);
    cr_assert_eq(count_lines(path, &ordered) + count_lines(other, &ordered), 200);
    cr_assert_geq(count_lines(path, &ordered), 100);
}

static bool is_some_written(void) {
    return access_log_counts(the_log).lines > 0;
}

/* Reads what there is; the lines of all that was read. */
static bool are_40_read(void) {
    char bytes[4096];
    ssize_t got = read(reader, bytes, sizeof bytes);
    for (ssize_t i = 0; i < got; i++)
        lines_read += bytes[i] == '\n';
    return lines_read == 40;
}

Test(access_log, a_reopen_that_writes_what_a_full_pipe_left_leaves_the_writer_at_rest) {
    cr_assert_eq(mkfifo(path, 0600), 0);
    reader = open(path, O_RDWR | O_NONBLOCK);
    cr_assert_geq(fcntl(reader, F_SETPIPE_SZ, 4096), 4096);
    open_log(path, 1, 100);
    for (int i = 0; i < 40; i++) /* more than the pipe takes, less than it takes twice */
        request(access_log_lane(the_log, 0), 200, (uint64_t)i);
    cr_assert(wait_until(is_some_written));
    access_log_reopen(the_log);
    cr_assert(wait_until(are_40_read));
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    clock_t before = clock();
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    cr_assert_lt(clock() - before, CLOCKS_PER_SEC / 10, "the writer sleeps");
    close(reader);
}

static bool are_all_dropped(void) {
    return access_log_counts(the_log).dropped == 1000;
}

Test(access_log, a_full_disk_costs_lines_alone) {
    open_log("/dev/full", 1, 100);
    for (int i = 0; i < 1000; i++)
        cr_assert(request(access_log_lane(the_log, 0), 200, (uint64_t)i));
    cr_assert(wait_until(are_all_dropped));
    cr_assert_eq(access_log_counts(the_log).lines, 0);
}

Test(access_log, a_file_that_cannot_be_opened_is_an_error) {
    struct access_log_options options = {.path = temp_dir, .lanes = 1, .percent = 100};
    cr_assert_eq(access_log_open(&options, &the_log, &err), WEIR_IO);
    the_log = NULL;
}

Test(access_log, a_client_is_remembered_until_its_descriptor_is_anothers) {
    bool known;
    open_log("/dev/null", 2, 100);
    struct access_lane *lane = access_log_lane(the_log, 0);
    access_log_peer(lane, 7, &known)->port = 4711;
    cr_assert_not(known);
    cr_assert_eq(access_log_peer(lane, 7, &known)->port, 4711);
    cr_assert(known);
    access_log_peer(access_log_lane(the_log, 1), 7, &known);
    cr_assert_not(known, "another loop's descriptors are others");
    access_log_forget(lane, 8);
    access_log_peer(lane, 7, &known);
    cr_assert(known);
    access_log_forget(lane, 7);
    access_log_peer(lane, 7, &known);
    cr_assert_not(known);
    for (int fd = 0; fd < 100000; fd++) { /* whatever shares a place with whom */
        access_log_peer(lane, fd, &known)->port = (uint16_t)fd;
        cr_assert_not(known && fd != 7, "%d", fd);
    }
}
