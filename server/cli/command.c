#include "server/cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/nearest.h"
#include "server/exit_code.h"

static const struct command *const commands[] = {
    &command_serve,  &command_check,  &command_inspect, &command_verify,
    &command_models, &command_health, &command_config,
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static const struct command *find(const char *name) {
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void print_help(FILE *out) {
    fputs("weir serves ONNX models over HTTP.\n\nusage: weir COMMAND [arguments]\n\n", out);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "  %-9s %s\n", "help", "explain a command: weir help COMMAND");
    fprintf(out, "  %-9s %s\n", "version", "print the version");
    fputs("\nTo begin: weir serve model.onnx\n", out);
}

static int unknown_command(const char *name) {
    const char *names[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i]->name;
    int nearest = nearest_find(name, names, COMMAND_COUNT);
    fprintf(stderr, "weir: unknown command \"%.40s\"%s%s%s\n\n", name, nearest >= 0 ? ", did you mean " : "",
            nearest >= 0 ? names[nearest] : "", nearest >= 0 ? "?" : "");
    print_help(stderr);
    return EXIT_CODE_USAGE;
}

/* Some commands have more to explain than one screen holds. */
static const char *help_of(const struct command *command, int argc, char **argv) {
    const char *more = command->more_help ? command->more_help(argc, argv) : NULL;
    return more ? more : command->help;
}

static int help(int argc, char **argv) {
    const struct command *command = argc > 0 ? find(argv[0]) : NULL;
    if (argc > 0 && !command)
        return unknown_command(argv[0]);
    if (command)
        fputs(help_of(command, argc - 1, argv + 1), stdout);
    else
        print_help(stdout);
    return EXIT_CODE_DONE;
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_CODE_USAGE;
    }
    const char *name = argv[1];
    argc -= 2;
    argv += 2;
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argc, argv);
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("weir " WEIR_VERSION);
        return EXIT_CODE_DONE;
    }
    const struct command *command = find(name);
    if (!command)
        return unknown_command(name);
    if (asks_for_help(argc, argv)) {
        fputs(help_of(command, argc, argv), stdout);
        return EXIT_CODE_DONE;
    }
    return command->run(argc, argv);
}

int command_run(int argc, char **argv) {
    int code = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "weir: the output cannot be written: %s\n", strerror(errno));
        return code == EXIT_CODE_DONE ? EXIT_CODE_IO : code;
    }
    return code;
}

struct config_sources command_sources(int argc, char **argv) {
    return (struct config_sources){.argc = argc, .argv = argv, .environment = environ};
}

void command_print_problems(const struct config_problems *problems, enum config_severity least) {
    static const char *const words[] = {"notice: ", "warning: ", ""};
    char text[4096 + 512];
    for (int i = 0; i < problems->count; i++)
        if (problems->items[i].severity >= least)
            fprintf(stderr, "weir: %s%s\n", words[problems->items[i].severity],
                    config_problems_text(&problems->items[i], text, sizeof text));
    if (problems->left_out > 0)
        fprintf(stderr, "weir: and %d more\n", problems->left_out);
}

int command_misuse(const struct command *command, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("weir: ", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nweir: `weir help %s` explains the command\n", command->name);
    return EXIT_CODE_USAGE;
}

void command_show_text(FILE *out, const char *text) {
    for (; *text; text++)
        putc((unsigned char)*text < 0x20 || *text == 0x7F ? ' ' : *text, out);
}
