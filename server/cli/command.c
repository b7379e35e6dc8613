#include "server/cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/exit_code.h"

static const struct command *const commands[] = {
    &command_serve, &command_check, &command_inspect, &command_health, &command_config,
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
    const char *nearest = NULL;
    size_t most = 1; /* letters that agree at the beginning; two are a hint */
    for (int i = 0; i < COMMAND_COUNT; i++) {
        size_t same = 0;
        while (name[same] && name[same] == commands[i]->name[same])
            same++;
        if (same > most) {
            most = same;
            nearest = commands[i]->name;
        }
    }
    fprintf(stderr, "weir: unknown command \"%.40s\"%s%s%s\n\n", name, nearest ? ", did you mean " : "",
            nearest ? nearest : "", nearest ? "?" : "");
    print_help(stderr);
    return EXIT_CODE_USAGE;
}

static int help(int argc, char **argv) {
    const struct command *command = argc > 0 ? find(argv[0]) : NULL;
    if (argc > 0 && !command)
        return unknown_command(argv[0]);
    if (command)
        fputs(command->help, stdout);
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
        fputs(command->help, stdout);
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
