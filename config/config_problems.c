#include "config/config_problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void make_printable(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7E)
            *text = '?';
}

void config_problems_add(struct config_problems *problems, enum config_severity severity,
                         const struct config_place *place, const char *format, ...) {
    if (severity == CONFIG_ERROR)
        problems->errors++;
    if (problems->count == CONFIG_PROBLEMS_MAX) {
        problems->left_out++;
        return;
    }
    struct config_problem *problem = &problems->items[problems->count++];
    problem->severity = severity;
    problem->file = place->file;
    problem->line = place->line;
    snprintf(problem->key, sizeof problem->key, "%s", place->key ? place->key : "");
    make_printable(problem->key);
    va_list args;
    va_start(args, format);
    vsnprintf(problem->text, sizeof problem->text, format, args);
    va_end(args);
    make_printable(problem->text);
}

const char *config_problems_text(const struct config_problem *problem, char *out, size_t size) {
    char line[24] = "";
    if (problem->line > 0)
        snprintf(line, sizeof line, ":%d", problem->line);
    snprintf(out, size, "%s%s%s%s%s%s", problem->file ? problem->file : "", problem->file ? line : "",
             problem->file ? ": " : "", problem->key, *problem->key ? ": " : "", problem->text);
    return out;
}
