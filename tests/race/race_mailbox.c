/* Several threads post to one mailbox while its owner sleeps on the eventfd: nothing is lost, and each poster's mail
 * arrives in its order. A plain program, to be run under ThreadSanitizer. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/http/mailbox.h"

enum { POSTERS = 4, MAILS = 20000 };

struct numbered {
    struct mail mail;
    int poster, number;
};

static struct mailbox mailbox;
static int next_number[POSTERS];
static int wrong, received;

static void deliver(struct mail *mail) {
    struct numbered *numbered = (struct numbered *)mail;
    if (numbered->number != next_number[numbered->poster]++)
        wrong++;
    received++;
    free(numbered);
}

static void *post(void *context) {
    for (int i = 0; i < MAILS; i++) {
        struct numbered *numbered = malloc(sizeof *numbered);
        *numbered = (struct numbered){.mail.deliver = deliver, .poster = (int)(size_t)context, .number = i};
        mailbox_post(&mailbox, &numbered->mail);
        if (i % 3 == 0 || i == MAILS - 1)
            mailbox_wake(&mailbox);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[POSTERS];
    if (!mailbox_open(&mailbox))
        return 1;
    for (size_t i = 0; i < POSTERS; i++)
        pthread_create(&threads[i], NULL, post, (void *)i);
    while (received < POSTERS * MAILS) {
        struct pollfd watch = {.fd = mailbox.fd, .events = POLLIN};
        if (poll(&watch, 1, 20000) != 1) {
            fprintf(stderr, "race_mailbox: a wake-up was lost after %d mails\n", received);
            return 1;
        }
        mailbox_quiet(&mailbox);
        mailbox_deliver(&mailbox);
    }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    mailbox_close(&mailbox);
    if (wrong > 0)
        fprintf(stderr, "race_mailbox: %d mails out of order\n", wrong);
    else
        printf("race_mailbox: %d mails arrived in order\n", received);
    return wrong > 0;
}
