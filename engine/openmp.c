#include "engine/openmp.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* About 20 us: the next layer comes sooner, and waking a sleeping thread takes about as long. */
#define SPIN_COUNT "1000"

/* The process's arguments, a list that ends with NULL; NULL: they cannot be read. Owner: the caller, until exec. */
static char **read_arguments(void) {
    FILE *file = fopen("/proc/self/cmdline", "re");
    char **arguments = calloc(1, sizeof *arguments), *argument = NULL;
    size_t count = 0, capacity = 0;
    bool good = file && arguments;
    while (good && getdelim(&argument, &capacity, 0, file) >= 0) {
        char **grown = reallocarray(arguments, count + 2, sizeof *grown);
        good = grown;
        if (good) {
            arguments = grown;
            arguments[count++] = argument;
            arguments[count] = NULL;
            argument = NULL;
            capacity = 0;
        }
    }
    free(argument);
    if (file)
        fclose(file);
    if (good && count > 0)
        return arguments;
    for (size_t i = 0; i < count; i++)
        free(arguments[i]);
    free(arguments);
    return NULL;
}

void openmp_limit_spinning(void) {
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
        return;
    char **arguments = read_arguments();
    if (arguments && setenv("GOMP_SPINCOUNT", SPIN_COUNT, 1) == 0)
        execv("/proc/self/exe", arguments);
    for (size_t i = 0; arguments && arguments[i]; i++)
        free(arguments[i]);
    free(arguments);
}
