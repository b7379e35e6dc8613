#include "server/http_client.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/clock.h"

enum { CONNECT_MS = 5000, FIRST_BYTES = 16384 };

const char *http_client_read_target(const char *text, const char *fallback_port, struct http_target *out) {
    bool bracketed = *text == '[';
    const char *host = text + bracketed;
    size_t host_length = strcspn(host, bracketed ? "]/" : ":/");
    const char *rest = host + host_length;
    if (bracketed && *rest++ != ']')
        return NULL;
    const char *port = fallback_port;
    size_t port_length = strlen(port);
    if (*rest == ':') {
        port = rest + 1;
        port_length = strspn(port, "0123456789");
        rest = port + port_length;
        if (port_length == 0)
            return NULL;
    }
    if (host_length == 0 || host_length >= sizeof out->host || port_length > 5)
        return NULL;
    snprintf(out->host, sizeof out->host, "%.*s", (int)host_length, host);
    snprintf(out->port, sizeof out->port, "%.*s", (int)port_length, port);
    return strtol(out->port, NULL, 10) <= 65535 ? rest : NULL;
}

const char *http_client_authority(const struct http_target *target, char authority[HTTP_CLIENT_AUTHORITY_BYTES]) {
    snprintf(authority, HTTP_CLIENT_AUTHORITY_BYTES, strchr(target->host, ':') ? "[%s]:%s" : "%s:%s", target->host,
             target->port);
    return authority;
}

/* How long a question may still take. */
struct patience {
    int64_t deadline_ns;
    int hurry_fd, hurry_ms; /* hurry_ms 0: nothing hurries it */
};

/* Waits for events on fd until the deadline. Returns false, with errno set, if they do not come. */
static bool wait_for(int fd, short events, struct patience *patience) {
    for (;;) {
        int64_t left_ms = (patience->deadline_ns - clock_now_ns()) / CLOCK_NS_PER_MS;
        struct pollfd polled[2] = {{.fd = fd, .events = events}, {.fd = patience->hurry_fd, .events = POLLIN}};
        int wait_ms = left_ms > 1000 * 1000 ? 1000 * 1000 : (int)left_ms;
        int n = wait_ms > 0 ? poll(polled, patience->hurry_ms > 0 ? 2 : 1, wait_ms) : 0;
        if (n > 0 && polled[0].revents)
            return true;
        if (n > 0) {
            int64_t end_ns = clock_now_ns() + patience->hurry_ms * (int64_t)CLOCK_NS_PER_MS;
            patience->deadline_ns = end_ns < patience->deadline_ns ? end_ns : patience->deadline_ns;
            patience->hurry_ms = 0;
            continue;
        }
        if (n == 0 && wait_ms < left_ms)
            continue;
        if (n == 0)
            errno = ETIMEDOUT;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

/* Connects to the first address that answers. Returns the socket, or -1 with errno set. */
static int connect_to(const struct addrinfo *address, struct patience *patience) {
    int fault = EHOSTUNREACH;
    for (; address; address = address->ai_next) {
        int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        socklen_t size = sizeof fault;
        if (fd < 0) {
            fault = errno;
            continue;
        }
        if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
            return fd;
        fault = errno;
        if (fault == EINPROGRESS) {
            if (!wait_for(fd, POLLOUT, patience))
                fault = errno;
            else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) == 0 && fault == 0)
                return fd;
        }
        close(fd);
    }
    errno = fault;
    return -1;
}

static bool send_all(int fd, const char *data, size_t size, struct patience *patience) {
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLOUT, patience)) {
            return false;
        }
    }
    return true;
}

/* What was read, and what it says of itself. */
struct reading {
    char *text;
    size_t size, room, most;
    size_t head_size;   /* with the empty line; 0: it has not come yet */
    bool tells_length;  /* by Content-Length, or by having no body */
    size_t body_length; /* if so */
    bool is_chunked;
    int status;     /* 0: it is no HTTP's */
    bool has_ended; /* the peer sends no more */
};

