/* The command line of abuse.c, the requests it sends, and its report. */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/clock.h"
#include "loadtest/abuse.h"

static const char usage[] = "usage: abuse HOST:PORT --body FILE --big FILE [OPTION]...\n"
                            "\n"
                            "  --body FILE       one row as JSON; numbers for ######## are checked in the answer\n"
                            "  --big FILE        many rows, whose answer is read slowly\n"
                            "  --requests N      end after so many (10000)\n"
                            "  --seconds S       or after this time (none)\n"
                            "  --connections N   at once (64)\n"
                            "  --seed N          of the choice of scripts (1)\n"
                            "  --only SCRIPT     nothing but this one\n"
                            "\n"
                            "exit: 0 all scripts ended as they should, 1 some did not, 2 usage\n";

enum { BODY_BYTES = 4096 }; /* kept of an answer */

static _Noreturn void die(const char *what, const char *why) {
    fprintf(stderr, "abuse: %s: %s\n", what, why);
    exit(2);
}

static void build(struct abuse *abuse, enum request_kind kind, const char *body_path, const char *header) {
    struct load_class class = {.path = "/predict", .content_type = "application/json", .body_path = body_path};
    class.header = header;
    const char *wrong = load_request_build(&abuse->options, &class, &abuse->requests[kind]);
    if (wrong)
        die(body_path, wrong);
}

/* Bodies that the server must refuse; they lie in a file only for as long as they are read. */
static void build_text(struct abuse *abuse, enum request_kind kind, const char *text) {
    char path[] = "/tmp/abuse-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        die(path, strerror(errno));
    build(abuse, kind, path, NULL);
    close(fd);
    unlink(path);
}

static void begin(struct abuse *abuse) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    size_t largest = 0;
    int code = getaddrinfo(abuse->options.host, abuse->options.port, &hints, &found);
    if (code != 0)
        die(abuse->options.host, gai_strerror(code));
    memcpy(&abuse->address, found->ai_addr, found->ai_addrlen);
    abuse->address_size = found->ai_addrlen;
    freeaddrinfo(found);
    build(abuse, GOOD, abuse->body_path, NULL);
    build(abuse, EXPECT, abuse->body_path, "Expect: 100-continue");
    build(abuse, HURRIED, abuse->body_path, "X-Request-Timeout-Ms: 1");
    build(abuse, BIG, abuse->big_path, NULL);
    build_text(abuse, BROKEN, "{\"instances\":[[1,2,3]");
    build_text(abuse, NARROW, "{\"instances\":[[1,2,3]]}");
    for (int i = 0; i < REQUEST_KINDS; i++)
        largest = abuse->requests[i].size > largest ? abuse->requests[i].size : largest;
    abuse->epoll = epoll_create1(EPOLL_CLOEXEC);
    abuse->conns = calloc((size_t)abuse->options.connections, sizeof *abuse->conns);
    abuse->active = abuse->options.connections;
    for (int i = 0; abuse->conns && i < abuse->options.connections; i++) {
        struct conn *conn = &abuse->conns[i];
        conn->fd = -1;
        conn->bytes = malloc(largest);
        conn->answer.body_room = BODY_BYTES;
        conn->answer.body = malloc(BODY_BYTES);
        if (!conn->bytes || !conn->answer.body)
            die("start", "no memory");
    }
    if (!abuse->conns || abuse->epoll < 0)
        die("start", strerror(errno));
}

static void print(const struct abuse *abuse) {
    bool first = true;
    printf("{\"scripts\": {");
    for (int i = 0; i < ABUSE_SCRIPTS; i++)
        printf("%s\"%s\": %llu", i ? ", " : "", abuse_scripts[i].name, (unsigned long long)abuse->played[i]);
    printf("},\n \"heads\": %llu, \"abandoned\": %llu, \"codes\": {", (unsigned long long)abuse->heads,
           (unsigned long long)abuse->abandoned);
    for (int code = 0; code < 600; code++) {
        if (abuse->codes[code] == 0)
            continue;
        printf("%s\"%d\": %llu", first ? "" : ", ", code, (unsigned long long)abuse->codes[code]);
        first = false;
    }
    printf("},\n \"unheard\": %llu, \"malformed\": %llu, \"stuck\": %llu, ", (unsigned long long)abuse->unheard,
           (unsigned long long)abuse->malformed, (unsigned long long)abuse->stuck);
    printf("\"numbers\": {\"right\": %llu, \"wrong\": %llu}}\n", (unsigned long long)abuse->numbers_right,
           (unsigned long long)abuse->numbers_wrong);
}

static const struct script *find_script(const char *name) {
    for (int i = 0; i < ABUSE_SCRIPTS; i++)
        if (strcmp(abuse_scripts[i].name, name) == 0)
            return &abuse_scripts[i];
    die(name, "there is no such script");
}

static void parse(int argc, char **argv, struct abuse *abuse) {
    static const struct option table[] = {
        {"body", required_argument, NULL, 'b'},        {"big", required_argument, NULL, 'B'},
        {"requests", required_argument, NULL, 'n'},    {"seconds", required_argument, NULL, 's'},
        {"connections", required_argument, NULL, 'c'}, {"seed", required_argument, NULL, 'r'},
        {"only", required_argument, NULL, 'o'},        {NULL, 0, NULL, 0}};
    uint64_t seed = 1;
    abuse->options.connections = 64;
    abuse->limit = 10000;
    abuse->end_ns = INT64_MAX;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (option == 'b')
            abuse->body_path = optarg;
        else if (option == 'B')
            abuse->big_path = optarg;
        else if (option == 'n')
            abuse->limit = strtoull(optarg, NULL, 10);
        else if (option == 's')
            abuse->end_ns = clock_now_ns() + (int64_t)(strtod(optarg, NULL) * (double)CLOCK_NS_PER_S);
        else if (option == 'c')
            abuse->options.connections = atoi(optarg);
        else if (option == 'r')
            seed = strtoull(optarg, NULL, 10);
        else if (option == 'o')
            abuse->only = find_script(optarg);
        else
            die("usage", usage);
    }
    char *colon = optind == argc - 1 ? strrchr(argv[optind], ':') : NULL;
    if (!colon || !abuse->body_path || !abuse->big_path || abuse->options.connections < 1 || seed == 0)
        die("usage", usage);
    snprintf(abuse->options.host, sizeof abuse->options.host, "%.*s", (int)(colon - argv[optind]), argv[optind]);
    snprintf(abuse->options.port, sizeof abuse->options.port, "%s", colon + 1);
    abuse->random = seed * UINT64_C(0x9E3779B97F4A7C15);
}

int main(int argc, char **argv) {
    struct abuse *abuse = calloc(1, sizeof *abuse);
    if (!abuse)
        die("start", "no memory");
    parse(argc, argv, abuse);
    signal(SIGPIPE, SIG_IGN);
    begin(abuse);
    abuse_run(abuse);
    print(abuse);
    int code = abuse->unheard + abuse->malformed + abuse->stuck + abuse->numbers_wrong > 0;
    for (int i = 0; i < abuse->options.connections; i++) {
        free(abuse->conns[i].bytes);
        free(abuse->conns[i].answer.body);
    }
    for (int i = 0; i < REQUEST_KINDS; i++)
        load_request_release(&abuse->requests[i]);
    free(abuse->conns);
    free(abuse);
    return code;
}
