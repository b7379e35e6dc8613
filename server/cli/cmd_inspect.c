#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inspect.h"
#include "server/cli/command.h"
#include "server/exit_code.h"

static int run(int argc, char **argv) {
    struct weir_error err;
    bool operators = argc == 1 && strcmp(argv[0], "--operators") == 0;
    if (operators && inspect_operators(stdout, &err) == WEIR_OK)
        return EXIT_CODE_DONE;
    const char *cuda_module = getenv("WEIR_CUDA_MODULE");
    if (!operators && argc == 3 && strcmp(argv[0], "--cuda-module") == 0) {
        cuda_module = argv[1];
        argv += 2;
        argc -= 2;
    }
    if (operators || argc != 1 || (argv[0][0] == '-' && argv[0][1]))
        return command_misuse(&command_inspect, "`weir inspect` takes one MODEL");
    if (inspect_model(argv[0], cuda_module, stdout, &err) == WEIR_OK)
        return EXIT_CODE_DONE;
    fprintf(stderr, "weir: %s\n", err.text);
    return EXIT_CODE_MODEL;
}

const struct command command_inspect = {
    "inspect",
    "describe a model: inputs, outputs, steps",
    "usage: weir inspect [--cuda-module FILE] MODEL\n"
    "       weir inspect --operators\n"
    "\n"
    "Reads MODEL (a file, a version directory, or a model directory, of which the\n"
    "newest version is taken) as the server would, and describes it: inputs,\n"
    "outputs, the steps that are left, and those that a kind of device lacks. For\n"
    "GPUs the CUDA module is asked (FILE, else WEIR_CUDA_MODULE, else weir_cuda.so\n"
    "beside the program); no GPU need be there. With --operators it lists the\n"
    "operators that models may have.\n"
    "\n"
    "exit: 0 done, 2 usage, 3 the model cannot be served (the reason is printed)\n",
    run,
    NULL,
};
