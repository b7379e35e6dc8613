#include "server/observe/access_log.h"

#include <poll.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "engine/clock.h"
#include "engine/thread.h"
#include "server/observe/access_file.h"
#include "server/observe/entry_ring.h"
#include "server/observe/log.h"

enum {
    TICK_MS = 25,       /* between two looks at the rings, */
    IDLE_TICK_MS = 200, /* at most this when there was nothing */
    WAKE_AT = 256, /* as many entries in a ring wake the writer: few, so that they come back while still in the cache */
    LAST_TRY_MS = 500, /* for a pipe that is full when the log ends */
    STOP_MS = 2000,
    PEERS = 512, /* clients that a lane remembers */
};

struct access_lane {
    struct entry_ring ring;
    struct access_log *log;
    uint64_t random;
    struct {
        int key; /* the descriptor + 1; 0: none */
        struct access_peer peer;
    } peers[PEERS];
    _Atomic uint64_t dropped;
};

struct access_log {
    struct access_lane *lanes;
    int lane_count;
    struct access_file file;
    struct access_style style;
    enum access_file_state state;
    bool is_told; /* that the file takes no lines */
    pthread_t thread;
    bool is_started;
    int wake_fd;
    atomic_bool is_woken, wants_reopen, wants_stop;
    _Atomic uint32_t percent;
    _Atomic int format;
    _Atomic(const char *) device_kind;
    _Atomic uint64_t lines, losses; /* the file's, for others */
    uint64_t dropped_told;
};

static void wake(struct access_log *log) {
    uint64_t one = 1;
    if (atomic_load(&log->is_woken) || atomic_exchange(&log->is_woken, true))
        return;
    ssize_t ignored = write(log->wake_fd, &one, sizeof one);
    (void)ignored;
}

/* ---- the loops' side */

struct access_lane *access_log_lane(struct access_log *log, int index) {
    return &log->lanes[index];
}

struct access_peer *access_log_peer(struct access_lane *lane, int fd, bool *known) {
    unsigned at = (unsigned)fd % PEERS;
    *known = lane->peers[at].key == fd + 1;
    lane->peers[at].key = fd + 1;
    return &lane->peers[at].peer;
}

void access_log_forget(struct access_lane *lane, int fd) {
    unsigned at = (unsigned)fd % PEERS;
    if (lane->peers[at].key == fd + 1)
        lane->peers[at].key = 0;
}

struct access_entry *access_log_begin(struct access_lane *lane) {
    struct access_entry *entry = entry_ring_begin(&lane->ring);
    if (entry)
        access_entry_clear(entry);
    return entry;
}

bool access_log_has_fields(const struct access_lane *lane) {
    return atomic_load_explicit(&lane->log->format, memory_order_relaxed) == ACCESS_COMBINED;
}

/* Faults of ours are never left out. By chance, not every Nth: requests may come in a pattern. */
static bool is_wanted(struct access_lane *lane, int code) {
    uint32_t percent = atomic_load_explicit(&lane->log->percent, memory_order_relaxed);
    if (percent >= 100 || code == 500)
        return true;
    lane->random ^= lane->random << 13; /* xorshift64, Marsaglia (2003) */
    lane->random ^= lane->random >> 7;
    lane->random ^= lane->random << 17;
    return (lane->random >> 32) * 100 >> 32 < percent;
}

void access_log_end(struct access_lane *lane, struct access_entry *entry, int code) {
    if (!is_wanted(lane, code)) {
        if (entry)
            entry_ring_forgo(&lane->ring, entry);
        return;
    }
    if (!entry) {
        uint64_t dropped = atomic_load_explicit(&lane->dropped, memory_order_relaxed);
        atomic_store_explicit(&lane->dropped, dropped + 1, memory_order_relaxed);
        return;
    }
    entry->code = (uint16_t)code;
    if (entry_ring_put(&lane->ring, entry, WAKE_AT) >= WAKE_AT)
        wake(lane->log);
}

/* ---- the writer's side */

static struct access_log_counts count(const struct access_log *log) {
    struct access_log_counts counts = {.lines = atomic_load(&log->lines), .dropped = atomic_load(&log->losses)};
    for (int i = 0; i < log->lane_count; i++)
        counts.dropped += atomic_load_explicit(&log->lanes[i].dropped, memory_order_relaxed);
    return counts;
}

