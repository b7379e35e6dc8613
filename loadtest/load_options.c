#include "loadtest/load_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"

static const char usage[] =
    "usage: weir-load HOST:PORT [OPTION]...\n"
    "\n"
    "Sends HTTP/1.1 requests over kept connections and prints one JSON object.\n"
    "Without --rate and --schedule each connection sends its next request when the\n"
    "answer came (closed loop). With one of them requests are sent when they are due,\n"
    "whatever became of earlier ones (open loop); their latency counts from then.\n"
    "\n"
    "  --path /predict       what is asked for\n"
    "  --body FILE           POST this file; without it, GET. Numbers for ########: see README.md\n"
    "  --content-type TYPE   of the body (application/json)\n"
    "  --accept TYPE         wanted form of the answer\n"
    "  --header 'NAME: V'    one more head line\n"
    "  --timeout-ms T        send X-Request-Timeout-Ms\n"
    "  --priority P          send X-Priority\n"
    "  --deadline-ms D       a 200 that takes longer is not good\n"
    "  --class KEY=V,...     a class of requests, up to 8 times: name, share, and any of path,\n"
    "                        body, content-type, accept, header, timeout-ms, priority,\n"
    "                        deadline-ms; what is not named is as above\n"
    "  --connections N       closed loop: N of them (1); open loop: at most N (1024)\n"
    "  --seconds S           measured time (5)\n"
    "  --warm-up S           load before that, not measured (0)\n"
    "  --rate R              requests a second\n"
    "  --schedule PARTS      e.g. '1000/s:5s,burst 2000 in 10ms,1000/s:5s', all measured\n"
    "  --arrivals KIND       poisson (the default) or fixed\n"
    "  --give-up-ms G        close a connection whose answer takes longer\n"
    "  --drain S             wait so long for the last answers (5)\n"
    "  --seed N              of arrivals and classes (1)\n"
    "  --watch PID           report the CPU time of that process's threads\n"
    "  --spin                never sleep: steadier latencies, takes a whole core\n"
    "  --percentiles FILE    write the distribution of the 200s' latencies, HdrHistogram's form\n"
    "  --series FILE         write a CSV line for every 100 ms (--series-ms)\n"
    "  --trace FILE          write a CSV line for every request\n"
    "\n"
    "exit: 0 some answers came, 1 none did, 2 usage\n";

static _Noreturn void misuse(const char *what, const char *value) {
    fprintf(stderr, "load: %s: %s\n(weir-load --help says what there is)\n", what, value);
    exit(2);
}

static double number(const char *name, const char *text, double least, double most) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        fprintf(stderr, "load: %s takes a number from %g to %g, not %s\n", name, least, most, text);
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

/* What may be said of all requests or of a class. */
static bool take_of_class(const char *name, const char *value, struct load_class *class) {
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"path", &class->path},     {"body", &class->body_path}, {"content-type", &class->content_type},
                 {"accept", &class->accept}, {"header", &class->header},  {"priority", &class->priority}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].text = value;
            return true;
        }
    }
    if (strcmp(name, "timeout-ms") == 0)
        class->timeout_ms = (int)number(name, value, 1, 1e9);
    else if (strcmp(name, "deadline-ms") == 0)
        class->deadline_ms = number(name, value, 0.001, 1e7);
    else
        return false;
    return true;
}

/* "name=fast,share=3,deadline-ms=30". The text stays: values point into it. */
static void add_class(struct load_options *options, const struct load_class *common, char *text) {
    struct load_class class = *common;
    if (options->class_count == LOAD_CLASSES)
        misuse("too many classes", text);
    snprintf(class.name, sizeof class.name, "class%d", options->class_count + 1);
    for (char *pair; (pair = strsep(&text, ",")) != NULL;) {
        char *value = strchr(pair, '=');
        if (!value)
            misuse("a class is KEY=VALUE,...", pair);
        *value++ = '\0';
        if (strcmp(pair, "name") == 0 && value[strcspn(value, "\"\\")] == '\0')
            snprintf(class.name, sizeof class.name, "%s", value);
        else if (strcmp(pair, "share") == 0)
            class.share = number(pair, value, 1e-6, 1e6);
        else if (!take_of_class(pair, value, &class))
            misuse("a class has no such key", pair);
    }
    options->classes[options->class_count++] = class;
}

enum load_option {
    OPTION_CLASS_VALUE = 1, /* what take_of_class takes */
    OPTION_CLASS,
    OPTION_CONNECTIONS,
    OPTION_SECONDS,
    OPTION_WARM_UP,
    OPTION_RATE,
    OPTION_SCHEDULE,
    OPTION_ARRIVALS,
    OPTION_GIVE_UP,
    OPTION_DRAIN,
    OPTION_SEED,
    OPTION_WATCH,
    OPTION_SPIN,
    OPTION_PERCENTILES,
    OPTION_SERIES,
    OPTION_SERIES_MS,
    OPTION_TRACE,
    OPTION_HELP,
};

