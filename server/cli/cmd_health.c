#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/clock.h"
#include "server/cli/command.h"
#include "server/exit_code.h"

enum { LIMIT_MS = 2000, ANSWER_MAX_BYTES = 16384 };

/* Whom to ask, and for what. */
struct target {
    char host[256];
    char port[8];
    char path[160];
};

/* Reads "http://host:port/path", "host:port", "[::1]:port" or "host". Returns false if it is none of these. */
static bool read_url(const char *url, struct target *out) {
    bool has_scheme = strncasecmp(url, "http://", 7) == 0;
    const char *host = has_scheme ? url + 7 : url;
    bool bracketed = *host == '[';
    host += bracketed;
    size_t host_length = strcspn(host, bracketed ? "]/" : ":/");
    const char *rest = host + host_length;
    if (bracketed && *rest++ != ']')
        return false;
    size_t port_length = 0;
    const char *port = has_scheme ? "80" : "8000";
    if (*rest == ':') {
        port = rest + 1;
        port_length = strspn(port, "0123456789");
        rest = port + port_length;
        if (port_length == 0)
            return false;
    } else {
        port_length = strlen(port);
    }
    if (host_length == 0 || host_length >= sizeof out->host || port_length > 5 || (*rest && *rest != '/'))
        return false;
    const char *path = strlen(rest) > 1 ? rest : "/health/ready";
    if (strlen(path) >= sizeof out->path || path[strcspn(path, " \r\n\t")])
        return false;
    snprintf(out->host, sizeof out->host, "%.*s", (int)host_length, host);
    snprintf(out->port, sizeof out->port, "%.*s", (int)port_length, port);
    snprintf(out->path, sizeof out->path, "%s", path);
    return strtol(out->port, NULL, 10) <= 65535;
}

/* Finds the server that `weir serve` with the same configuration would be. Returns false after saying why not. */
static bool read_config(int argc, char **argv, struct target *out) {
    const struct config_sources sources = command_sources(argc, argv);
    struct config_problems problems = {.count = 0};
    struct config config;
    if (!config_load(&sources, &config, &problems)) {
        command_print_problems(&problems, CONFIG_ERROR);
        return false;
    }
    size_t bracket = *config.host == '[';
    int64_t port = config.ops_port != 0 ? config.ops_port : config.port;
    snprintf(out->host, sizeof out->host, "%.*s", (int)strcspn(config.host + bracket, "]"), config.host + bracket);
    if (strcmp(out->host, "0.0.0.0") == 0)
        snprintf(out->host, sizeof out->host, "127.0.0.1");
    else if (strcmp(out->host, "::") == 0)
        snprintf(out->host, sizeof out->host, "::1");
    snprintf(out->port, sizeof out->port, "%lld", (long long)port);
    snprintf(out->path, sizeof out->path, "%s/ready", config.health_path);
    config_release(&config);
    if (port == 0)
        command_misuse(&command_health, "port is 0, which names no server: give --port");
    return port != 0;
}

/* Waits for events on fd until the deadline. Returns false, with errno set, if they do not come. */
static bool wait_for(int fd, short events, int64_t deadline_ns) {
    for (;;) {
        int64_t left_ms = (deadline_ns - clock_now_ns()) / CLOCK_NS_PER_MS;
        struct pollfd poller = {.fd = fd, .events = events};
        int n = left_ms > 0 ? poll(&poller, 1, (int)left_ms) : 0;
        if (n > 0)
            return true;
        if (n == 0)
            errno = ETIMEDOUT;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

/* Connects to the first address that answers. Returns the socket, or -1 with errno set. */
static int connect_to(const struct addrinfo *address, int64_t deadline_ns) {
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
            if (!wait_for(fd, POLLOUT, deadline_ns))
                fault = errno;
            else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) == 0 && fault == 0)
                return fd;
        }
        close(fd);
    }
    errno = fault;
    return -1;
}

static bool send_all(int fd, const char *data, size_t size, int64_t deadline_ns) {
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLOUT, deadline_ns)) {
            return false;
        }
    }
    return true;
}

/* True when answer holds a whole head and, if the head says how long it is, a whole body. */
static bool is_whole(const char *answer, size_t size) {
    const char *end = strstr(answer, "\r\n\r\n");
    const char *length = strcasestr(answer, "\r\ncontent-length:");
    if (!end || !length || length > end)
        return false;
    return size - (size_t)(end + 4 - answer) >= strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
}

