#include "server/observe/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "engine/clock.h"

enum { LINE_BYTES = 2048 };
/* poll promises room for PIPE_BUF bytes, and a write of up to that many is never torn. */
_Static_assert(LINE_BYTES <= PIPE_BUF, "a line must fit one atomic write to a pipe");

static struct {
    _Atomic int level;
    _Atomic uint64_t dropped;
    pthread_mutex_t turn; /* held for a poll and a write, neither of which waits */
} sink = {.level = LOG_INFO, .turn = PTHREAD_MUTEX_INITIALIZER};

void log_set_level(enum log_level level) {
    atomic_store_explicit(&sink.level, (int)level, memory_order_relaxed);
}

enum log_level log_level(void) {
    return (enum log_level)atomic_load_explicit(&sink.level, memory_order_relaxed);
}

uint64_t log_dropped(void) {
    return atomic_load_explicit(&sink.dropped, memory_order_relaxed);
}

/* One line, one write. Between poll and write another process that shares the pipe could fill it; threads of this one
 * cannot, they take turns. */
static void deliver(const char *line, size_t size) {
    pthread_mutex_lock(&sink.turn);
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    ssize_t written = -1;
    if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) && !(ready.revents & (POLLERR | POLLNVAL))) {
        do
            written = write(STDERR_FILENO, line, size);
        while (written < 0 && errno == EINTR);
    }
    pthread_mutex_unlock(&sink.turn);
    if (written != (ssize_t)size)
        atomic_fetch_add_explicit(&sink.dropped, 1, memory_order_relaxed);
}

/* Appends to line[*used..), and cuts at the line's end. */
__attribute__((format(printf, 3, 0))) static void append_list(char *line, size_t *used, const char *format,
                                                              va_list args) {
    size_t room = LINE_BYTES - 1 - *used; /* one byte is the newline's */
    int size = vsnprintf(line + *used, room, format, args);
    if (size > 0)
        *used += (size_t)size < room ? (size_t)size : room - 1;
}

__attribute__((format(printf, 3, 4))) static void append(char *line, size_t *used, const char *format, ...) {
    va_list args;
    va_start(args, format);
    append_list(line, used, format, args);
    va_end(args);
}

static void append_time(char *line, size_t *used) {
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    append(line, used, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
           utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_nsec / CLOCK_NS_PER_MS);
}

__attribute__((format(printf, 4, 0))) static void emit(enum log_level level, const char *event, uint64_t repeats,
                                                       const char *format, va_list args) {
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    char line[LINE_BYTES];
    size_t used = 0;
    append_time(line, &used);
    append(line, &used, " %s %s ", levels[level], event);
    size_t before = used;
    append_list(line, &used, format, args);
    if (used == before)
        used--;
    if (repeats > 0) {
        char tail[40];
        int size = snprintf(tail, sizeof tail, " repeats=%" PRIu64, repeats);
        if (used > LINE_BYTES - 2 - (size_t)size)
            used = LINE_BYTES - 2 - (size_t)size; /* the count outlives a cut */
        append(line, &used, "%s", tail);
    }
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7F)
            line[i] = '?'; /* one event stays one line, whatever a value holds */
    line[used++] = '\n';
    deliver(line, used);
}

void log_event(enum log_level level, const char *event, const char *format, ...) {
    if (level > log_level())
        return;
    va_list args;
    va_start(args, format);
    emit(level, event, 0, format, args);
    va_end(args);
}

void log_event_limited(struct log_site *site, int64_t now_ns, enum log_level level, const char *event,
                       const char *format, ...) {
    if (level > log_level())
        return;
    if (now_ns == 0)
        now_ns = 1; /* 0 stands for never */
    int64_t last_ns = atomic_load_explicit(&site->last_ns, memory_order_relaxed);
    bool due = last_ns == 0 || now_ns - last_ns >= CLOCK_NS_PER_S;
    if (!due || !atomic_compare_exchange_strong(&site->last_ns, &last_ns, now_ns)) {
        atomic_fetch_add_explicit(&site->dropped, 1, memory_order_relaxed);
        return;
    }
    uint64_t repeats = atomic_exchange_explicit(&site->dropped, 0, memory_order_relaxed);
    va_list args;
    va_start(args, format);
    emit(level, event, repeats, format, args);
    va_end(args);
}

static bool is_plain(unsigned char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
}

/* The escape of one byte inside quotes; returns its length, at most 4. */
static int escape(unsigned char c, char out[5]) {
    static const char named[] = "\"\"\\\\n\nr\rt\t"; /* pairs: the letter after the backslash, the byte */
    for (int i = 0; named[i]; i += 2)
        if (c == (unsigned char)named[i + 1])
            return snprintf(out, 5, "\\%c", named[i]);
    if (c >= ' ' && c < 0x7F)
        return snprintf(out, 5, "%c", c);
    return snprintf(out, 5, "\\x%02x", c);
}

const char *log_quote(const char *value, char *out, unsigned long size) {
    if (size == 0)
        return out;
    size_t plain = 0;
    while (value[plain] && is_plain((unsigned char)value[plain]))
        plain++;
    size_t used = 0;
    if (plain > 0 && !value[plain]) {
        for (; used < plain && used + 1 < size; used++)
            out[used] = value[used];
        out[used] = 0;
        return out;
    }
    if (size < 3) {
        out[0] = 0;
        return out;
    }
    out[used++] = '"';
    for (; *value; value++) {
        char text[5];
        int length = escape((unsigned char)*value, text);
        if (used + (size_t)length + 2 > size)
            break;
        for (int i = 0; i < length; i++)
            out[used++] = text[i];
    }
    out[used++] = '"';
    out[used] = 0;
    return out;
}
