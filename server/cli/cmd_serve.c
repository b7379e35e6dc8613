#include <stdio.h>

#include "engine/openmp.h"
#include "server/cli/command.h"
#include "server/exit_code.h"
#include "server/observe/log.h"
#include "server/service.h"

_Static_assert((int)CONFIG_LOG_LEVEL_ERROR == (int)LOG_ERROR && (int)CONFIG_LOG_LEVEL_WARN == (int)LOG_WARN &&
                   (int)CONFIG_LOG_LEVEL_INFO == (int)LOG_INFO && (int)CONFIG_LOG_LEVEL_DEBUG == (int)LOG_DEBUG,
               "the levels of the configuration and of the log have one order");

static void log_remarks(const struct config_problems *problems) {
    char text[1024], quoted[2048];
    for (int i = 0; i < problems->count; i++) {
        const struct config_problem *problem = &problems->items[i];
        config_problems_text(problem, text, sizeof text);
        log_event(problem->severity == CONFIG_NOTICE ? LOG_INFO : LOG_WARN, "config", "text=%s",
                  log_quote(text, quoted, sizeof quoted));
    }
}

static int run(int argc, char **argv) {
    const struct config_sources sources = command_sources(argc, argv);
    struct config_problems problems = {.count = 0};
    struct config config;
    if (!config_load(&sources, &config, &problems)) {
        command_print_problems(&problems, CONFIG_ERROR);
        return EXIT_CODE_USAGE;
    }
    if (config.cpu_threads > 1)
        openmp_limit_spinning(); /* begins again, once */
    int code = EXIT_CODE_USAGE;
    if (!config.model_path && config.models.count == 0) {
        command_misuse(&command_serve, "model_path: is not set: name the model, as in `weir serve model.onnx`");
    } else {
        log_set_level((enum log_level)config.log_level);
        log_remarks(&problems);
        code = service_run(&config, &sources);
        if (code & EXIT_AT_ONCE)
            return code; /* a thread still reads the configuration */
    }
    config_release(&config);
    return code;
}

const struct command command_serve = {
    "serve",
    "serve a model over HTTP",
    "usage: weir serve [MODEL] [-c FILE] [--KEY VALUE]...\n"
    "\n"
    "Serves MODEL: an .onnx file, a version directory that holds model.onnx, or a\n"
    "model directory of version directories (v1, v2, 10).\n"
    "\n"
    "  -c, --config FILE    read settings from a YAML file\n"
    "  --port 8000          0 takes any free port and prints it\n"
    "  --host 127.0.0.1     0.0.0.0 lets other machines in\n"
    "  --device auto        auto, cpu or cuda\n"
    "  --batch-size 32      most rows in one batch\n"
    "  --max-concurrency 64 predictions in progress; more are refused with 503\n"
    "  --timeout-ms 3000    deadline of a prediction\n"
    "  --log-level info     error, warn, info or debug\n"
    "\n"
    "`weir config` lists every key. Each is a flag (--batch-size), a variable\n"
    "(WEIR_BATCH_SIZE) and a line of the file (batch_size: 32). A flag wins over a\n"
    "variable, a variable over the file. SIGHUP reads them again; SIGTERM drains.\n"
    "\n"
    "exit: 0 done, 2 usage or configuration, 3 model, 4 device, 5 listener or file\n",
    run,
    NULL,
};
