#include <criterion/criterion.h>
#include <poll.h>

#include "server/http/mailbox.h"

static struct mail *delivered[8];
static int delivered_count;

static void deliver(struct mail *mail) {
    delivered[delivered_count++] = mail;
}

static bool is_signalled(const struct mailbox *mailbox) {
    struct pollfd watch = {.fd = mailbox->fd, .events = POLLIN};
    return poll(&watch, 1, 0) == 1;
}

Test(mailbox, mail_is_delivered_in_the_order_it_was_posted) {
    struct mailbox mailbox;
    struct mail mails[3] = {{.deliver = deliver}, {.deliver = deliver}, {.deliver = deliver}};
    cr_assert(mailbox_open(&mailbox));
    for (int i = 0; i < 3; i++)
        mailbox_post(&mailbox, &mails[i]);
    cr_assert_eq(mailbox_deliver(&mailbox), 3);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(delivered[i], &mails[i]);
    cr_assert_eq(mailbox_deliver(&mailbox), 0);
    mailbox_close(&mailbox);
}

Test(mailbox, posting_alone_wakes_nobody) {
    struct mailbox mailbox;
    struct mail mail = {.deliver = deliver};
    cr_assert(mailbox_open(&mailbox));
    mailbox_post(&mailbox, &mail);
    cr_assert_not(is_signalled(&mailbox));
    mailbox_wake(&mailbox);
    cr_assert(is_signalled(&mailbox));
    mailbox_quiet(&mailbox);
    mailbox_deliver(&mailbox);
    cr_assert_not(is_signalled(&mailbox));
    mailbox_close(&mailbox);
}

Test(mailbox, an_empty_mailbox_wakes_nobody) {
    struct mailbox mailbox;
    cr_assert(mailbox_open(&mailbox));
    mailbox_wake(&mailbox);
    cr_assert_not(is_signalled(&mailbox));
    mailbox_close(&mailbox);
}

Test(mailbox, mail_posted_after_a_delivery_wakes_again) {
    struct mailbox mailbox;
    struct mail mails[2] = {{.deliver = deliver}, {.deliver = deliver}};
    cr_assert(mailbox_open(&mailbox));
    mailbox_post(&mailbox, &mails[0]);
    mailbox_wake(&mailbox);
    mailbox_quiet(&mailbox);
    mailbox_deliver(&mailbox);
    mailbox_post(&mailbox, &mails[1]);
    mailbox_wake(&mailbox);
    cr_assert(is_signalled(&mailbox));
    mailbox_close(&mailbox);
}
