/* What is wrong with a configuration, or odd about it: collected, so that one run names every offender. */
#ifndef WEIR_CONFIG_CONFIG_PROBLEMS_H
#define WEIR_CONFIG_CONFIG_PROBLEMS_H

#include <stddef.h>

enum config_severity { CONFIG_NOTICE, CONFIG_WARNING, CONFIG_ERROR };

enum { CONFIG_PROBLEMS_MAX = 64 };

/* Where a problem sits. For a value from the file: file, line (0 if unknown) and the key as written there. Otherwise
 * file is NULL and key is what the user typed: "--port", "WEIR_PORT". */
struct config_place {
    const char *file;
    int line;
    const char *key;
};

/* file is borrowed from the sources; key and text are printable ASCII, cut to fit. */
struct config_problem {
    enum config_severity severity;
    const char *file;
    int line;
    char key[64];
    char text[320];
};

/* Begin with all zeros. What does not fit into items is only counted, in left_out. errors counts all errors. */
struct config_problems {
    struct config_problem items[CONFIG_PROBLEMS_MAX];
    int count;
    int left_out;
    int errors;
};

void config_problems_add(struct config_problems *problems, enum config_severity severity,
                         const struct config_place *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Writes "FILE:LINE: key: text" into out, leaving out what is not known. Returns out. */
const char *config_problems_text(const struct config_problem *problem, char *out, size_t size);

#endif
