#include "loadtest/abuse.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/clock.h"

enum {
    EVENTS = 256,
    PAUSE_NS = 2 * CLOCK_NS_PER_MS,
    STUCK_S = 60, /* a script that takes longer is given up */
    SLOW_READ_BYTES = 2048,
};

const struct script abuse_scripts[ABUSE_SCRIPTS] = {
    {"whole", GOOD, 40, {HEAD, BODY, ANSWER}},
    {"pipelined", GOOD, 4, {TWICE, HEAD, BODY, ANSWER, ANSWER, ANSWER}},
    {"in_pieces", GOOD, 4, {HEAD_HALF, PAUSE, HEAD, BODY_HALF, PAUSE, BODY, ANSWER}},
    {"half_closed", GOOD, 4, {HEAD, BODY, SHUT, ANSWER, CLOSE}},
    {"hurried", HURRIED, 6, {HEAD, BODY, ANSWER}},
    {"broken_json", BROKEN, 6, {HEAD, BODY, ANSWER}},
    {"narrow_row", NARROW, 6, {HEAD, BODY, ANSWER}},
    {"read_slowly", BIG, 1, {HEAD, BODY, ANSWER_SLOW}},
    {"left_in_head", GOOD, 4, {HEAD_HALF, CLOSE}},
    {"left_after_head", GOOD, 4, {HEAD, CLOSE}},
    {"left_in_body", GOOD, 4, {HEAD, BODY_HALF, CLOSE}},
    {"left_after_body", GOOD, 6, {HEAD, BODY, CLOSE}},
    {"left_in_answer", BIG, 1, {HEAD, BODY, ANSWER_PART, RESET}},
    {"reset_after_100", EXPECT, 3, {HEAD, INTERIM, RESET}},
    {"reset_in_body", EXPECT, 3, {HEAD, INTERIM, BODY_HALF, RESET}},
    {"reset_after_body", EXPECT, 3, {HEAD, INTERIM, BODY, RESET}},
    {"reset_in_queue", EXPECT, 3, {HEAD, INTERIM, BODY, PAUSE, RESET}},
};
static _Noreturn void die(const char *what, const char *why) {
    fprintf(stderr, "abuse: %s: %s\n", what, why);
    exit(2);
}

static uint64_t draw(struct abuse *abuse) {
    abuse->random ^= abuse->random << 13;
    abuse->random ^= abuse->random >> 7;
    abuse->random ^= abuse->random << 17;
    return abuse->random >> 11;
}

static const struct script *choose_script(struct abuse *abuse) {
    uint64_t sum = 0;
    if (abuse->only)
        return abuse->only;
    for (int i = 0; i < ABUSE_SCRIPTS; i++)
        sum += (uint64_t)abuse_scripts[i].weight;
    uint64_t at = draw(abuse) % sum;
    const struct script *script = abuse_scripts;
    for (; at >= (uint64_t)script->weight; script++)
        at -= (uint64_t)script->weight;
    return script;
}

static void conn_close(struct conn *conn, bool reset) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (conn->fd < 0)
        return;
    if (reset)
        setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(conn->fd);
    conn->fd = -1;
}