/* Says once that lines do not get through, and once that they do again. */
static void tell(struct access_log *log) {
    static struct log_site lost, well;
    char path[700];
    uint64_t dropped = count(log).dropped;
    int64_t now_ns = clock_now_ns();
    if (log->state == ACCESS_FILE_FAILED && !log->is_told) {
        log->is_told = true;
        log_event_limited(&lost, now_ns, LOG_ERROR, "access_log_failed", "path=%s error=\"%s\"",
                          log_quote(log->file.path, path, sizeof path), strerror(log->file.error));
    } else if (log->state == ACCESS_FILE_BUSY && dropped > log->dropped_told && !log->is_told) {
        log->is_told = true;
        log_event_limited(&lost, now_ns, LOG_ERROR, "access_log_failed", "path=%s error=\"it is not read\"",
                          log_quote(log->file.path, path, sizeof path));
    } else if (log->state == ACCESS_FILE_DONE && log->is_told) {
        log->is_told = false;
        log_event_limited(&well, now_ns, LOG_INFO, "access_log_recovered", "path=%s dropped=%llu",
                          log_quote(log->file.path, path, sizeof path), (unsigned long long)dropped);
    } else if (log->state == ACCESS_FILE_DONE && dropped > log->dropped_told) {
        log_event_limited(&lost, now_ns, LOG_WARN, "access_log_dropped", "path=%s dropped=%llu",
                          log_quote(log->file.path, path, sizeof path), (unsigned long long)dropped);
    }
    log->dropped_told = dropped;
}

static void flush(struct access_log *log) {
    log->state = access_file_flush(&log->file);
    atomic_store(&log->lines, log->file.lines);
    atomic_store(&log->losses, log->file.losses);
    tell(log);
}

/* Makes lines of what is in a lane's ring, as far as the file takes them. Returns how many there were. */
static uint32_t take(struct access_log *log, struct access_lane *lane) {
    struct ring_visit visit;
    ring_visit_begin(&visit, &lane->ring);
    for (const struct access_entry *entry; (entry = ring_visit_look(&visit)); ring_visit_next(&visit)) {
        char *room = access_file_room(&log->file);
        if (!room) {
            flush(log);
            if (!(room = access_file_room(&log->file)))
                break;
        }
        access_file_add(&log->file, access_entry_line(entry, &log->style, room));
    }
    return ring_visit_end(&visit);
}

static uint32_t take_all(struct access_log *log) {
    struct timespec unix_now;
    uint32_t taken = 0;
    clock_gettime(CLOCK_REALTIME, &unix_now);
    log->style.unix_offset_ns = unix_now.tv_sec * CLOCK_NS_PER_S + unix_now.tv_nsec - clock_now_ns();
    enum access_format format = (enum access_format)atomic_load(&log->format);
    if (log->style.format != format)
        log->style.second_text[0] = 0;
    log->style.format = format;
    log->style.device_kind = atomic_load(&log->device_kind);
    for (int i = 0; i < log->lane_count; i++)
        taken += take(log, &log->lanes[i]);
    if (log->file.size > 0 || log->state == ACCESS_FILE_BUSY) /* a reopen may have written what it was busy with */
        flush(log);
    return taken;
}

static void reopen(struct access_log *log) {
    struct weir_error err;
    char text[700];
    if (access_file_reopen(&log->file, &err) == WEIR_OK)
        log_event(LOG_INFO, "access_log_reopened", "path=%s", log_quote(log->file.path, text, sizeof text));
    else
        log_event(LOG_ERROR, "access_log_not_reopened", "error=%s", log_quote(err.text, text, sizeof text));
}

/* A file that is full is waited for, a loop that has entries is not: there is no room for them. */
static void sleep_for(struct access_log *log, int ms) {
    bool is_busy = log->state == ACCESS_FILE_BUSY;
    struct pollfd fds = {.fd = is_busy ? log->file.fd : log->wake_fd, .events = is_busy ? POLLOUT : POLLIN};
    uint64_t ignored;
    poll(&fds, 1, is_busy ? TICK_MS : ms);
    if (!is_busy && fds.revents && read(log->wake_fd, &ignored, sizeof ignored) < 0)
        return; /* nobody had written */
    atomic_store(&log->is_woken, false);
}

