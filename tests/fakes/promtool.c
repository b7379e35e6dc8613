#include "tests/fakes/promtool.h"

#include <stdio.h>
#include <stdlib.h>

bool promtool_is_there(void) {
    if (system("command -v promtool >/dev/null 2>&1") == 0)
        return true;
    fprintf(stderr, "SKIPPED: promtool is missing (Debian package prometheus)\n");
    return false;
}

bool promtool_agrees(const char *page) {
    FILE *promtool = popen("promtool check metrics 1>&2", "w");
    if (!promtool)
        return false;
    bool written = fputs(page, promtool) >= 0;
    return pclose(promtool) == 0 && written;
}
