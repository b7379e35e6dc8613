#include "engine/model/rollout_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/clock.h"
#include "tests/fakes/temp_dir.h"

static char path[128];
static struct rollout_file file, again;
static struct weir_error err;

static void setup(void) {
    temp_dir_make();
    snprintf(path, sizeof path, "%s/rollout.json", temp_dir);
    struct rollout_state *state = rollout_file_model(&file, "digits");
    cr_assert(state);
    state->stable = 7;
}

static void teardown(void) {
    temp_dir_remove();
    rollout_file_release(&file);
    rollout_file_release(&again);
}

TestSuite(rollout_file, .init = setup, .fini = teardown);

static void write_state(void) {
    cr_assert_eq(rollout_file_write(temp_dir, &file, &err), WEIR_OK, "%s", err.text);
}

static void read_state(void) {
    rollout_file_release(&again);
    cr_assert_eq(rollout_file_read(temp_dir, &again, &err), WEIR_OK, "%s", err.text);
}

static void expect_bad(enum weir_status status, const char *words) {
    cr_assert_eq(rollout_file_read(temp_dir, &again, &err), status, "%s", err.text);
    cr_assert(strstr(err.text, path), "%s", err.text);
    cr_assert(strstr(err.text, words), "%s", err.text);
}

Test(rollout_file, without_a_file_nothing_was_chosen) {
    read_state();
    cr_assert_eq(again.model_count, 0);
}

Test(rollout_file, what_was_written_is_read_again) {
    write_state();
    read_state();
    cr_assert_eq(again.model_count, 1);
    cr_assert_eq(again.models[0].stable, 7);
    file.models[0].stable = 8;
    write_state();
    read_state();
    cr_assert_eq(again.models[0].stable, 8);
}

Test(rollout_file, a_broken_file_is_named_and_left_alone) {
    temp_dir_write("rollout.json", "");
    expect_bad(WEIR_INVALID, "it is empty");
    temp_dir_write("rollout.json", "{\"format\": 1, ");
    expect_bad(WEIR_INVALID, "broken JSON");
    temp_dir_write("rollout.json", "{\"format\": 2, \"models\": []}");
    expect_bad(WEIR_INVALID, "another release");
    cr_assert_eq(truncate(path, 65 << 20), 0);
    expect_bad(WEIR_INVALID, "larger than");
    cr_assert_eq(access(path, F_OK), 0);
}

Test(rollout_file, what_is_no_file_is_refused_without_waiting) {
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_bad(WEIR_INVALID, "not a plain file");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    expect_bad(WEIR_INVALID, "not a plain file");
}

Test(rollout_file, a_directory_that_is_not_there_is_an_error) {
    cr_assert_eq(rollout_file_read("/nowhere/at/all", &again, &err), WEIR_IO);
    cr_assert(strstr(err.text, "/nowhere/at/all/rollout.json") && strstr(err.text, strerror(ENOENT)), "%s", err.text);
    cr_assert_eq(rollout_file_write("/nowhere/at/all", &file, &err), WEIR_IO);
    cr_assert(strstr(err.text, strerror(ENOENT)), "%s", err.text);
}