static void look_for_head(struct reading *reading) {
    char value[32];
    char *end = strstr(reading->text, "\r\n\r\n");
    if (!end)
        return;
    reading->head_size = (size_t)(end + 4 - reading->text);
    const struct http_answer head = {.text = reading->text, .body = end + 4};
    if (sscanf(reading->text, "HTTP/1.%*1[01] %3d", &reading->status) != 1)
        reading->status = 0;
    if (reading->status == 204 || reading->status == 304) { /* RFC 9112, 6.3: whatever the head says */
        reading->tells_length = true;
        return;
    }
    reading->is_chunked =
        http_client_header(&head, "transfer-encoding", value, sizeof value) && strcasecmp(value, "chunked") == 0;
    reading->tells_length = !reading->is_chunked && http_client_header(&head, "content-length", value, sizeof value);
    if (reading->tells_length)
        reading->body_length = strtoul(value, NULL, 10);
}

/* Walks over the chunks of a body. With `out` it copies what they hold, which may be the body itself, and *held is its
 * size. Returns whether the last chunk has come. Source: RFC 9112, 7.1. */
static bool walk_chunks(const struct reading *reading, char *out, size_t *held) {
    const char *at = reading->text + reading->head_size, *end = reading->text + reading->size;
    for (*held = 0;;) {
        char *rest;
        const char *line = memmem(at, (size_t)(end - at), "\r\n", 2);
        unsigned long bytes = line ? strtoul(at, &rest, 16) : 0;
        if (!line || rest == at)
            return false;
        if (bytes == 0) /* behind it are trailers, if any, and an empty line */
            return memmem(line, (size_t)(end - line), "\r\n\r\n", 4) != NULL;
        at = line + 2;
        if (bytes > (size_t)(end - at) || (size_t)(end - at) - bytes < 2)
            return false;
        if (out)
            memmove(out + *held, at, bytes);
        *held += bytes;
        at += bytes + 2;
    }
}

static bool is_whole(const struct reading *reading) {
    size_t held;
    if (reading->head_size == 0)
        return false;
    if (reading->is_chunked)
        return walk_chunks(reading, NULL, &held);
    return reading->tells_length ? reading->size - reading->head_size >= reading->body_length : reading->has_ended;
}

/* Makes room for more. Returns false, with errno set, if there is none. */
static bool make_room(struct reading *reading) {
    if (reading->size + 1 < reading->room)
        return true;
    size_t room = reading->room ? reading->room * 2 : FIRST_BYTES;
    char *more = realloc(reading->text, room < reading->most + 1 ? room : reading->most + 1);
    if (!more)
        return false;
    reading->text = more;
    reading->room = room < reading->most + 1 ? room : reading->most + 1;
    return true;
}

/* Reads up to the end of the answer, or to the most bytes. Returns false, with errno set, if not even a head came. */
static bool read_answer(int fd, struct reading *reading, struct patience *patience) {
    errno = 0;
    while (!is_whole(reading) && reading->size < reading->most) {
        if (!make_room(reading))
            break;
        ssize_t n = recv(fd, reading->text + reading->size, reading->room - 1 - reading->size, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (wait_for(fd, POLLIN, patience))
                continue;
            break;
        }
        if (n <= 0) {
            reading->has_ended = n == 0;
            errno = n == 0 ? ECONNRESET : errno;
            break;
        }
        reading->size += (size_t)n;
        reading->text[reading->size] = 0;
        if (reading->size >= 5 && memcmp(reading->text, "HTTP/", 5) != 0) {
            errno = EPROTO;
            break;
        }
        if (reading->head_size == 0)
            look_for_head(reading);
        if (reading->head_size == 0 && reading->size == reading->most)
            errno = EPROTO;
    }
    return reading->head_size > 0;
}

