/* One command of `weir`, and what the commands share. */
#ifndef WEIR_SERVER_CLI_COMMAND_H
#define WEIR_SERVER_CLI_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"

/* run gets what follows the name of the command and returns an exit code (server/exit_code.h). more_help, which may be
 * NULL, returns the help of what the arguments name, or NULL where the command's own explains them. */
struct command {
    const char *name;
    const char *summary;
    const char *help;
    int (*run)(int argc, char **argv);
    const char *(*more_help)(int argc, char **argv);
};

extern const struct command command_serve;
extern const struct command command_check;
extern const struct command command_inspect;
extern const struct command command_verify;
extern const struct command command_models;
extern const struct command command_health;
extern const struct command command_config;

/* Finds the command that argv names and runs it. Returns the exit code of the process. */
int command_run(int argc, char **argv);

/* The sources of a command: its arguments and the environment. */
struct config_sources command_sources(int argc, char **argv);

/* Prints the problems of at least this severity on stderr, as `weir: FILE:LINE: key: text`. */
void command_print_problems(const struct config_problems *problems, enum config_severity least);

/* Prints text without what could upset a terminal. */
void command_show_text(FILE *out, const char *text);

/* Prints `weir: text` and a pointer to the help of the command on stderr. Returns EXIT_CODE_USAGE. */
int command_misuse(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
