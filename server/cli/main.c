#include <unistd.h>

#include "server/cli/command.h"
#include "server/exit_code.h"

int main(int argc, char **argv) {
    int code = command_run(argc, argv);
    if (code & EXIT_AT_ONCE)
        _exit(code & ~EXIT_AT_ONCE);
    return code;
}
