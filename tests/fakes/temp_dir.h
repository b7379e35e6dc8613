/* A test's own directory under /tmp, one in a process. Whatever fails here says so and aborts. */
#ifndef WEIR_TESTS_FAKES_TEMP_DIR_H
#define WEIR_TESTS_FAKES_TEMP_DIR_H

/* Its path, once it is made. */
extern char temp_dir[32];

void temp_dir_make(void);

/* Makes it, and makes it the working directory. */
void temp_dir_enter(void);

/* Removes it with all that is in it, also what cannot be written. */
void temp_dir_remove(void);

/* The path of what has this name beneath it; the fourth call from now overwrites it. */
const char *temp_dir_at(const char *name);

/* Writes the file of this name beneath it. */
void temp_dir_write(const char *name, const char *text);

/* Runs the command in the working directory; it must succeed. */
void shell(const char *command);

#endif
