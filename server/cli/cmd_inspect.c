#include <stdio.h>
#include <string.h>

#include "engine/inspect.h"
#include "server/cli/command.h"
#include "server/exit_code.h"

static int run(int argc, char **argv) {
    struct weir_error err;
    bool operators = argc == 1 && strcmp(argv[0], "--operators") == 0;
    if (operators && inspect_operators(stdout, &err) == WEIR_OK)
        return EXIT_CODE_DONE;
    if (operators || argc != 1 || (argv[0][0] == '-' && argv[0][1]))
        return command_misuse(&command_inspect, "`weir inspect` takes one MODEL");
    if (inspect_model(argv[0], stdout, &err) == WEIR_OK)
        return EXIT_CODE_DONE;
    fprintf(stderr, "weir: %s\n", err.text);
    return EXIT_CODE_MODEL;
}

const struct command command_inspect = {
    "inspect",
    "describe a model: inputs, outputs, steps",
    "usage: weir inspect MODEL\n"
    "       weir inspect --operators\n"
    "\n"
    "Reads MODEL (a file, a version directory, or a model directory, of which the\n"
    "newest version is taken) as the server would, and describes it: inputs,\n"
    "outputs, and the steps that are left. With --operators it lists the operators\n"
    "that models may have.\n"
    "\n"
    "exit: 0 done, 2 usage, 3 the model cannot be served (the reason is printed)\n",
    run,
};