/* Writes the request. Returns NULL if there is no memory. */
static char *write_request(const struct http_question *question, const char *authority, size_t *size) {
    const char *body = question->body ? question->body : "";
    size_t room = strlen(question->path) + strlen(authority) + strlen(body) + 256;
    char *request = malloc(room);
    if (!request)
        return NULL;
    int used = snprintf(request, room, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", question->method,
                        question->path, authority);
    if (strcmp(question->method, "POST") == 0)
        used += snprintf(request + used, room - (size_t)used,
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
    used += snprintf(request + used, room - (size_t)used, "\r\n%s", body);
    *size = (size_t)used;
    return request;
}

/* Sends the request and reads the answer. Returns false, with errno set. */
static bool exchange(const struct http_question *question, const struct addrinfo *addresses, const char *authority,
                     struct reading *reading) {
    int64_t limit_ns = (int64_t)(question->limit_ms > 0 ? question->limit_ms : CONNECT_MS) * CLOCK_NS_PER_MS;
    struct patience patience = {
        .deadline_ns = clock_now_ns() + limit_ns, .hurry_fd = question->hurry_fd, .hurry_ms = question->hurry_ms};
    size_t size = 0;
    char *request = write_request(question, authority, &size);
    int fd = request ? connect_to(addresses, &patience) : -1;
    if (fd >= 0 && question->limit_ms == 0)
        patience.deadline_ns = INT64_MAX;
    bool good = fd >= 0 && send_all(fd, request, size, &patience) && read_answer(fd, reading, &patience);
    int fault = errno;
    free(request);
    if (fd >= 0)
        close(fd);
    errno = fault;
    return good;
}

enum weir_status http_client_ask(const struct http_question *question, struct http_answer *out,
                                 struct weir_error *err) {
    char authority[HTTP_CLIENT_AUTHORITY_BYTES];
    const struct http_target *target = question->target;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses = NULL;
    struct reading reading = {.most = question->most_bytes};
    enum weir_status result = WEIR_OK;
    int fault = getaddrinfo(target->host, target->port, &hints, &addresses);
    if (fault != 0)
        return weir_fail(err, WEIR_IO, "%s: %s", target->host, gai_strerror(fault));
    http_client_authority(target, authority);
    if (!exchange(question, addresses, authority, &reading) && errno != EPROTO)
        result = weir_fail(err, WEIR_IO, "%s: %s", authority, strerror(errno));
    else if (reading.status < 100)
        result = weir_fail(err, WEIR_IO, "%s: does not speak HTTP", authority);
    freeaddrinfo(addresses);
    if (result != WEIR_OK) {
        free(reading.text);
        return result;
    }
    bool whole = is_whole(&reading);
    if (reading.is_chunked) {
        size_t held;
        walk_chunks(&reading, reading.text + reading.head_size, &held);
        reading.size = reading.head_size + held;
        reading.text[reading.size] = 0;
    }
    *out = (struct http_answer){.status = reading.status,
                                .is_whole = whole,
                                .text = reading.text,
                                .body = reading.text + reading.head_size,
                                .body_size = reading.size - reading.head_size};
    return WEIR_OK;
}

bool http_client_header(const struct http_answer *answer, const char *name, char *out, size_t size) {
    size_t name_size = strlen(name);
    const char *end = answer->body - 2; /* at the empty line */
    for (const char *line = strstr(answer->text, "\r\n"); line && line < end; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, name_size) != 0 || line[name_size] != ':')
            continue;
        const char *value = line + name_size + 1;
        value += strspn(value, " \t");
        size_t value_size = strcspn(value, "\r\n");
        while (value_size > 0 && (value[value_size - 1] == ' ' || value[value_size - 1] == '\t'))
            value_size--;
        if (value_size >= size)
            return false;
        memcpy(out, value, value_size);
        out[value_size] = 0;
        return true;
    }
    return false;
}

void http_client_release(struct http_answer *answer) {
    free(answer->text);
    *answer = (struct http_answer){.status = 0};
}