static const struct option table[] = {
    {"path", required_argument, NULL, OPTION_CLASS_VALUE},
    {"body", required_argument, NULL, OPTION_CLASS_VALUE},
    {"content-type", required_argument, NULL, OPTION_CLASS_VALUE},
    {"accept", required_argument, NULL, OPTION_CLASS_VALUE},
    {"header", required_argument, NULL, OPTION_CLASS_VALUE},
    {"timeout-ms", required_argument, NULL, OPTION_CLASS_VALUE},
    {"priority", required_argument, NULL, OPTION_CLASS_VALUE},
    {"deadline-ms", required_argument, NULL, OPTION_CLASS_VALUE},
    {"class", required_argument, NULL, OPTION_CLASS},
    {"connections", required_argument, NULL, OPTION_CONNECTIONS},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"warm-up", required_argument, NULL, OPTION_WARM_UP},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"schedule", required_argument, NULL, OPTION_SCHEDULE},
    {"arrivals", required_argument, NULL, OPTION_ARRIVALS},
    {"give-up-ms", required_argument, NULL, OPTION_GIVE_UP},
    {"drain", required_argument, NULL, OPTION_DRAIN},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"watch", required_argument, NULL, OPTION_WATCH},
    {"spin", no_argument, NULL, OPTION_SPIN},
    {"percentiles", required_argument, NULL, OPTION_PERCENTILES},
    {"series", required_argument, NULL, OPTION_SERIES},
    {"series-ms", required_argument, NULL, OPTION_SERIES_MS},
    {"trace", required_argument, NULL, OPTION_TRACE},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static void take_schedule(const char *text, struct load_options *options) {
    const char *wrong = schedule_parse(&options->schedule, text);
    if (wrong)
        misuse(wrong, text);
    options->open = true;
}

static void take_arrivals(const char *text, struct load_options *options) {
    options->schedule.evenly = strcmp(text, "fixed") == 0;
    if (!options->schedule.evenly && strcmp(text, "poisson") != 0)
        misuse("arrivals are poisson or fixed", text);
}

static void take_number(int option, const char *name, struct load_options *options) {
    switch (option) {
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
    case OPTION_GIVE_UP:
        options->give_up_ms = number(name, optarg, 0.1, 1e7);
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
    case OPTION_SERIES_MS:
        options->series_ms = number(name, optarg, 1, 60000);
        break;
    default:
        exit(2); /* getopt_long has said why */
    }
}

static void take(int option, const char *name, struct load_options *options) {
    switch (option) {
    case OPTION_SCHEDULE:
        take_schedule(optarg, options);
        break;
    case OPTION_ARRIVALS:
        take_arrivals(optarg, options);
        break;
    case OPTION_SPIN:
        options->spin = true;
        break;
    case OPTION_PERCENTILES:
        options->percentiles_path = optarg;
        break;
    case OPTION_SERIES:
        options->series_path = optarg;
        break;
    case OPTION_TRACE:
        options->trace_path = optarg;
        break;
    case OPTION_HELP:
        fputs(usage, stdout);
        exit(0);
    default:
        take_number(option, name, options);
    }
}

/* What follows from the options together. */
static void complete(struct load_options *options) {
    if (options->open && (options->rate > 0 || options->warm_up_seconds > 0))
        misuse("--schedule excludes --rate and --warm-up", "it says all");
    if (options->open) {
        options->seconds = (double)schedule_length_ns(&options->schedule) / (double)CLOCK_NS_PER_S;
    } else if (options->rate > 0) {
        double seconds = options->warm_up_seconds + options->seconds;
        schedule_steady(&options->schedule, options->rate, (int64_t)(seconds * (double)CLOCK_NS_PER_S));
        options->open = true;
    }
    if (options->connections == 0)
        options->connections = options->open ? 1024 : 1;
}

void load_options_parse(int argc, char **argv, struct load_options *options) {
    struct load_class common = {.name = "all", .share = 1, .path = "/predict", .content_type = "application/json"};
    char *classes[LOAD_CLASSES];
    int option, index = 0, class_count = 0;
    *options = (struct load_options){.seconds = 5, .drain_seconds = 5, .seed = 1, .series_ms = 100};
    while ((option = getopt_long(argc, argv, "", table, &index)) != -1) {
        if (option == OPTION_CLASS_VALUE)
            take_of_class(table[index].name, optarg, &common);
        else if (option != OPTION_CLASS)
            take(option, table[index].name, options);
        else if (class_count < LOAD_CLASSES)
            classes[class_count++] = optarg;
        else
            misuse("too many classes", optarg);
    }
    if (optind != argc - 1)
        misuse("one HOST:PORT is needed", optind < argc ? argv[optind + 1] : "there is none");
    split_address(argv[optind], options);
    for (int i = 0; i < class_count; i++)
        add_class(options, &common, classes[i]);
    if (class_count == 0)
        options->classes[options->class_count++] = common;
    complete(options);
}
