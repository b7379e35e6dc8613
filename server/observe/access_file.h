/* Where the access log goes: a file that grows, a pipe, or standard output. Lines gather in a buffer and leave in large
 * writes. Nothing here waits for a reader, and no line is ever torn: what a full disk cut off is written first, before
 * anything else, once there is room again. thread: one at a time. */
#ifndef WEIR_SERVER_OBSERVE_ACCESS_FILE_H
#define WEIR_SERVER_OBSERVE_ACCESS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

struct access_file {
    const char *path; /* borrowed; "-" is standard output */
    int fd;
    bool is_regular; /* else it may be full for a while, and takes what one atomic write to a pipe holds */
    char *bytes;     /* whole lines but for the first, of which the file may have the beginning */
    size_t size, sent;
    int error;       /* of the last write, as errno; 0: it went well */
    uint64_t lines;  /* written in all */
    uint64_t losses; /* lines given up */
};

enum access_file_state {
    ACCESS_FILE_DONE,   /* all is written */
    ACCESS_FILE_BUSY,   /* it takes no more for now: poll says when */
    ACCESS_FILE_FAILED, /* error says why; what was in the buffer is lost, but for the rest of a torn line */
};

/* Opens or creates it. A FIFO may be without a reader: lines wait in it. Errors: IO, NO_MEMORY. */
enum weir_status access_file_open(struct access_file *file, const char *path, struct weir_error *err) WEIR_CHECKED;
void access_file_close(struct access_file *file);

/* Where the next line goes, with room for ACCESS_LINE_BYTES; NULL: flush first. Then access_file_add says its size. */
char *access_file_room(struct access_file *file);
void access_file_add(struct access_file *file, size_t size);

/* Writes what is there, as far as it goes at once. */
enum access_file_state access_file_flush(struct access_file *file);

/* Gives up what is in the buffer. */
void access_file_drop(struct access_file *file);

/* Opens the path anew, after it was renamed. What is in the buffer goes to the old file if it takes it now; else, if
 * that one is busy, to the new one. If the old one failed, whole lines are lost; so is the rest of a line that it has
 * in part. Standard output stays. On an error the old one goes on. Errors: IO. */
enum weir_status access_file_reopen(struct access_file *file, struct weir_error *err) WEIR_CHECKED;

#endif
