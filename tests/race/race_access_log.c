/* The access log from several loops at once, while it is opened anew, changed and counted. Exits 0 if every request is
 * a line, a drop or not in the sample, and none is written twice. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/observe/access_log.h"
#include "server/observe/log.h"

enum { LOOPS = 3, ROUNDS = 60000, OPEN = 16 };

static atomic_bool stop;
static char path[] = "/tmp/weir-race-access-XXXXXX";

/* As a loop does it: several requests are under way, and end in another order than they began. */
static void *serve(void *argument) {
    struct access_lane *lane = argument;
    struct access_entry *open[OPEN] = {NULL};
    bool is_open[OPEN] = {false};
    for (uint32_t i = 0; i < ROUNDS + OPEN; i++) {
        uint32_t at = i * 7 % OPEN;
        if (is_open[at]) {
            if (open[at])
                open[at]->rows = i;
            access_log_end(lane, open[at], i % 9 == 0 ? 500 : 200);
        }
        is_open[at] = i < ROUNDS;
        if (is_open[at] && (open[at] = access_log_begin(lane)) && access_log_has_fields(lane))
            open[at]->agent_size = (uint8_t)access_entry_copy(open[at]->agent, ACCESS_FIELD_BYTES, "agent", 5);
    }
    return NULL;
}

static void *trouble(void *log) {
    for (uint64_t last = 0; !atomic_load(&stop);) {
        access_log_reopen(log);
        access_log_set(log, ACCESS_COMBINED, 100);
        access_log_set(log, ACCESS_JSON, 100);
        access_log_set_device(log, "cpu");
        struct access_log_counts counts = access_log_counts(log);
        if (counts.lines < last)
            abort();
        last = counts.lines;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return NULL;
}

static uint64_t count_lines(void) {
    FILE *file = fopen(path, "r");
    uint64_t count = 0;
    for (int c; (c = getc(file)) != EOF;)
        count += c == '\n';
    fclose(file);
    return count;
}

int main(void) {
    struct access_log *log;
    struct weir_error err;
    close(mkstemp(path));
    log_set_level(LOG_ERROR);
    struct access_log_options options = {.path = path, .lanes = LOOPS, .percent = 100};
    if (access_log_open(&options, &log, &err) != WEIR_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    pthread_t loops[LOOPS], other;
    pthread_create(&other, NULL, trouble, log);
    for (int i = 0; i < LOOPS; i++)
        pthread_create(&loops[i], NULL, serve, access_log_lane(log, i));
    for (int i = 0; i < LOOPS; i++)
        pthread_join(loops[i], NULL);
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    access_log_stop(log);
    struct access_log_counts counts = access_log_counts(log);
    uint64_t written = count_lines(), all = (uint64_t)LOOPS * ROUNDS;
    int wrong = written != counts.lines || counts.lines + counts.dropped != all || counts.lines == 0;
    if (wrong)
        fprintf(stderr, "%llu requests, %llu lines (%llu in the file), %llu dropped\n", (unsigned long long)all,
                (unsigned long long)counts.lines, (unsigned long long)written, (unsigned long long)counts.dropped);
    access_log_close(log);
    unlink(path);
    return wrong;
}
