#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/openmp.h"

/* The program that is run again is this one: a child of it, which says by its exit code what it found. */
static int run_child(const char *variable) {
    pid_t child = fork();
    if (child == 0) {
        unsetenv("GOMP_SPINCOUNT");
        unsetenv("OMP_WAIT_POLICY");
        setenv("OPENMP_TEST_CHILD", "1", 1);
        if (variable)
            setenv(variable, "passive", 1);
        openmp_limit_spinning();
        _exit(77); /* it came back */
    }
    int status = 0;
    cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Runs before main, in the child alone. */
__attribute__((constructor)) static void answer(void) {
    if (getenv("OPENMP_TEST_CHILD"))
        _exit(getenv("GOMP_SPINCOUNT") ? 42 : 43);
}

Test(openmp, the_program_runs_again_with_the_setting) {
    cr_assert_eq(run_child(NULL), 42);
}

Test(openmp, who_has_set_something_is_left_alone) {
    cr_assert_eq(run_child("OMP_WAIT_POLICY"), 77);
    cr_assert_eq(run_child("GOMP_SPINCOUNT"), 77);
}