Test(rollout_file, a_disk_that_is_full_leaves_the_old_state) {
    write_state();
    file.models[0].stable = 8;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, none = {.rlim_cur = 10};
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    enum weir_status status = rollout_file_write(temp_dir, &file, &err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    cr_assert_eq(status, WEIR_IO);
    cr_assert(strstr(err.text, "rollout.json.new: cannot write it: ") && strstr(err.text, strerror(EFBIG)), "%s",
              err.text);
    read_state();
    cr_assert_eq(again.models[0].stable, 7);
    cr_assert_neq(access(temp_dir_at("rollout.json.new"), F_OK), 0, "nothing is left behind");
}

Test(rollout_file, a_name_that_cannot_be_replaced_is_an_error) {
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(rollout_file_write(temp_dir, &file, &err), WEIR_IO);
    cr_assert(strstr(err.text, "cannot put it in place"), "%s", err.text);
}

Test(rollout_file, a_directory_that_may_not_be_written_is_an_error) {
    if (geteuid() == 0)
        return; /* root may */
    write_state();
    cr_assert_eq(chmod(temp_dir, 0500), 0);
    cr_assert_eq(rollout_file_write(temp_dir, &file, &err), WEIR_IO);
    cr_assert(strstr(err.text, strerror(EACCES)), "%s", err.text);
    read_state();
}

Test(rollout_file, a_link_that_was_left_there_is_not_followed) {
    const char *link = temp_dir_at("rollout.json.new"), *victim = temp_dir_at("victim");
    cr_assert_eq(symlink(victim, link), 0);
    write_state();
    read_state();
    cr_assert_neq(access(victim, F_OK), 0);
}

/* The writer's states: `stable` counts up, and the reason's length goes up and down with it. */
static void number_state(uint64_t number) {
    struct rollout_state *state = &file.models[0];
    state->stable = number;
    state->rejected_count = 0;
    for (uint64_t i = 0; i < number % 64; i++)
        rollout_file_reject(state, i + 1, "0123456789abcdef",
                            "a reason of some length, so that the file has several blocks");
}

static void write_until_killed(int told) {
    for (uint64_t number = 1;; number++) {
        number_state(number);
        if (rollout_file_write(temp_dir, &file, &err) != WEIR_OK || write(told, &number, sizeof number) < 0)
            _exit(1);
    }
}

Test(rollout_file, a_kill_at_any_moment_leaves_a_whole_state) {
    enum { KILLS = 50 };
    srand(11);
    for (int kill_number = 0; kill_number < KILLS; kill_number++) {
        int told[2];
        uint64_t acknowledged = 0, number;
        cr_assert_eq(pipe(told), 0);
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0)
            write_until_killed(told[1]);
        close(told[1]);
        cr_assert_eq(read(told[0], &acknowledged, sizeof acknowledged), (ssize_t)sizeof acknowledged);
        int64_t end_ns = clock_now_ns() + rand() % (10 * CLOCK_NS_PER_MS);
        while (clock_now_ns() < end_ns)
            ; /* a random moment */
        cr_assert_eq(kill(child, SIGKILL), 0);
        cr_assert_eq(waitpid(child, NULL, 0), child);
        while (read(told[0], &number, sizeof number) == (ssize_t)sizeof number)
            acknowledged = number;
        close(told[0]);
        read_state();
        const struct rollout_state *state = &again.models[0];
        cr_assert(state->stable == acknowledged || state->stable == acknowledged + 1, "%llu after %llu was told",
                  (unsigned long long)state->stable, (unsigned long long)acknowledged);
        cr_assert_eq(state->rejected_count, state->stable % 64);
    }
}

Test(rollout_file, a_version_is_rejected_as_it_was) {
    struct rollout_state *state = &file.models[0];
    rollout_file_reject(state, 8, "aa", "errors");
    cr_assert_str_eq(rollout_file_find_rejected(state, 8, "aa")->reason, "errors");
    cr_assert_null(rollout_file_find_rejected(state, 8, "bb"), "other files under the same number");
    cr_assert_null(rollout_file_find_rejected(state, 9, "aa"));
    rollout_file_reject(state, 8, "bb", "late");
    cr_assert_eq(state->rejected_count, 1);
    rollout_file_forgive(state, 8);
    cr_assert_eq(state->rejected_count, 0);
}

Test(rollout_file, the_oldest_of_too_many_rejections_is_forgotten) {
    struct rollout_state *state = &file.models[0];
    for (uint64_t i = 1; i <= 70; i++)
        rollout_file_reject(state, i, "aa", "errors");
    cr_assert_eq(state->rejected_count, 64);
    cr_assert_null(rollout_file_find_rejected(state, 6, "aa"));
    cr_assert(rollout_file_find_rejected(state, 7, "aa"));
    cr_assert(rollout_file_find_rejected(state, 70, "aa"));
}

Test(rollout_file, a_model_is_added_once) {
    cr_assert_eq(rollout_file_model(&file, "digits"), &file.models[0]);
    cr_assert(rollout_file_model(&file, "other"));
    cr_assert_eq(file.model_count, 2);
    char name[REPOSITORY_NAME_MAX + 2];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    cr_assert_null(rollout_file_model(&file, name));
}

Test(rollout_file, files_that_hold_the_same_are_rejected_too) {
    static const char A[] = "0123456789abcdef0123456789abcdef", B[] = "1123456789abcdef0123456789abcdef";
    static const char HOLDS[] = "fedcba9876543210fedcba9876543210", OTHER[] = "0edcba9876543210fedcba9876543210";
    static struct rollout_state state;
    char text[ROLLOUT_FILE_IDENTITY + 1];
    snprintf(text, sizeof text, "%s%s", A, HOLDS);
    rollout_file_reject(&state, 8, text, "errors");
    cr_assert_not_null(rollout_file_find_rejected(&state, 8, A), "the same files, not read yet");
    cr_assert_null(rollout_file_find_rejected(&state, 8, B));
    snprintf(text, sizeof text, "%s%s", B, HOLDS);
    cr_assert_not_null(rollout_file_find_rejected(&state, 8, text), "copied anew");
    snprintf(text, sizeof text, "%s%s", B, OTHER);
    cr_assert_null(rollout_file_find_rejected(&state, 8, text));
}