static void conn_open(struct abuse *abuse, struct conn *conn) {
    int one = 1, small = SLOW_READ_BYTES;
    conn->fd = socket(abuse->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (conn->fd < 0)
        die("socket", strerror(errno));
    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (conn->script->request == BIG)
        setsockopt(conn->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = conn};
    conn->connecting = true;
    if (connect(conn->fd, (struct sockaddr *)&abuse->address, abuse->address_size) != 0 && errno != EINPROGRESS)
        die("connect", strerror(errno));
    if (epoll_ctl(abuse->epoll, EPOLL_CTL_ADD, conn->fd, &event) != 0)
        die("epoll", strerror(errno));
}

static const struct load_request *request_of(const struct abuse *abuse, const struct conn *conn) {
    return &abuse->requests[conn->script->request];
}

static void renew_request(struct abuse *abuse, struct conn *conn) {
    const struct load_request *request = request_of(abuse, conn);
    memcpy(conn->bytes, request->bytes, request->size);
    conn->first_number = abuse->next_number;
    load_request_number(request, conn->bytes, conn->first_number);
    conn->sent = 0;
}

/* Begins the next script, or leaves the connection closed when there is to be no more. */
static void begin_script(struct abuse *abuse, struct conn *conn) {
    int64_t now_ns = clock_now_ns();
    if (abuse->begun >= abuse->limit || now_ns >= abuse->end_ns) {
        conn_close(conn, false);
        conn->script = NULL;
        abuse->active--;
        return;
    }
    conn->script = choose_script(abuse);
    abuse->begun++;
    abuse->played[conn->script - abuse_scripts]++;
    conn->step = conn->script->steps;
    conn->copies = conn->owed = 0;
    conn->wake_ns = 0;
    conn->began_ns = now_ns;
    load_answer_reset(&conn->answer);
    renew_request(abuse, conn);
    abuse->next_number += request_of(abuse, conn)->place_count;
    if (conn->script->request == BIG) /* it wants a small receive buffer from the start */
        conn_close(conn, false);
    if (conn->fd < 0)
        conn_open(abuse, conn);
}

/* Counts what the script has sent so far and nobody will read the answer of. */
static void abandon(struct abuse *abuse, struct conn *conn) {
    abuse->abandoned += (uint64_t)conn->owed;
    conn->owed = 0;
}

/* The connection ended, or said what is no answer: the script cannot go on. */
static void break_off(struct abuse *abuse, struct conn *conn, uint64_t *counter) {
    *counter += 1;
    abandon(abuse, conn);
    conn_close(conn, false);
    begin_script(abuse, conn);
}

static void answer_came(struct abuse *abuse, struct conn *conn) {
    const struct load_request *request = request_of(abuse, conn);
    const struct load_answer *answer = &conn->answer;
    abuse->codes[answer->status]++;
    conn->owed--;
    if (answer->status == 200 && request->place_count > 0) {
        if (load_request_matches(request, answer->body, answer->body_size, conn->first_number))
            abuse->numbers_right++;
        else
            abuse->numbers_wrong++;
    }
}

enum read_result { READ_MORE, READ_ANSWER, READ_ENDED, READ_MALFORMED };

/* Reads at most `room` bytes, not beyond the present answer. */
static enum read_result read_some(struct conn *conn, size_t room) {
    static char bytes[64 * 1024];
    size_t taken;
    ssize_t size = recv(conn->fd, bytes, room < sizeof bytes ? room : sizeof bytes, MSG_PEEK);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? READ_MORE : READ_ENDED;
    if (size == 0)
        return READ_ENDED;
    enum load_answer_state state = load_answer_feed_some(&conn->answer, bytes, (size_t)size, &taken);
    if (recv(conn->fd, bytes, taken, 0) != (ssize_t)taken || state == LOAD_ANSWER_MALFORMED)
        return READ_MALFORMED;
    return state == LOAD_ANSWER_WHOLE ? READ_ANSWER : READ_MORE;
}

static bool pause_is_over(struct conn *conn) {
    if (conn->wake_ns == 0)
        conn->wake_ns = clock_now_ns() + PAUSE_NS;
    if (clock_now_ns() < conn->wake_ns)
        return false;
    conn->wake_ns = 0;
    return true;
}

enum play { PLAY_NEXT, PLAY_WAIT, PLAY_OVER }; /* OVER: another script has begun */

/* An answer is whole. One that came early, or ends the connection, ends the script: the rest is not sent. */
static enum play take_answer(struct abuse *abuse, struct conn *conn) {
    bool early = conn->sent < request_of(abuse, conn)->size, closes = conn->answer.closes;
    answer_came(abuse, conn);
    load_answer_reset(&conn->answer);
    if (!early && !closes && conn->step[1] == ANSWER)
        return PLAY_NEXT;
    bool ends = early || closes || conn->step[1] != END;
    if (conn->owed > 0 && closes) /* the server drops what follows a request after which it closes */
        abuse->heads -= (uint64_t)conn->owed;
    if (ends)
        conn_close(conn, false);
    begin_script(abuse, conn);
    return PLAY_OVER;
}

static enum play read_answer(struct abuse *abuse, struct conn *conn, size_t room) {
    for (;;) {
        enum read_result result = read_some(conn, room);
        if (result == READ_ANSWER)
            return take_answer(abuse, conn);
        if (result == READ_ENDED || result == READ_MALFORMED) {
            break_off(abuse, conn, result == READ_ENDED ? &abuse->unheard : &abuse->malformed);
            return PLAY_OVER;
        }
        if (room == SLOW_READ_BYTES) {
            conn->wake_ns = clock_now_ns() + PAUSE_NS;
            return PLAY_WAIT;
        }
        char byte;
        if (recv(conn->fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN)
            return PLAY_WAIT;
    }
}

/* Waits for a 100 or for the answer's first bytes. */
static enum play read_sign(struct abuse *abuse, struct conn *conn) {
    enum read_result result = read_some(conn, 64);
    bool seen = *conn->step == INTERIM ? conn->answer.interim : conn->answer.status > 0;
    if (result == READ_ANSWER)
        return take_answer(abuse, conn);
    if (seen)
        return PLAY_NEXT;
    if (result == READ_MORE && conn->answer.status > 0) /* a final answer where a 100 was waited for */
        return read_answer(abuse, conn, SIZE_MAX);
    if (result == READ_MORE) {
        char byte;
        return recv(conn->fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN ? PLAY_WAIT : read_sign(abuse, conn);
    }
    break_off(abuse, conn, result == READ_ENDED ? &abuse->unheard : &abuse->malformed);
    return PLAY_OVER;
}

static enum play leave(struct abuse *abuse, struct conn *conn, bool reset) {
    abandon(abuse, conn);
    conn_close(conn, reset);
    begin_script(abuse, conn);
    return PLAY_OVER;
}

/* Sends the request up to `end`. */
static enum play send_to(struct abuse *abuse, struct conn *conn, size_t end) {
    size_t head_size = request_of(abuse, conn)->head_size;
    while (conn->sent < end) {
        ssize_t size = send(conn->fd, conn->bytes + conn->sent, end - conn->sent, MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            return PLAY_WAIT;
        if (size < 0) /* the server closed; it may have answered before */
            return read_answer(abuse, conn, SIZE_MAX);
        if (conn->sent < head_size && conn->sent + (size_t)size >= head_size) {
            abuse->heads++;
            conn->owed++;
        }
        conn->sent += (size_t)size;
    }
    return PLAY_NEXT;
}

static enum play send_copies(struct abuse *abuse, struct conn *conn) {
    for (; conn->copies < 2; conn->copies++, conn->sent = 0) {
        enum play what = send_to(abuse, conn, request_of(abuse, conn)->size);
        if (what != PLAY_NEXT)
            return what;
    }
    return PLAY_NEXT;
}

static enum play play_step(struct abuse *abuse, struct conn *conn) {
    const struct load_request *request = request_of(abuse, conn);
    size_t head = request->head_size, size = request->size;
    switch (*conn->step) {
    case HEAD_HALF:
        return send_to(abuse, conn, head / 2);
    case HEAD: /* with the body, if that is to follow at once */
        return send_to(abuse, conn, conn->step[1] == BODY ? size : head);
    case BODY_HALF:
        return send_to(abuse, conn, head + (size - head) / 2);
    case BODY:
        return send_to(abuse, conn, size);
    case TWICE:
        return send_copies(abuse, conn);
    case INTERIM:
    case ANSWER_PART:
        return read_sign(abuse, conn);
    case ANSWER:
        return read_answer(abuse, conn, SIZE_MAX);
    case ANSWER_SLOW:
        return conn->wake_ns > 0 && !pause_is_over(conn) ? PLAY_WAIT : read_answer(abuse, conn, SLOW_READ_BYTES);
    case PAUSE:
        return pause_is_over(conn) ? PLAY_NEXT : PLAY_WAIT;
    case SHUT:
        shutdown(conn->fd, SHUT_WR);
        return PLAY_NEXT;
    case RESET:
        return leave(abuse, conn, true);
    case CLOSE:
    case END:
        break;
    }
    return leave(abuse, conn, false);
}

/* Goes on with the connection's scripts as far as that is possible now. */
static void play(struct abuse *abuse, struct conn *conn) {
    while (conn->script && !conn->connecting) {
        enum play what = play_step(abuse, conn);
        if (what == PLAY_WAIT)
            return;
        if (what == PLAY_NEXT)
            conn->step++;
    }
}

static void conn_ready(struct abuse *abuse, struct conn *conn, uint32_t events) {
    if (conn->fd < 0 || !conn->script)
        return;
    if (conn->connecting) {
        int code = 0;
        socklen_t size = sizeof code;
        getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &code, &size);
        if (code != 0)
            die("connect", strerror(code));
        conn->connecting = !(events & EPOLLOUT);
    }
    play(abuse, conn);
}

/* Plays on where a pause is over; gives up what does not get on. Returns in how many ms to look again. */
static int wake_sleepers(struct abuse *abuse) {
    int64_t now_ns = clock_now_ns(), next_ns = now_ns + 100 * CLOCK_NS_PER_MS;
    for (int i = 0; i < abuse->options.connections; i++) {
        struct conn *conn = &abuse->conns[i];
        if (!conn->script)
            continue;
        if (now_ns - conn->began_ns > STUCK_S * CLOCK_NS_PER_S) {
            fprintf(stderr, "abuse: the script %s is stuck\n", conn->script->name);
            break_off(abuse, conn, &abuse->stuck);
        } else if (conn->wake_ns > 0 && conn->wake_ns <= now_ns) {
            play(abuse, conn);
        }
        if (conn->wake_ns > 0 && conn->wake_ns < next_ns)
            next_ns = conn->wake_ns;
    }
    return next_ns <= now_ns ? 0 : (int)((next_ns - now_ns) / CLOCK_NS_PER_MS) + 1;
}

void abuse_run(struct abuse *abuse) {
    struct epoll_event events[EVENTS];
    for (int i = 0; i < abuse->options.connections; i++)
        begin_script(abuse, &abuse->conns[i]);
    while (abuse->active > 0) {
        int count = epoll_wait(abuse->epoll, events, EVENTS, wake_sleepers(abuse));
        for (int i = 0; i < count; i++)
            conn_ready(abuse, events[i].data.ptr, events[i].events);
    }
}
