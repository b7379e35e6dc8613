#include "server/http/transport.h"

#include <sys/socket.h>
#include <unistd.h>

static ssize_t plain_read(struct transport *transport, void *bytes, size_t size) {
    return read(transport->fd, bytes, size);
}

static ssize_t plain_writev(struct transport *transport, const struct iovec *parts, int count) {
    return writev(transport->fd, parts, count);
}

static void plain_shutdown(struct transport *transport) {
    shutdown(transport->fd, SHUT_WR);
}

static void plain_close(struct transport *transport) {
    close(transport->fd);
    transport->fd = -1;
}

void transport_plain(struct transport *transport, int fd) {
    static const struct transport_ops ops = {
        .read = plain_read, .writev = plain_writev, .shutdown = plain_shutdown, .close = plain_close};
    transport->ops = &ops;
    transport->fd = fd;
}
