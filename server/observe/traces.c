#include "server/observe/traces.h"

#include <poll.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "engine/clock.h"
#include "engine/thread.h"
#include "server/bytes.h"
#include "server/http_client.h"
#include "server/observe/log.h"
#include "server/observe/otlp.h"

enum {
    TICK_MS = 100,              /* between two looks at the rings */
    WAKE_AT = TRACES_BATCH / 2, /* as many entries in a ring wake the thread */
    MOST_WAIT_S = 30,           /* before a retry, whatever Retry-After says */
    ANSWER_BYTES = 16 * 1024,   /* of the collector's answer that are read */
    JOIN_MS = 500,              /* for the thread's end, after its last export */
};

struct trace_lane {
    struct entry_ring ring;
    struct traces *traces;
    uint64_t random;
    _Atomic uint64_t dropped;
};

struct traces {
    struct trace_lane *lanes;
    int lane_count;
    struct http_target target;
    char *path;
    int64_t export_ns, limit_ns, back_off_ns;
    struct otlp_source source;
    struct trace_entry *pending; /* TRACES_BATCH of them */
    uint32_t pending_count;
    int64_t first_ns; /* when the first of these was taken */
    struct bytes body;
    bool is_told;    /* that the collector does not take traces */
    uint64_t untold; /* lost since then */
    _Atomic uint64_t rejected;
    pthread_t thread;
    bool is_started;
    int wake_fd, stop_fd;
    atomic_bool is_woken, wants_stop;
    _Atomic int64_t stop_ns; /* when the stop ends its waiting */
    _Atomic uint32_t percent;
    _Atomic(const char *) device_kind;
    _Atomic uint64_t exported, failed;
};

/* ---- the loops' side */

struct trace_lane *traces_lane(struct traces *traces, int index) {
    return &traces->lanes[index];
}

bool traces_draw(struct trace_lane *lane) {
    uint32_t percent = atomic_load_explicit(&lane->traces->percent, memory_order_relaxed);
    if (percent == 0 || percent >= 100)
        return percent > 0;
    lane->random ^= lane->random << 13; /* xorshift64, Marsaglia (2003) */
    lane->random ^= lane->random >> 7;
    lane->random ^= lane->random << 17;
    return (lane->random >> 32) * 100 >> 32 < percent;
}

struct trace_entry *traces_begin(struct trace_lane *lane) {
    struct trace_entry *entry = entry_ring_begin(&lane->ring);
    if (entry) {
        memset(entry, 0, offsetof(struct trace_entry, model));
    } else {
        uint64_t dropped = atomic_load_explicit(&lane->dropped, memory_order_relaxed);
        atomic_store_explicit(&lane->dropped, dropped + 1, memory_order_relaxed);
    }
    return entry;
}

static void wake(struct traces *traces) {
    uint64_t one = 1;
    if (atomic_load(&traces->is_woken) || atomic_exchange(&traces->is_woken, true))
        return;
    ssize_t ignored = write(traces->wake_fd, &one, sizeof one);
    (void)ignored;
}

void traces_end(struct trace_lane *lane, struct trace_entry *entry) {
    if (entry_ring_put(&lane->ring, entry, WAKE_AT) >= WAKE_AT)
        wake(lane->traces);
}

/* ---- the thread's side */

/* Takes what waits, as far as there is room for it. */
static void gather(struct traces *traces) {
    for (int i = 0; i < traces->lane_count; i++) {
        struct ring_visit visit;
        ring_visit_begin(&visit, &traces->lanes[i].ring);
        for (const struct trace_entry *entry; traces->pending_count < TRACES_BATCH && (entry = ring_visit_look(&visit));
             ring_visit_next(&visit)) {
            if (traces->pending_count == 0)
                traces->first_ns = clock_now_ns();
            traces->pending[traces->pending_count++] = *entry;
        }
        ring_visit_end(&visit);
    }
}