static void *run(void *context) {
    struct access_log *log = context;
    int64_t last_try_ns = 0;
    int tick_ms = TICK_MS;
    thread_enter(THREAD_WRITER, 0);
    while (true) {
        bool stops = atomic_load(&log->wants_stop); /* before the rings: what is in them now is still written */
        if (atomic_exchange(&log->wants_reopen, false))
            reopen(log);
        uint32_t taken = take_all(log);
        if (stops && last_try_ns == 0)
            last_try_ns = clock_now_ns() + LAST_TRY_MS * CLOCK_NS_PER_MS;
        if (stops && (log->state != ACCESS_FILE_BUSY || clock_now_ns() >= last_try_ns))
            break;
        tick_ms = taken > 0 ? TICK_MS : tick_ms < IDLE_TICK_MS ? 2 * tick_ms : IDLE_TICK_MS;
        sleep_for(log, tick_ms);
    }
    return NULL;
}

/* ---- its life */

static enum weir_status open_lane(struct access_log *log, struct access_lane *lane, int index, struct weir_error *err) {
    lane->log = log;
    lane->random = (uint64_t)clock_now_ns() * 2654435761u + (uint64_t)index + 1;
    return entry_ring_open(&lane->ring, ACCESS_LOG_ENTRIES, sizeof(struct access_entry), err);
}

static void release(struct access_log *log) {
    access_file_close(&log->file);
    if (log->wake_fd >= 0)
        close(log->wake_fd);
    for (int i = 0; i < log->lane_count; i++)
        entry_ring_close(&log->lanes[i].ring);
    free(log->lanes);
    free(log);
}

enum weir_status access_log_open(const struct access_log_options *options, struct access_log **out,
                                 struct weir_error *err) {
    struct access_log *log = calloc(1, sizeof *log);
    if (!log)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the access log");
    log->file.fd = log->wake_fd = -1;
    access_log_set(log, options->format, options->percent);
    enum weir_status status = access_file_open(&log->file, options->path, err);
    if (status != WEIR_OK) {
        release(log);
        return status;
    }
    size_t size = (size_t)options->lanes * sizeof *log->lanes;
    log->lanes = aligned_alloc(alignof(struct access_lane), size);
    if (log->lanes) {
        memset(log->lanes, 0, size);
        log->lane_count = options->lanes;
    } else {
        status = WEIR_NO_MEMORY;
    }
    for (int i = 0; i < log->lane_count && status == WEIR_OK; i++)
        status = open_lane(log, &log->lanes[i], i, err);
    log->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (status != WEIR_OK || log->wake_fd < 0 || pthread_create(&log->thread, NULL, run, log) != 0) {
        release(log);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the access log");
    }
    log->is_started = true;
    *out = log;
    return WEIR_OK;
}

void access_log_stop(struct access_log *log) {
    struct timespec until;
    if (!log || !log->is_started)
        return;
    atomic_store(&log->wants_stop, true);
    wake(log);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_MS / 1000;
    if (pthread_timedjoin_np(log->thread, NULL, &until) != 0) {
        log_event(LOG_ERROR, "access_log_hangs", "limit_ms=%d", STOP_MS);
        return;
    }
    log->is_started = false;
    access_file_drop(&log->file);
    uint64_t lost = log->file.losses - atomic_load(&log->losses);
    for (int i = 0; i < log->lane_count; i++)
        lost += entry_ring_waiting(&log->lanes[i].ring);
    if (lost > 0)
        log_event(LOG_WARN, "access_log_dropped", "at=stop lines=%llu", (unsigned long long)lost);
}

void access_log_close(struct access_log *log) {
    access_log_stop(log);
    if (log && !log->is_started) /* else its thread still has it */
        release(log);
}

void access_log_set(struct access_log *log, enum access_format format, uint32_t percent) {
    atomic_store(&log->format, (int)format);
    atomic_store(&log->percent, percent);
}

void access_log_set_device(struct access_log *log, const char *kind) {
    atomic_store(&log->device_kind, kind);
}

void access_log_reopen(struct access_log *log) {
    atomic_store(&log->wants_reopen, true);
    wake(log);
}

struct access_log_counts access_log_counts(const struct access_log *log) {
    return count(log);
}
