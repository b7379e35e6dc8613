#include "server/http/loop.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "engine/clock.h"
#include "engine/thread.h"
#include "server/http/conn.h"

/* The limits a loop has before the service sets its own. */
static const struct loop_options default_options = {
    .head_timeout_ns = 10 * CLOCK_NS_PER_S,
    .body_timeout_ns = 30 * CLOCK_NS_PER_S,
    .write_timeout_ns = 30 * CLOCK_NS_PER_S,
    .idle_timeout_ns = 75 * CLOCK_NS_PER_S,
    .framing = {.target_bytes = 8 * 1024, .head_bytes = 16 * 1024, .header_count = 64},
};

enum {
    BREATH_US = 500,
    AT_ONCE_US = 50, /* a turn that begins this soon after the last did not wait for anything */
};

static void mailbox_ready(evutil_socket_t fd, short what, void *context) {
    struct loop *loop = context;
    (void)fd;
    (void)what;
    mailbox_quiet(&loop->mailbox);
    mailbox_deliver(&loop->mailbox);
}

static void set_timer(struct loop *loop, int64_t at_ns) {
    int64_t now_ns = clock_now_ns();
    int64_t wait_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    wait_ns += CLOCK_NS_PER_US; /* round up: never early */
    struct timeval wait = {.tv_sec = wait_ns / CLOCK_NS_PER_S, .tv_usec = wait_ns % CLOCK_NS_PER_S / CLOCK_NS_PER_US};
    loop->timer_ns = at_ns;
    event_add(loop->timer, &wait);
}

static void timer_ready(evutil_socket_t fd, short what, void *context) {
    struct loop *loop = context;
    (void)fd;
    (void)what;
    int64_t now_ns = loop_now(loop);
    loop->timer_ns = DEADLINE_NEVER;
    struct deadline *deadline;
    while ((deadline = deadlines_pop(&loop->deadlines, now_ns)) != NULL)
        conn_deadline_passed(deadline, loop);
    int64_t next_ns = deadlines_next_ns(&loop->deadlines);
    if (next_ns < loop->timer_ns)
        set_timer(loop, next_ns);
}

enum weir_status loop_open(struct loop *loop, int index, struct weir_error *err) {
    memset(loop, 0, sizeof *loop);
    loop->index = index;
    loop->timer_ns = DEADLINE_NEVER;
    loop->mailbox.fd = -1;
    loop->options = default_options;
    struct event_config *config = event_config_new();
    if (config) {
        event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NOLOCK);
        loop->base = event_base_new_with_config(config);
        event_config_free(config);
    }
    loop->read_bytes = malloc(LOOP_READ_BYTES);
    if (!loop->base || !loop->read_bytes || !deadlines_reserve(&loop->deadlines, 1)) {
        loop_close(loop);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for event loop %d", index);
    }
    if (!mailbox_open(&loop->mailbox)) {
        loop_close(loop);
        return weir_fail(err, WEIR_IO, "no eventfd for event loop %d", index);
    }
    loop->mailbox_event = event_new(loop->base, loop->mailbox.fd, EV_READ | EV_PERSIST, mailbox_ready, loop);
    loop->timer = event_new(loop->base, -1, 0, timer_ready, loop);
    if (!loop->mailbox_event || !loop->timer || event_add(loop->mailbox_event, NULL) != 0) {
        loop_close(loop);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the events of loop %d", index);
    }
    if (getrandom(&loop->random, sizeof loop->random, GRND_NONBLOCK) != (ssize_t)sizeof loop->random)
        loop->random = (uint64_t)loop_now(loop) + (uint64_t)index;
    loop_now(loop);
    return WEIR_OK;
}

void loop_close(struct loop *loop) {
    if (loop->mailbox_event)
        event_free(loop->mailbox_event);
    if (loop->timer)
        event_free(loop->timer);
    mailbox_close(&loop->mailbox);
    if (loop->base)
        event_base_free(loop->base);
    deadlines_release(&loop->deadlines);
    bytes_release(&loop->scratch);
    free(loop->read_bytes);
    loop->mailbox_event = NULL;
    loop->timer = NULL;
    loop->base = NULL;
    loop->read_bytes = NULL;
}

uint64_t loop_random(struct loop *loop) {
    uint64_t mixed = loop->random += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (mixed ^ (mixed >> 31)) | 1;
}

void loop_event(struct loop *loop) {
    loop_now(loop);
    if (loop->turn_ns != 0)
        return;
    loop->turn_ns = loop->breath_ns = loop->now_ns;
    /* After a sleep what is read has just come; without one it may have waited for as long as the turn before took. */
    loop->arrival_ns = loop->now_ns;
    if (loop->now_ns - loop->ended_ns < AT_ONCE_US * CLOCK_NS_PER_US)
        loop->arrival_ns -= loop->length_ns;
}

static void end_turn(struct loop *loop) {
    if (loop->turn_ns == 0)
        return; /* no connection had an event */
    loop->ended_ns = clock_now_ns();
    loop->length_ns = loop->ended_ns - loop->turn_ns;
    loop->turn_ns = 0;
}

void loop_breathe(struct loop *loop) {
    if (loop->now_ns - loop->breath_ns < BREATH_US * CLOCK_NS_PER_US)
        return;
    loop->breath_ns = loop->now_ns;
    mailbox_deliver(&loop->mailbox);
    if (loop->end_of_turn)
        loop->end_of_turn(loop, loop->end_of_turn_context);
}

void loop_run(struct loop *loop) {
    while (!loop->stop) {
        /* One turn: wait, then run everything that was ready. */
        event_base_loop(loop->base, loop->paced ? EVLOOP_NONBLOCK : EVLOOP_ONCE);
        conn_resume_paced(loop);
        end_turn(loop);
        if (loop->end_of_turn)
            loop->end_of_turn(loop, loop->end_of_turn_context);
    }
}

static void *run_thread(void *context) {
    struct loop *loop = context;
    thread_enter(THREAD_LOOP, loop->index);
    thread_prefer_short_waits();
    loop_run(loop);
    return NULL;
}

enum weir_status loop_start(struct loop *loop, struct weir_error *err) {
    int error = pthread_create(&loop->thread, NULL, run_thread, loop);
    if (error != 0)
        return weir_fail(err, WEIR_NO_MEMORY, "cannot start the thread of loop %d: %s", loop->index, strerror(error));
    loop->started = true;
    return WEIR_OK;
}

void loop_stop(struct loop *loop) {
    loop->stop = true;
}

int64_t loop_now(struct loop *loop) {
    loop->now_ns = clock_now_ns();
    return loop->now_ns;
}

void loop_set_deadline(struct loop *loop, struct deadline *deadline, int64_t at_ns) {
    deadlines_set(&loop->deadlines, deadline, at_ns);
    int64_t next_ns = deadlines_next_ns(&loop->deadlines);
    if (next_ns < loop->timer_ns)
        set_timer(loop, next_ns);
}

const char *loop_date(struct loop *loop) {
    if (loop->date_ns == 0 || loop->now_ns - loop->date_ns >= CLOCK_NS_PER_S) {
        time_t now = time(NULL);
        struct tm utc;
        gmtime_r(&now, &utc);
        static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        snprintf(loop->date_text, sizeof loop->date_text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[utc.tm_wday],
                 utc.tm_mday, months[utc.tm_mon], (utc.tm_year + 1900) % 10000, utc.tm_hour, utc.tm_min, utc.tm_sec);
        loop->date_ns = loop->now_ns;
    }
    return loop->date_text;
}
