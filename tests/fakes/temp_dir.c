#include "tests/fakes/temp_dir.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char temp_dir[32];

static void require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "temp_dir: failed: %s\n", what);
    abort();
}

void temp_dir_make(void) {
    strcpy(temp_dir, "/tmp/weir-test-XXXXXX");
    require(mkdtemp(temp_dir) != NULL, temp_dir);
}

void temp_dir_enter(void) {
    temp_dir_make();
    require(chdir(temp_dir) == 0, temp_dir);
}

void temp_dir_remove(void) {
    char command[128];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", temp_dir, temp_dir);
    shell(command);
}

const char *temp_dir_at(const char *name) {
    static char paths[4][512];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", temp_dir, name);
    return path;
}

void temp_dir_write(const char *name, const char *text) {
    FILE *file = fopen(temp_dir_at(name), "w");
    require(file && fputs(text, file) >= 0 && fclose(file) == 0, name);
}

void shell(const char *command) {
    require(system(command) == 0, command);
}
