#include "loadtest/load_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: load HOST:PORT [OPTION]...\n"
                            "\n"
                            "Sends HTTP/1.1 requests over kept connections and prints one JSON object.\n"
                            "Without --rate each connection sends its next request when the answer came\n"
                            "(closed loop). With --rate requests are sent when they are due, whatever became\n"
                            "of earlier ones (open loop, Poisson arrivals); their latency counts from then.\n"
                            "\n"
                            "  --path /predict       what is asked for\n"
                            "  --body FILE           POST this file; without it, GET\n"
                            "  --content-type TYPE   of the body (application/json)\n"
                            "  --accept TYPE         wanted form of the answer\n"
                            "  --header 'NAME: V'    one more head line\n"
                            "  --connections N       closed loop: N of them (1); open loop: at most N (1024)\n"
                            "  --seconds S           measured time (5)\n"
                            "  --warm-up S           load before that, not measured (0)\n"
                            "  --rate R              requests a second\n"
                            "  --deadline-ms D       a 200 that takes longer is not good\n"
                            "  --drain S             wait so long for the last answers (5)\n"
                            "  --seed N              of the arrivals (1)\n"
                            "  --watch PID           report the CPU time of that process's threads\n"
                            "  --spin                never sleep: steadier latencies, takes a whole core\n"
                            "\n"
                            "exit: 0 some answers came, 1 none did, 2 usage\n";

static _Noreturn void misuse(const char *what, const char *value) {
    fprintf(stderr, "load: %s: %s\n(load --help says what there is)\n", what, value);
    exit(2);
}

static double number(const char *name, const char *text, double least, double most) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        fprintf(stderr, "load: --%s takes a number from %g to %g, not %s\n", name, least, most, text);
        exit(2);
    }
    return value;
}

static void split_address(const char *text, struct load_options *options) {
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || colon[1] == '\0' || strlen(colon + 1) >= sizeof options->port)
        misuse("not HOST:PORT", text);
    size_t size = (size_t)(colon - text);
    if (text[0] == '[' && text[size - 1] == ']') {
        text++;
        size -= 2;
    }
    if (size == 0 || size >= sizeof options->host)
        misuse("not HOST:PORT", text);
    memcpy(options->host, text, size);
    options->host[size] = '\0';
    strcpy(options->port, colon + 1);
}

enum load_option {
    OPTION_PATH = 1,
    OPTION_BODY,
    OPTION_CONTENT_TYPE,
    OPTION_ACCEPT,
    OPTION_HEADER,
    OPTION_CONNECTIONS,
    OPTION_SECONDS,
    OPTION_WARM_UP,
    OPTION_RATE,
    OPTION_DEADLINE,
    OPTION_DRAIN,
    OPTION_SEED,
    OPTION_WATCH,
    OPTION_SPIN,
    OPTION_HELP,
};

static const struct option table[] = {
    {"path", required_argument, NULL, OPTION_PATH},
    {"body", required_argument, NULL, OPTION_BODY},
    {"content-type", required_argument, NULL, OPTION_CONTENT_TYPE},
    {"accept", required_argument, NULL, OPTION_ACCEPT},
    {"header", required_argument, NULL, OPTION_HEADER},
    {"connections", required_argument, NULL, OPTION_CONNECTIONS},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"warm-up", required_argument, NULL, OPTION_WARM_UP},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"deadline-ms", required_argument, NULL, OPTION_DEADLINE},
    {"drain", required_argument, NULL, OPTION_DRAIN},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"watch", required_argument, NULL, OPTION_WATCH},
    {"spin", no_argument, NULL, OPTION_SPIN},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static void take(int option, const char *name, struct load_options *options) {
    switch (option) {
    case OPTION_PATH:
        options->path = optarg;
        break;
    case OPTION_BODY:
        options->body_path = optarg;
        break;
    case OPTION_CONTENT_TYPE:
        options->content_type = optarg;
        break;
    case OPTION_ACCEPT:
        options->accept = optarg;
        break;
    case OPTION_HEADER:
        options->header = optarg;
        break;
    case OPTION_CONNECTIONS:
        options->connections = (int)number(name, optarg, 1, 60000);
        break;
    case OPTION_SECONDS:
        options->seconds = number(name, optarg, 0.01, 86400);
        break;
    case OPTION_WARM_UP:
        options->warm_up_seconds = number(name, optarg, 0, 3600);
        break;
    case OPTION_RATE:
        options->rate = number(name, optarg, 0.01, 1e7);
        break;
    case OPTION_DEADLINE:
        options->deadline_ms = number(name, optarg, 0.001, 1e7);
        break;
    case OPTION_DRAIN:
        options->drain_seconds = number(name, optarg, 0, 3600);
        break;
    case OPTION_SEED:
        options->seed = (uint64_t)number(name, optarg, 1, 1e15);
        break;
    case OPTION_WATCH:
        options->watch_pid = (int)number(name, optarg, 1, 4194304);
        break;
    case OPTION_SPIN:
        options->spin = true;
        break;
    case OPTION_HELP:
        fputs(usage, stdout);
        exit(0);
    default:
        exit(2); /* getopt_long has said why */
    }
}

void load_options_parse(int argc, char **argv, struct load_options *options) {
    *options = (struct load_options){
        .path = "/predict", .content_type = "application/json", .seconds = 5, .drain_seconds = 5, .seed = 1};
    int option, index = 0;
    while ((option = getopt_long(argc, argv, "", table, &index)) != -1)
        take(option, table[index].name, options);
    if (optind != argc - 1)
        misuse("one HOST:PORT is needed", optind < argc ? argv[optind + 1] : "there is none");
    split_address(argv[optind], options);
    if (options->connections == 0)
        options->connections = options->rate > 0 ? 1024 : 1;
}
