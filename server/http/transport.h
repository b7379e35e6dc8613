/* How a connection moves bytes: plain TCP today, TLS later. Calls never block. thread: the connection's loop. */
#ifndef WEIR_SERVER_HTTP_TRANSPORT_H
#define WEIR_SERVER_HTTP_TRANSPORT_H

#include <sys/types.h>
#include <sys/uio.h>

struct transport;

struct transport_ops {
    /* As read(2) and writev(2) on a non-blocking socket: -1 with errno EAGAIN means later. */
    ssize_t (*read)(struct transport *transport, void *bytes, size_t size);
    ssize_t (*writev)(struct transport *transport, const struct iovec *parts, int count);
    /* No more will be written; reading goes on. */
    void (*shutdown)(struct transport *transport);
    void (*close)(struct transport *transport);
};

struct transport {
    const struct transport_ops *ops;
    int fd;
};

/* Takes over an accepted, non-blocking socket. */
void transport_plain(struct transport *transport, int fd);

#endif
