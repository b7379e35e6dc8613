/* The ceiling: the least that a server on libevent and llhttp can do for a request. It reads the whole body, keeps none
 * of it, and answers every request with the same bytes. No deadlines, no limits, no routes: nothing to put on a
 * network. usage: bare_server [--port N] [--answer-bytes N] [--content-type TYPE] */
#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <llhttp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(LLHTTP_STRICT_MODE == 1, "the parser is compared in the mode that weir uses");

enum { READ_BYTES = 64 * 1024, ACCEPTS_A_TURN = 64 };

struct server {
    struct event_base *base;
    llhttp_settings_t settings;
    char *answer;
    size_t answer_size;
    char read_bytes[READ_BYTES];
};

struct conn {
    struct server *server;
    struct event *event;
    llhttp_t parser;
    uint64_t body_bytes;
    int owed; /* requests that are whole and not answered */
    bool closes;
    int fd;
};

static void conn_close(struct conn *conn) {
    event_free(conn->event);
    close(conn->fd);
    free(conn);
}

static int body_came(llhttp_t *parser, const char *data, size_t size) {
    struct conn *conn = parser->data;
    (void)data;
    conn->body_bytes += size;
    return 0;
}

static int request_came(llhttp_t *parser) {
    struct conn *conn = parser->data;
    conn->owed++;
    conn->closes = !llhttp_should_keep_alive(parser);
    return 0;
}

static void conn_ready(evutil_socket_t fd, short what, void *context) {
    struct conn *conn = context;
    struct server *server = conn->server;
    (void)what;
    ssize_t size = read(fd, server->read_bytes, sizeof server->read_bytes);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0 || llhttp_execute(&conn->parser, server->read_bytes, (size_t)size) != HPE_OK) {
        conn_close(conn);
        return;
    }
    for (; conn->owed > 0; conn->owed--) {
        /* The answer is far smaller than a socket buffer: a client that does not read is not waited for. */
        if (write(fd, server->answer, server->answer_size) != (ssize_t)server->answer_size) {
            conn_close(conn);
            return;
        }
    }
    if (conn->closes)
        conn_close(conn);
}

static void conn_open(struct server *server, int fd) {
    int one = 1;
    struct conn *conn = calloc(1, sizeof *conn);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (conn) {
        *conn = (struct conn){.server = server, .fd = fd};
        llhttp_init(&conn->parser, HTTP_REQUEST, &server->settings);
        conn->parser.data = conn;
        conn->event = event_new(server->base, fd, EV_READ | EV_PERSIST, conn_ready, conn);
    }
    if (!conn || !conn->event || event_add(conn->event, NULL) != 0) {
        fprintf(stderr, "bare_server: no memory\n");
        exit(1);
    }
}

static void listener_ready(evutil_socket_t fd, short what, void *context) {
    (void)what;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted < 0)
            return;
        conn_open(context, accepted);
    }
}

/* Listens on the loopback address; returns the port. */
static int listen_on(int fd, int port) {
    int one = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        perror("bare_server");
        exit(1);
    }
    return ntohs(address.sin_port);
}

static void build_answer(struct server *server, const char *content_type, size_t body_size) {
    char head[256];
    int head_size =
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: %.100s\r\nContent-Length: %zu\r\n\r\n",
                 content_type, body_size);
    server->answer_size = (size_t)head_size + body_size;
    server->answer = malloc(server->answer_size);
    if (!server->answer)
        exit(1);
    memcpy(server->answer, head, (size_t)head_size);
    memset(server->answer + head_size, ' ', body_size);
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"port", required_argument, NULL, 'p'},
                                            {"answer-bytes", required_argument, NULL, 'a'},
                                            {"content-type", required_argument, NULL, 't'},
                                            {NULL, 0, NULL, 0}};
    static struct server server;
    const char *content_type = "application/json";
    int port = 0, option;
    size_t answer_bytes = 100;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'p')
            port = atoi(optarg);
        else if (option == 'a')
            answer_bytes = strtoul(optarg, NULL, 10);
        else if (option == 't')
            content_type = optarg;
        else
            return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    build_answer(&server, content_type, answer_bytes);
    llhttp_settings_init(&server.settings);
    server.settings.on_body = body_came;
    server.settings.on_message_complete = request_came;
    struct event_config *config = event_config_new();
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    server.base = event_base_new_with_config(config);
    event_config_free(config);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    port = listen_on(fd, port);
    struct event *accepting = event_new(server.base, fd, EV_READ | EV_PERSIST, listener_ready, &server);
    if (!accepting || event_add(accepting, NULL) != 0)
        return 1;
    fprintf(stderr, "bare_server listening address=127.0.0.1:%d\nbare_server ready answer_bytes=%zu\n", port,
            answer_bytes);
    return event_base_dispatch(server.base);
}
