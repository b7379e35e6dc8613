/* Where other threads leave work for a loop: a list that is stolen whole, and an eventfd that wakes the loop once for
 * many. */
#ifndef WEIR_SERVER_HTTP_MAILBOX_H
#define WEIR_SERVER_HTTP_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>

/* Embedded in what is handed over. deliver runs on the loop's thread; the mail may be freed there. */
struct mail {
    struct mail *next;
    void (*deliver)(struct mail *mail);
};

struct mailbox {
    _Atomic(struct mail *) head;
    atomic_bool signalled;
    int fd;
};

/* Returns false (with errno) if no eventfd is to be had. */
bool mailbox_open(struct mailbox *mailbox);
void mailbox_close(struct mailbox *mailbox);

/* Leaves mail without waking anybody. thread: any. */
void mailbox_post(struct mailbox *mailbox, struct mail *mail);

/* Wakes the loop if there is mail it has not been told of. thread: any. */
void mailbox_wake(struct mailbox *mailbox);

/* Empties the eventfd once it is readable; mailbox_deliver follows. thread: the loop's. */
void mailbox_quiet(struct mailbox *mailbox);

/* Delivers all there is, in the order it was posted. Returns how many. thread: the loop's. */
int mailbox_deliver(struct mailbox *mailbox);

#endif
