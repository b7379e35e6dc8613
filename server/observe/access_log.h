/* The access log: a line for each finished request, written by a thread of its own. A loop takes an entry from its
 * lane, has it filled while the request runs, and puts it into the lane's ring; the thread takes entries from all
 * rings, makes lines of them and gives them back. A loop never waits and allocates nothing: when the thread cannot keep
 * up and all entries of a lane are under way, requests go without a line and are counted. */
#ifndef WEIR_SERVER_OBSERVE_ACCESS_LOG_H
#define WEIR_SERVER_OBSERVE_ACCESS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/status.h"
#include "server/observe/access_entry.h"

struct access_log;
struct access_lane;

enum { ACCESS_LOG_ENTRIES = 8192 }; /* of each lane, for requests in progress and lines not yet written */

struct access_log_options {
    const char *path; /* "-" is standard output; must outlive the log */
    int lanes;        /* one for each loop */
    enum access_format format;
    uint32_t percent; /* of the requests that get a line; an answer 500 always does */
};

/* Opens the file and starts the thread. Errors: IO, NO_MEMORY. Owner: the service, by access_log_close. */
enum weir_status access_log_open(const struct access_log_options *options, struct access_log **out,
                                 struct weir_error *err) WEIR_CHECKED;

/* Writes what is in the rings and ends the thread. One that hangs on its file is left behind after two seconds.
 * Lanes may be used on, but nobody reads them any more. */
void access_log_stop(struct access_log *log);

/* access_log_stop, and frees everything. No lane may be in use. NULL is fine. */
void access_log_close(struct access_log *log);

/* From the next request on. thread: any. */
void access_log_set(struct access_log *log, enum access_format format, uint32_t percent);

/* The kind of device that lines name, "cpu" or "cuda": a text that stays. thread: any. */
void access_log_set_device(struct access_log *log, const char *kind);

/* Has the file opened anew: it was renamed. thread: any. */
void access_log_reopen(struct access_log *log);

/* Lines written, and lines lost: for want of an entry, or because the file did not take them. thread: any. */
struct access_log_counts {
    uint64_t lines, dropped;
};
struct access_log_counts access_log_counts(const struct access_log *log);

/* The rest belongs to the thread whose lane it is. */
struct access_lane *access_log_lane(struct access_log *log, int index);

/* Where the client of a descriptor is kept, so that no connection is larger for it: *known says whether it is this
 * one's. A client is asked for once a connection as long as no other descriptor of the lane has the same place, which
 * is one of 512, by its number; those that share one are asked for whenever they take turns. access_log_forget, before
 * a descriptor is used for another connection. */
struct access_peer *access_log_peer(struct access_lane *lane, int fd, bool *known);
void access_log_forget(struct access_lane *lane, int fd);

/* An entry in which nothing is known; NULL if there is none left. */
struct access_entry *access_log_begin(struct access_lane *lane);

/* Do lines show Referer and User-Agent? */
bool access_log_has_fields(const struct access_lane *lane);

/* The request is over: hands its entry to the writer, or takes it back if the request is not one of the sample. NULL:
 * it had none, which is counted. code: that of its answer. */
void access_log_end(struct access_lane *lane, struct access_entry *entry, int code);

#endif
