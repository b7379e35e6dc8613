#include "tests/fakes/http_double.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_BYTES = 1 << 20 };

/* Reads one request, its body by Content-Length. */
static bool read_request(int fd, char *text) {
    size_t size = 0;
    for (;;) {
        ssize_t n = read(fd, text + size, REQUEST_BYTES - 1 - size);
        if (n <= 0)
            return false;
        text[size += (size_t)n] = 0;
        const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
        if (end && size >= (size_t)(end + 4 - text) + (length ? strtoul(length + 16, NULL, 10) : 0))
            return true;
    }
}

static bool waits(const struct http_double *server, int fd) {
    struct pollfd polled[2] = {{.fd = fd, .events = POLLIN}, {.fd = server->stop_fd, .events = POLLIN}};
    return poll(polled, 2, -1) > 0 && polled[1].revents == 0;
}

static void *run(void *context) {
    struct http_double *server = context;
    char *text = malloc(REQUEST_BYTES);
    for (int i = 0; waits(server, server->fd); i++) {
        int fd = accept(server->fd, NULL, NULL);
        if (waits(server, fd) && read_request(fd, text)) {
            size_t known = strlen(server->requests), more = strlen(text);
            server->requests = realloc(server->requests, known + more + 1);
            memcpy(server->requests + known, text, more + 1);
            atomic_fetch_add(&server->count, 1);
            const char *answer = server->answers[i < server->answer_count ? i : server->answer_count - 1];
            if (!answer)
                waits(server, -1);
            else if (write(fd, answer, strlen(answer)) < 0)
                abort();
        }
        close(fd);
    }
    free(text);
    return NULL;
}

void http_double_start(struct http_double *server) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server->requests = calloc(1, 1);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    server->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (bind(server->fd, (struct sockaddr *)&address, size) != 0 || listen(server->fd, 16) != 0 ||
        getsockname(server->fd, (struct sockaddr *)&address, &size) != 0)
        abort();
    server->port = ntohs(address.sin_port);
    pthread_create(&server->thread, NULL, run, server);
}

void http_double_stop(struct http_double *server) {
    uint64_t one = 1;
    if (write(server->stop_fd, &one, sizeof one) < 0)
        abort();
    pthread_join(server->thread, NULL);
    close(server->fd);
    close(server->stop_fd);
}
