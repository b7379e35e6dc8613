/* A connection: a state machine that reads one request at a time and sends its answer before it looks at the next.
 * Bytes of later requests wait in its input; reading stops while too many do. thread: its loop, all of it. */
#ifndef WEIR_SERVER_HTTP_CONN_H
#define WEIR_SERVER_HTTP_CONN_H

#include <event2/event_struct.h>
#include <llhttp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/deadlines.h"
#include "server/http/exchange.h"
#include "server/http/framing.h"
#include "server/http/transport.h"

_Static_assert(LLHTTP_STRICT_MODE == 1, "llhttp must be built in strict mode: its default accepts smuggled requests");

struct listener;
struct loop;

enum conn_state {
    CONN_HEAD,    /* reading a head, or idle between two requests */
    CONN_BODY,    /* reading a body for its handler */
    CONN_WAIT,    /* the handler owes an answer */
    CONN_WRITE,   /* an answer is partly sent */
    CONN_STREAM,  /* an answer without a known end is being sent; what comes is dropped */
    CONN_DISCARD, /* the answer is sent, the rest of the body is read and dropped */
    CONN_LINGER,  /* closing: our side is shut, what comes is dropped so that the answer is not lost to a reset */
    CONN_CLOSED,
};

/* What is read and dropped of a body that is not wanted, so that the connection lives on. */
enum { CONN_DISCARD_BYTES = 1024 * 1024, CONN_HEAD_BYTES = 1536 };

struct conn {
    struct event event;
    struct transport transport;
    struct loop *loop;
    struct listener *listener;
    struct conn *previous, *next;
    struct deadline deadline;
    struct exchange exchange;
    llhttp_t parser;
    struct framing_chunks chunks;
    uint64_t body_left;  /* of a body with Content-Length */
    uint64_t body_limit; /* of a chunked body */
    char *in;            /* bytes kept between two reads, or behind an unanswered request */
    char *out;           /* what is left of a partly sent answer */
    uint32_t in_size, in_capacity, in_seen;
    size_t out_size, out_sent;
    void (*unhold)(void *context, size_t bytes); /* gives the bytes of out back; NULL if nobody counts them */
    void *unhold_context;
    size_t pace;             /* most body bytes in one turn; 0: all */
    struct conn *paced_next; /* in the loop's list of connections with body bytes left for the next turn */
    bool is_paced;
    short watched; /* what the event waits for */
    uint8_t state;
    bool chunked;
    bool body_done; /* llhttp saw the end of the message */
    bool end_of_input;
    bool served;       /* has had an answer */
    bool skipped_line; /* the one empty line that may precede a request */
    bool dispatching;  /* inside conn_work: whoever closes leaves the freeing to it */
    bool parsing_body; /* inside llhttp: where the body ends is not known yet */
    uint16_t code;     /* of the answer being sent */
    uint8_t reason;
};

/* Takes over an accepted socket. refusal: NULL, or an answer (a whole response) that is sent at once before closing. */
void conn_open(struct loop *loop, struct listener *listener, int fd, const char *refusal);

/* Closes at once, telling the handler. */
void conn_close(struct conn *conn);

/* Closes every connection of the loop that owes nothing; the others close after their answer. */
void conn_drain(struct loop *loop);

/* Has every request that waits for its answer answered now, without it. */
void conn_give_up(struct loop *loop);

/* Works on for a while on bodies that are read at a pace. At the end of a turn. */
void conn_resume_paced(struct loop *loop);

void conn_deadline_passed(struct deadline *deadline, struct loop *loop);

/* The rest is for the conn*.c files among themselves. */

/* Waits for `what` (EV_READ, EV_WRITE, EV_ET) from now on. */
void conn_watch(struct conn *conn, short what);
void conn_read(struct conn *conn);
void conn_flush(struct conn *conn);
/* Writes an answer's head into CONN_HEAD_BYTES. is_stream: its body has no known size. Returns its bytes. */
size_t conn_write_head(struct conn *conn, const struct reply *reply, bool is_stream, char *head);
/* Sends more of `out`. Returns true when that was all; false: the rest is waited for, or the connection is closed. */
bool conn_send_kept(struct conn *conn);
/* Sends what a stream's client did not take so far. */
void conn_flush_stream(struct conn *conn);
/* Ends an open stream, and the connection. */
void conn_end_stream(struct conn *conn);
/* Gives the bytes of out back to whoever counts them. */
void conn_unhold(struct conn *conn);

/* Works off bytes[0..size) after what `in` holds; keeps what cannot be used yet. Only inside conn_work. */
void conn_consume(struct conn *conn, const char *bytes, size_t size);

/* conn_consume, then what its outcome asks for: freeing, closing, watching. The connection may be gone after it. */
void conn_work(struct conn *conn, const char *bytes, size_t size);

/* Sends the interim answer 100. False: it could not be sent whole, and the connection is of no more use. */
bool conn_send_continue(struct conn *conn);

/* The answer is sent: on to the rest of the body, the next request, or the end. */
void conn_answered(struct conn *conn);

/* Sends a refusal of the present message (which may have no exchange yet) and ends the connection. */
void conn_refuse(struct conn *conn, int code, enum reason reason, const char *text);

/* Shuts our side and drops what still comes, for a while. */
void conn_linger(struct conn *conn);

/* Sets the one deadline of the present state. */
void conn_deadline(struct conn *conn, int64_t at_ns);

/* Counts the present exchange, and ends its entry in the access log. */
void conn_count(struct conn *conn, int code, enum reason reason);

/* Begins the entry of a request, and ends that of the present exchange. Only where the loop has an access log. */
void conn_access_begin(struct conn *conn, const struct request *request);
void conn_access_begin_headless(struct conn *conn); /* of one whose head did not become a request */
void conn_access_end(struct conn *conn, int code, enum reason reason);

/* Begins the entry of a request for its trace, if its caller records that, and ends that of the present exchange.
 * conn_trace_draw begins one, and a trace with it, for a prediction that has no trace if it is one of the sample. Only
 * where the loop has traces. */
void conn_trace_begin(struct conn *conn, const struct request *request);
void conn_trace_draw(struct conn *conn, const struct request *request);
void conn_trace_end(struct conn *conn, int code, enum reason reason);

#endif