static bool is_retryable(int status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* What the collector asked to be given, at most MOST_WAIT_S; else back-off with jitter. A date is taken for the latter.
 * Source: OTLP 1.x, "OTLP/HTTP Throttling". */
static int64_t wait_before(struct traces *traces, int attempt, const struct http_answer *answer) {
    char text[32];
    if (answer && http_client_header(answer, "retry-after", text, sizeof text) && strspn(text, "0123456789") > 0) {
        unsigned long seconds = strtoul(text, NULL, 10);
        return (int64_t)(seconds < MOST_WAIT_S ? seconds : MOST_WAIT_S) * CLOCK_NS_PER_S;
    }
    int64_t wait_ns = traces->back_off_ns << attempt;
    traces->source.random += (uint64_t)clock_now_ns();
    return wait_ns / 2 + (int64_t)(traces->source.random % (uint64_t)(wait_ns / 2 + 1));
}

/* Waits so long; less if the stop ends its waiting before. Returns false in that case. */
static bool wait_for(struct traces *traces, int64_t wait_ns) {
    int64_t until_ns = clock_now_ns() + wait_ns;
    for (;;) {
        bool stops = atomic_load(&traces->wants_stop);
        if (stops && atomic_load(&traces->stop_ns) < until_ns)
            return false;
        int64_t left_ms = (until_ns - clock_now_ns() + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
        struct pollfd polled = {.fd = traces->stop_fd, .events = POLLIN};
        if (left_ms <= 0)
            return true;
        poll(&polled, stops ? 0 : 1, (int)left_ms);
    }
}

/* Says once that traces do not get through, and once that they do again. */
static void tell(struct traces *traces, const char *fault, uint32_t lost) {
    static struct log_site failed, well;
    char quoted[600];
    if (fault && traces->is_told)
        traces->untold += lost;
    else if (fault)
        log_event_limited(&failed, clock_now_ns(), LOG_WARN, "traces_failed", "error=%s lost=%u",
                          log_quote(fault, quoted, sizeof quoted), lost);
    else if (!fault && traces->is_told)
        log_event_limited(&well, clock_now_ns(), LOG_INFO, "traces_recovered", "collector=%s", traces->target.host);
    traces->is_told = fault != NULL;
}

/* The collector took them, though perhaps not all of their spans. */
static void look_at_answer(struct traces *traces, const struct http_answer *answer) {
    static struct log_site site;
    uint64_t rejected = answer->is_whole ? otlp_rejected_spans(answer->body) : 0;
    atomic_fetch_add(&traces->rejected, rejected);
    if (rejected > 0)
        log_event_limited(&site, clock_now_ns(), LOG_WARN, "traces_rejected", "collector=%s spans=%llu",
                          traces->target.host, (unsigned long long)rejected);
}

/* Sends the body once. Returns the collector's status; 0: there was no answer, and err says why. *wait_ns: how long to
 * wait before another try. */
static int send_once(struct traces *traces, int attempt, int64_t *wait_ns, struct weir_error *err) {
    struct http_answer answer;
    int64_t left_ms = TRACES_STOP_MS;
    if (atomic_load(&traces->wants_stop))
        left_ms = (atomic_load(&traces->stop_ns) - clock_now_ns()) / CLOCK_NS_PER_MS;
    const struct http_question question = {.target = &traces->target,
                                           .method = "POST",
                                           .path = traces->path,
                                           .body = traces->body.data,
                                           .limit_ms = (int)(traces->limit_ns / CLOCK_NS_PER_MS),
                                           .most_bytes = ANSWER_BYTES,
                                           .hurry_fd = traces->stop_fd,
                                           .hurry_ms = left_ms > 1 ? (int)left_ms : 1};
    *wait_ns = wait_before(traces, attempt, NULL);
    if (http_client_ask(&question, &answer, err) != WEIR_OK)
        return 0;
    int status = answer.status;
    if (status / 100 == 2)
        look_at_answer(traces, &answer);
    else
        weir_fail(err, WEIR_IO, "%.100s answers %d", traces->target.host, status);
    *wait_ns = wait_before(traces, attempt, &answer);
    http_client_release(&answer);
    return status;
}

/* Sends what is pending, with retries, and counts what became of it. */
static void export(struct traces *traces) {
    struct weir_error err = {.text = "no memory"};
    struct timespec unix_now;
    uint32_t count = traces->pending_count;
    int64_t wait_ns;
    clock_gettime(CLOCK_REALTIME, &unix_now);
    traces->source.unix_offset_ns = unix_now.tv_sec * CLOCK_NS_PER_S + unix_now.tv_nsec - clock_now_ns();
    traces->source.device_kind = atomic_load(&traces->device_kind);
    traces->body.size = 0;
    traces->body.failed = false;
    otlp_write(&traces->source, traces->pending, count, &traces->body);
    bytes_append(&traces->body, "", 1);
    traces->pending_count = 0;
    for (int attempt = 0; !traces->body.failed; attempt++) {
        int status = send_once(traces, attempt, &wait_ns, &err);
        if (status / 100 == 2) {
            atomic_fetch_add(&traces->exported, count);
            tell(traces, NULL, 0);
            return;
        }
        if ((status != 0 && !is_retryable(status)) || attempt == TRACES_RETRIES || !wait_for(traces, wait_ns))
            break;
    }
    atomic_fetch_add(&traces->failed, count);
    tell(traces, err.text, count);
}

static bool anything_waits(const struct traces *traces) {
    for (int i = 0; i < traces->lane_count; i++)
        if (entry_ring_waiting(&traces->lanes[i].ring) > 0)
            return true;
    return traces->pending_count > 0;
}

static void sleep_a_tick(struct traces *traces) {
    struct pollfd polled = {.fd = traces->wake_fd, .events = POLLIN};
    uint64_t ignored;
    if (poll(&polled, 1, TICK_MS) > 0 && read(traces->wake_fd, &ignored, sizeof ignored) < 0)
        return;
    atomic_store(&traces->is_woken, false);
}

static void *run(void *context) {
    struct traces *traces = context;
    thread_enter(THREAD_EXPORTER, 0);
    for (;;) {
        bool stops = atomic_load(&traces->wants_stop); /* before the rings: what is in them now is still sent */
        gather(traces);
        bool is_due = traces->pending_count == TRACES_BATCH ||
                      (traces->pending_count > 0 && (stops || clock_now_ns() - traces->first_ns >= traces->export_ns));
        if (stops && (!anything_waits(traces) || clock_now_ns() >= atomic_load(&traces->stop_ns)))
            break;
        if (is_due)
            export(traces);
        else
            sleep_a_tick(traces);
    }
    return NULL;
}

/* ---- its life */

static enum weir_status read_endpoint(struct traces *traces, const char *text, struct weir_error *err) {
    static const char scheme[] = "http://";
    const char *path = NULL;
    if (strncmp(text, scheme, sizeof scheme - 1) == 0)
        path = http_client_read_target(text + sizeof scheme - 1, "4318", &traces->target);
    if (!path || (*path && *path != '/'))
        return weir_fail(err, WEIR_INVALID, "traces_endpoint \"%.200s\" is not http://HOST[:PORT][/PATH]", text);
    traces->path = strdup(*path && strcmp(path, "/") != 0 ? path : "/v1/traces");
    return traces->path ? WEIR_OK : weir_fail(err, WEIR_NO_MEMORY, "no memory for traces");
}

static void release(struct traces *traces) {
    for (int i = 0; i < traces->lane_count; i++)
        entry_ring_close(&traces->lanes[i].ring);
    if (traces->wake_fd >= 0)
        close(traces->wake_fd);
    if (traces->stop_fd >= 0)
        close(traces->stop_fd);
    bytes_release(&traces->body);
    free(traces->pending);
    free(traces->lanes);
    free(traces->path);
    free(traces);
}

static enum weir_status open_lanes(struct traces *traces, int count, struct weir_error *err) {
    size_t size = (size_t)count * sizeof *traces->lanes;
    traces->lanes = aligned_alloc(alignof(struct trace_lane), size);
    traces->pending = calloc(TRACES_BATCH, sizeof *traces->pending);
    if (!traces->lanes || !traces->pending)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for traces");
    memset(traces->lanes, 0, size);
    for (traces->lane_count = 0; traces->lane_count < count;) {
        struct trace_lane *lane = &traces->lanes[traces->lane_count++];
        lane->traces = traces;
        if (getrandom(&lane->random, sizeof lane->random, 0) < 0 || lane->random == 0)
            lane->random = (uint64_t)clock_now_ns() | 1;
        enum weir_status status = entry_ring_open(&lane->ring, TRACES_ENTRIES, sizeof(struct trace_entry), err);
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

enum weir_status traces_open(const struct traces_options *options, struct traces **out, struct weir_error *err) {
    struct traces *traces = calloc(1, sizeof *traces);
    uint64_t random = (uint64_t)clock_now_ns();
    if (!traces)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for traces");
    traces->export_ns = options->export_ns > 0 ? options->export_ns : CLOCK_NS_PER_S;
    traces->limit_ns = options->limit_ns > 0 ? options->limit_ns : 10 * CLOCK_NS_PER_S;
    traces->back_off_ns = options->back_off_ns > 0 ? options->back_off_ns : CLOCK_NS_PER_S;
    traces->source.service = options->service;
    ssize_t ignored = getrandom(&random, sizeof random, 0);
    (void)ignored;
    otlp_name_instance(&traces->source, random);
    traces_set(traces, options->percent);
    traces->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    traces->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    enum weir_status status = read_endpoint(traces, options->endpoint, err);
    if (status == WEIR_OK)
        status = open_lanes(traces, options->lanes, err);
    if (status == WEIR_OK &&
        (traces->wake_fd < 0 || traces->stop_fd < 0 || pthread_create(&traces->thread, NULL, run, traces) != 0))
        status = weir_fail(err, WEIR_NO_MEMORY, "cannot start the thread of the traces");
    if (status != WEIR_OK) {
        release(traces);
        return status;
    }
    traces->is_started = true;
    *out = traces;
    return WEIR_OK;
}

void traces_stop(struct traces *traces) {
    uint64_t one = 1;
    struct timespec until;
    if (!traces || !traces->is_started)
        return;
    atomic_store(&traces->stop_ns, clock_now_ns() + TRACES_STOP_MS * (int64_t)CLOCK_NS_PER_MS);
    atomic_store(&traces->wants_stop, true);
    ssize_t ignored = write(traces->stop_fd, &one, sizeof one);
    (void)ignored;
    wake(traces);
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t until_ns = until.tv_nsec + (TRACES_STOP_MS + JOIN_MS) * (int64_t)CLOCK_NS_PER_MS;
    until.tv_sec += until_ns / CLOCK_NS_PER_S;
    until.tv_nsec = until_ns % CLOCK_NS_PER_S;
    if (pthread_timedjoin_np(traces->thread, NULL, &until) != 0) {
        log_event(LOG_WARN, "traces_hang", "limit_ms=%d", TRACES_STOP_MS + JOIN_MS);
        return;
    }
    traces->is_started = false;
    uint32_t waiting = traces->pending_count;
    for (int i = 0; i < traces->lane_count; i++)
        waiting += entry_ring_waiting(&traces->lanes[i].ring);
    uint64_t no_room = traces_counts(traces).dropped;
    if (waiting > 0 || traces->untold > 0 || no_room > 0)
        log_event(LOG_WARN, "traces_lost", "at=stop waiting=%u failed=%llu no_room=%llu", waiting,
                  (unsigned long long)traces->untold, (unsigned long long)no_room);
}

void traces_close(struct traces *traces) {
    traces_stop(traces);
    if (traces && !traces->is_started) /* else its thread still has it */
        release(traces);
}

void traces_set(struct traces *traces, uint32_t percent) {
    atomic_store(&traces->percent, percent);
}

void traces_set_device(struct traces *traces, const char *kind) {
    atomic_store(&traces->device_kind, kind);
}

struct traces_counts traces_counts(const struct traces *traces) {
    struct traces_counts counts = {.exported = atomic_load(&traces->exported),
                                   .failed = atomic_load(&traces->failed),
                                   .rejected_spans = atomic_load(&traces->rejected)};
    for (int i = 0; i < traces->lane_count; i++)
        counts.dropped += atomic_load_explicit(&traces->lanes[i].dropped, memory_order_relaxed);
    return counts;
}
