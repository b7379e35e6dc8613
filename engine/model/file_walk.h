/* Walks over the files of a version. */
#ifndef WEIR_ENGINE_MODEL_FILE_WALK_H
#define WEIR_ENGINE_MODEL_FILE_WALK_H

#include <sys/stat.h>

#include "engine/status.h"

/* Entries of one walk, and directories within each other. */
enum { FILE_WALK_MOST = 4096, FILE_WALK_DEPTH = 16 };

struct file_visitor {
    void *context;
    /* path is relative to the directory and ends with name. Anything but OK ends the walk. */
    enum weir_status (*visit)(void *context, const char *path, const struct stat *stat, struct weir_error *err);
};

/* Visits every regular file beneath the open directory, in the order in which they come. Links are followed: to files,
 * and to directories unless those lie above in the same path. Names that begin with a dot are passed over, so the
 * directories behind Kubernetes' ..data are seen once, through the links to them; so is all that is neither file nor
 * directory. Errors: NOT_FOUND (an entry vanished meanwhile or is a link that leads nowhere), TOO_LARGE, IO, the
 * visitor's. thread: any that may wait for a disk. It allocates nothing. */
enum weir_status file_walk(int directory, const struct file_visitor *visitor, struct weir_error *err) WEIR_CHECKED;

#endif