/* Reads up to the end of the answer, which becomes a string. Returns false, with errno set, if not even a head came. */
static bool read_answer(int fd, char *answer, int64_t deadline_ns) {
    size_t used = 0;
    *answer = 0;
    while (used < ANSWER_MAX_BYTES - 1 && !is_whole(answer, used)) {
        ssize_t n = recv(fd, answer + used, ANSWER_MAX_BYTES - 1 - used, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (wait_for(fd, POLLIN, deadline_ns))
                continue;
            break;
        }
        if (n <= 0) {
            errno = n == 0 ? ECONNRESET : errno;
            break;
        }
        used += (size_t)n;
        answer[used] = 0;
    }
    return strstr(answer, "\r\n\r\n") != NULL;
}

/* Asks target. Returns the status of the answer, or 0 after saying what went wrong. */
static int ask(const struct target *target, char *answer) {
    char request[1024], authority[280];
    int64_t deadline_ns = clock_now_ns() + (int64_t)LIMIT_MS * CLOCK_NS_PER_MS;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses = NULL;
    int status = 0;
    int fd = -1;
    int fault = getaddrinfo(target->host, target->port, &hints, &addresses);
    if (fault != 0) {
        fprintf(stderr, "weir: %s: %s\n", target->host, gai_strerror(fault));
        return 0;
    }
    snprintf(authority, sizeof authority, strchr(target->host, ':') ? "[%s]:%s" : "%s:%s", target->host, target->port);
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
                          target->path, authority);
    fd = connect_to(addresses, deadline_ns);
    if (fd < 0 || !send_all(fd, request, (size_t)length, deadline_ns) || !read_answer(fd, answer, deadline_ns)) {
        fprintf(stderr, "weir: %s: %s\n", authority, strerror(errno));
    } else if (sscanf(answer, "HTTP/1.%*1[01] %3d", &status) != 1 || status < 100) {
        fprintf(stderr, "weir: %s: does not speak HTTP\n", authority);
        status = 0;
    }
    freeaddrinfo(addresses);
    if (fd >= 0)
        close(fd);
    return status;
}

/* Prints the verdict and the body on one line, without what could upset a terminal. */
static void print_answer(int status, const char *answer) {
    const char *body = strstr(answer, "\r\n\r\n") + 4;
    size_t size = strlen(body);
    while (size > 0 && strchr(" \r\n\t", body[size - 1]))
        size--;
    printf("%s: %d ", status == 200 ? "ready" : "not ready", status);
    for (size_t i = 0; i < size; i++)
        putchar((unsigned char)body[i] < 0x20 || body[i] == 0x7F ? ' ' : body[i]);
    putchar('\n');
}

static int run(int argc, char **argv) {
    struct target target;
    char *answer = malloc(ANSWER_MAX_BYTES);
    int code = EXIT_CODE_USAGE;
    if (!answer) {
        code = EXIT_CODE_INTERNAL;
    } else if (argc == 1 && argv[0][0] != '-') {
        if (read_url(argv[0], &target))
            code = EXIT_CODE_DONE;
        else
            command_misuse(&command_health, "\"%.100s\" is not of the form http://HOST:PORT/PATH", argv[0]);
    } else if (read_config(argc, argv, &target)) {
        code = EXIT_CODE_DONE;
    }
    if (code == EXIT_CODE_DONE) {
        int status = ask(&target, answer);
        if (status > 0)
            print_answer(status, answer);
        code = status == 200 ? EXIT_CODE_DONE : EXIT_CODE_FAULT;
    }
    free(answer);
    return code;
}

const struct command command_health = {
    "health",
    "ask a running server whether it is ready",
    "usage: weir health [-c FILE] [--host HOST] [--port PORT]\n"
    "       weir health http://HOST:PORT[/PATH]\n"
    "\n"
    "Asks for HEALTH_PATH/ready, waits at most 2 seconds and prints the answer. It\n"
    "finds the server in the same flags, variables and file as `weir serve`, so a\n"
    "container's health check needs no arguments.\n"
    "\n"
    "exit: 0 ready, 1 not ready or no answer, 2 usage or configuration\n",
    run,
};
