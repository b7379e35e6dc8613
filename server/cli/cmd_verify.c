#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/openmp.h"
#include "engine/verify.h"
#include "server/cli/command.h"
#include "server/engine_options.h"
#include "server/exit_code.h"

/* What is asked beside the configuration. */
struct asked {
    const char *samples;
    bool json, record;
    char **rest; /* the other arguments: the configuration's */
    int rest_count;
};

/* Takes our own flags out of the arguments. Returns DONE, or USAGE after a message. */
static int take_flags(int argc, char **argv, struct asked *out) {
    for (int i = 0; i < argc; i++) {
        bool is_next = strcmp(argv[i], "--samples") == 0;
        if (strcmp(argv[i], "--json") == 0) {
            out->json = true;
        } else if (strcmp(argv[i], "--record") == 0) {
            out->record = true;
        } else if (is_next || strncmp(argv[i], "--samples=", 10) == 0) {
            out->samples = is_next ? i + 1 < argc ? argv[++i] : "" : argv[i] + 10;
            if (!*out->samples)
                return command_misuse(&command_verify, "--samples: expected a directory");
        } else {
            out->rest[out->rest_count++] = argv[i];
        }
    }
    return EXIT_CODE_DONE;
}

static int code_of(enum weir_status status) {
    return status == WEIR_DEVICE || status == WEIR_DEVICE_LOST ? EXIT_CODE_DEVICE
           : status == WEIR_IO                                 ? EXIT_CODE_IO
           : status == WEIR_INTERNAL                           ? EXIT_CODE_INTERNAL
                                                               : EXIT_CODE_MODEL;
}

static void show_text(const struct verify_report *report, const struct engine_status *device, const char *precision) {
    printf("model    %s, version %" PRIu64 ": ", report->model, report->version);
    command_show_text(stdout, report->path);
    printf("\ndevice   %s, %s: %s\nsamples  %u in ", device->device, precision, device->device_description,
           report->samples);
    command_show_text(stdout, report->samples_path);
    if (report->samples_alone < report->samples)
        printf(", %u of them alone too", report->samples_alone);
    puts("\n\nrows  batches  worst error  allowed    off  output");
    for (int i = 0; i < report->line_count; i++) {
        const struct verify_line *line = &report->lines[i];
        printf("%4u  %7u  %11.3g  %7.2g  %5" PRIu64 "  ", line->rows, line->runs, line->error, line->allowed,
               line->off);
        command_show_text(stdout, line->output);
        putchar('\n');
    }
    putchar('\n');
    if (report->off == 0) {
        printf("ok: %u samples agree in %u batches\n", report->samples, report->runs);
        return;
    }
    fputs("not ok: ", stdout);
    command_show_text(stdout, report->first.text);
    putchar('\n');
}

static cJSON *lines_json(const struct verify_report *report) {
    cJSON *lines = cJSON_CreateArray();
    for (int i = 0; i < report->line_count; i++) {
        const struct verify_line *line = &report->lines[i];
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "rows", line->rows);
        cJSON_AddNumberToObject(one, "batches", line->runs);
        cJSON_AddStringToObject(one, "output", line->output);
        cJSON_AddNumberToObject(one, "worst_error", line->error); /* null where it is no number */
        cJSON_AddNumberToObject(one, "allowed", line->allowed);
        cJSON_AddNumberToObject(one, "elements_off", (double)line->off);
        cJSON_AddItemToArray(lines, one);
    }
    return lines;
}

