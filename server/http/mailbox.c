#include "server/http/mailbox.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool mailbox_open(struct mailbox *mailbox) {
    atomic_init(&mailbox->head, NULL);
    atomic_init(&mailbox->signalled, false);
    mailbox->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return mailbox->fd >= 0;
}

void mailbox_close(struct mailbox *mailbox) {
    if (mailbox->fd >= 0)
        close(mailbox->fd);
    mailbox->fd = -1;
}

void mailbox_post(struct mailbox *mailbox, struct mail *mail) {
    struct mail *head = atomic_load_explicit(&mailbox->head, memory_order_relaxed);
    do
        mail->next = head;
    while (!atomic_compare_exchange_weak_explicit(&mailbox->head, &head, mail, memory_order_release,
                                                  memory_order_relaxed));
}

void mailbox_wake(struct mailbox *mailbox) {
    if (atomic_load(&mailbox->head) == NULL || atomic_exchange(&mailbox->signalled, true))
        return;
    uint64_t one = 1;
    /* Fails only when the counter is at its top, and then the loop is awake anyway. */
    ssize_t ignored = write(mailbox->fd, &one, sizeof one);
    (void)ignored;
}

void mailbox_quiet(struct mailbox *mailbox) {
    uint64_t count;
    ssize_t ignored = read(mailbox->fd, &count, sizeof count);
    (void)ignored;
}

int mailbox_deliver(struct mailbox *mailbox) {
    /* The flag falls before the list is stolen: mail posted in between wakes the loop once more, for nothing at worst.
     */
    atomic_store(&mailbox->signalled, false);
    struct mail *mail = atomic_exchange(&mailbox->head, NULL);
    struct mail *ordered = NULL;
    while (mail) {
        struct mail *next = mail->next;
        mail->next = ordered;
        ordered = mail;
        mail = next;
    }
    int count = 0;
    while (ordered) {
        struct mail *next = ordered->next;
        ordered->deliver(ordered);
        ordered = next;
        count++;
    }
    return count;
}
