#include "server/api/ui.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/api.h"
#include "server/api/ui_sample.h"
#include "server/api/ui_state.h"
#include "server/http/loop.h"
#include "server/http/reply.h"

/* An open page. Owned by its loop. */
struct client {
    struct exchange *exchange;
    struct client *next;
};

struct ui {
    struct api *api;
    struct loop *loops;
    int loop_count;
    struct history *history;
    struct ui_sampler sampler; /* the main thread's, and so are the texts */
    struct bytes text, models, models_before;
    pthread_mutex_t config_lock;
    struct bytes config;  /* guarded by config_lock */
    bool config_is_new;   /* likewise: who listens has not been told */
    _Atomic int clients;  /* of all loops */
    struct client **list; /* by loop: each its loop's own */
};

/* What all clients of a loop are told. */
struct news {
    struct mail mail;
    struct ui *ui;
    int loop;
    size_t size;
    char text[];
};

enum weir_status ui_create(struct api *api, struct loop *loops, int loop_count, struct ui **out,
                           struct weir_error *err) {
    struct ui *ui = calloc(1, sizeof *ui);
    if (!ui)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the status page");
    *ui = (struct ui){.api = api, .loops = loops, .loop_count = loop_count};
    pthread_mutex_init(&ui->config_lock, NULL);
    ui->history = history_create();
    ui->list = calloc((size_t)loop_count, sizeof(struct client *));
    if (!ui->history || !ui->list) {
        ui_destroy(ui);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the status page");
    }
    *out = ui;
    return WEIR_OK;
}

void ui_destroy(struct ui *ui) {
    if (!ui)
        return;
    history_destroy(ui->history);
    pthread_mutex_destroy(&ui->config_lock);
    bytes_release(&ui->text);
    bytes_release(&ui->models);
    bytes_release(&ui->models_before);
    bytes_release(&ui->config);
    free((void *)ui->list);
    free(ui);
}

void ui_set_config(struct ui *ui, const struct bytes *json) {
    pthread_mutex_lock(&ui->config_lock);
    ui->config.size = 0;
    bytes_append(&ui->config, json->data, json->size);
    ui->config_is_new = true;
    pthread_mutex_unlock(&ui->config_lock);
}

/* Appends the event `config`. */
static void write_config(struct ui *ui, struct bytes *out, bool only_news) {
    pthread_mutex_lock(&ui->config_lock);
    if (ui->config.size > 0 && (ui->config_is_new || !only_news)) {
        ui_state_begin(out, "config");
        bytes_append(out, ui->config.data, ui->config.size);
        ui_state_end(out);
    }
    if (only_news)
        ui->config_is_new = false;
    pthread_mutex_unlock(&ui->config_lock);
}

/* Appends the points after number `after`. */
static void write_points(struct ui *ui, struct bytes *out, uint64_t after) {
    ui_state_begin(out, "points");
    history_write(ui->history, after, out);
    ui_state_end(out);
}

/* thread: the loop's. */
static void deliver(struct mail *mail) {
    struct news *news = (struct news *)mail;
    for (struct client *client = news->ui->list[news->loop], *next; client; client = next) {
        next = client->next; /* client may leave, no other does */
        exchange_send(client->exchange, news->text, news->size);
    }
    free(news);
}

static void send_all(struct ui *ui, const struct bytes *text) {
    for (int i = 0; i < ui->loop_count; i++) {
        struct news *news = malloc(sizeof *news + text->size);
        if (!news)
            return; /* the pages miss a second */
        *news = (struct news){.mail = {.deliver = deliver}, .ui = ui, .loop = i, .size = text->size};
        memcpy(news->text, text->data, text->size);
        mailbox_post(&ui->loops[i].mailbox, &news->mail);
        mailbox_wake(&ui->loops[i].mailbox);
    }
}

void ui_tick(struct ui *ui) {
    struct history_point point;
    struct bytes *text = &ui->text;
    if (!ui_sample(&ui->sampler, ui->api, &point))
        return;
    uint64_t number = history_add(ui->history, &point);
    if (atomic_load(&ui->clients) == 0)
        return;
    text->size = ui->models.size = 0;
    text->failed = ui->models.failed = false;
    write_points(ui, text, number - 1);
    ui_state_health(text, ui->api);
    ui_state_models(&ui->models, ui->api);
    if (ui->models.size != ui->models_before.size ||
        memcmp(ui->models.data, ui->models_before.data, ui->models.size) != 0) {
        bytes_append(text, ui->models.data, ui->models.size);
        text->failed |= ui->models.failed;
        struct bytes before = ui->models_before;
        ui->models_before = ui->models;
        ui->models = before;
    }
    write_config(ui, text, true);
    if (!text->failed)
        send_all(ui, text);
}

static void refuse(struct exchange *exchange, enum reason reason, const char *text) {
    reply_error(exchange, &(struct reply_error){.code = 503, .reason = reason, .retry_after_ms = 5000}, "%s", text);
}

void ui_join(struct ui *ui, struct exchange *exchange) {
    struct loop *loop = exchange->loop;
    if (loop->finishing) {
        refuse(exchange, REASON_DRAINING, "the server stops");
        return;
    }
    struct client *client = atomic_fetch_add(&ui->clients, 1) < UI_MOST_CLIENTS ? calloc(1, sizeof *client) : NULL;
    if (!client) {
        atomic_fetch_sub(&ui->clients, 1);
        refuse(exchange, REASON_FULL, "too many status pages are open");
        return;
    }
    if (!exchange_stream(exchange, &(struct reply){.code = 200,
                                                   .reason = REASON_OK,
                                                   .content_type = "text/event-stream",
                                                   .headers = "Cache-Control: no-store\r\n"
                                                              "X-Content-Type-Options: nosniff\r\n"
                                                              "X-Accel-Buffering: no\r\n"})) {
        atomic_fetch_sub(&ui->clients, 1);
        free(client);
        return;
    }
    client->exchange = exchange;
    client->next = ui->list[loop->index];
    ui->list[loop->index] = client;
    exchange->call = client;
    struct bytes *text = reply_begin(exchange);
    bytes_text(text, "retry: 2000\n\n");
    ui_state_hello(text, ui->api);
    write_config(ui, text, false);
    ui_state_models(text, ui->api);
    ui_state_health(text, ui->api);
    write_points(ui, text, 0);
    if (!text->failed)
        exchange_send(exchange, text->data, text->size); /* exchange may be gone */
}

void ui_leave(struct ui *ui, struct exchange *exchange) {
    struct client *client = exchange->call, **link = &ui->list[exchange->loop->index];
    if (!client)
        return;
    while (*link != client)
        link = &(*link)->next;
    *link = client->next;
    exchange->call = NULL;
    free(client);
    atomic_fetch_sub(&ui->clients, 1);
}
