/* The event log: one line an event, `time level event key=value ...`, on stderr. Never blocks the caller: a line that
 * the sink cannot take at once is dropped and counted. */
#ifndef WEIR_SERVER_OBSERVE_LOG_H
#define WEIR_SERVER_OBSERVE_LOG_H

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* thread: any, also while others log. */
void log_set_level(enum log_level level);
enum log_level log_level(void);

/* log_event(LOG_INFO, "model_loaded", "model=%s version=%u", ...). format holds the keys; values with spaces, quotes or
 * control characters are the caller's to pass through log_quote. Lines are cut at 2 KiB. thread: any. */
void log_event(enum log_level level, const char *event, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* At most one line a second for each site; the next line says how many were left out (repeats=N). One static site per
 * place in the code. thread: any. */
struct log_site {
    _Atomic int64_t last_ns;
    _Atomic uint64_t dropped;
};
void log_event_limited(struct log_site *site, int64_t now_ns, enum log_level level, const char *event,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Writes value as it may stand after key=: as it is, or in double quotes with \ escapes when it has spaces, quotes,
 * `=` or bytes outside printable ASCII. Cuts to fit. Returns out. */
const char *log_quote(const char *value, char *out, unsigned long size);

/* Lines lost because the sink was full or broken. */
uint64_t log_dropped(void);

#endif