static void show_json(const struct verify_report *report, const struct engine_status *device, const char *precision) {
    cJSON *root = cJSON_CreateObject(), *about = cJSON_CreateObject();
    cJSON_AddStringToObject(about, "name", device->device);
    cJSON_AddStringToObject(about, "precision", precision);
    cJSON_AddStringToObject(about, "description", device->device_description);
    cJSON_AddStringToObject(root, "model", report->model);
    cJSON_AddNumberToObject(root, "version", (double)report->version);
    cJSON_AddStringToObject(root, "file", report->path);
    cJSON_AddStringToObject(root, "samples_directory", report->samples_path);
    cJSON_AddItemToObject(root, "device", about);
    cJSON_AddNumberToObject(root, "samples", report->samples);
    cJSON_AddNumberToObject(root, "samples_alone", report->samples_alone);
    cJSON_AddItemToObject(root, "batches", lines_json(report));
    cJSON_AddBoolToObject(root, "agree", report->off == 0);
    if (report->off == 0)
        cJSON_AddNullToObject(root, "first_difference");
    else
        cJSON_AddStringToObject(root, "first_difference", report->first.text);
    char *text = cJSON_Print(root);
    puts(text ? text : "null");
    free(text);
    cJSON_Delete(root);
}

static int verify(const struct config *config, const struct asked *asked) {
    struct engine_options options = engine_options_of(config);
    const struct verify_options what = {
        .model_path = config->model_path, .samples_path = asked->samples, .record = asked->record};
    struct engine *engine = NULL;
    struct verify_report report = {.version = 0};
    struct weir_error err;
    char precision[32];
    enum weir_status status = engine_open(&options, &engine, &err);
    if (status != WEIR_OK)
        status = engine_options_blame(status);
    else
        status = verify_model(engine, &what, &report, &err);
    if (status == WEIR_OK) {
        struct engine_status device;
        engine_status(engine, &device);
        config_schema_value(config_schema_key(CONFIG_KEY_precision), config, precision, sizeof precision);
        (asked->json ? show_json : show_text)(&report, &device, precision);
    } else {
        fprintf(stderr, "weir: %s\n", err.text);
    }
    int code = status != WEIR_OK ? code_of(status) : report.off > 0 ? EXIT_CODE_FAULT : EXIT_CODE_DONE;
    verify_release(&report);
    if (engine)
        engine_close(engine);
    return code;
}

static int run(int argc, char **argv) {
    struct asked asked = {.rest = calloc((size_t)argc + 1, sizeof *asked.rest)};
    struct config_problems problems = {.count = 0};
    struct config config;
    if (!asked.rest)
        return EXIT_CODE_INTERNAL;
    int code = take_flags(argc, argv, &asked);
    if (code == EXIT_CODE_DONE) {
        const struct config_sources sources = command_sources(asked.rest_count, asked.rest);
        bool loaded = config_load(&sources, &config, &problems);
        command_print_problems(&problems, loaded ? CONFIG_WARNING : CONFIG_ERROR);
        code = loaded ? EXIT_CODE_DONE : EXIT_CODE_USAGE;
    }
    if (code == EXIT_CODE_DONE) {
        if (config.cpu_threads > 1)
            openmp_limit_spinning(); /* begins again, once */
        code = config.model_path ? verify(&config, &asked)
                                 : command_misuse(&command_verify, "`weir verify` takes one MODEL");
        config_release(&config);
    }
    free(asked.rest);
    return code;
}

const struct command command_verify = {
    "verify",
    "run a model's known samples, and compare",
    "usage: weir verify MODEL [--samples DIR] [--record] [--json] [-c FILE]\n"
    "                   [--KEY VALUE]...\n"
    "\n"
    "Loads MODEL (a file, a version directory, or a model directory, of which the\n"
    "newest version is taken) and runs its known samples on the device that would\n"
    "serve: alone, in batches of an odd number of rows and in the largest ones. For\n"
    "each size of batch and each output it tells the worst error and what was\n"
    "allowed. The settings are those of `weir serve` with the same arguments, such\n"
    "as --device, --precision, --batch-size and --cpu-threads.\n"
    "\n"
    "  --samples DIR   input.NAME.npy and output.NAME.npy of every input and output,\n"
    "                  and `tolerance`; without it, `samples` beside the model\n"
    "  --record        first writes the outputs' files: what the inputs give now,\n"
    "                  each alone. A sealed version must be sealed again after that\n"
    "  --json          the same as one JSON object\n"
    "\n"
    "exit: 0 they agree, 1 they do not, 2 usage or configuration, 3 the model or its\n"
    "samples cannot be used, 4 device, 5 a file cannot be read\n",
    run,
    NULL,
};
