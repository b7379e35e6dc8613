#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/cli/command.h"
#include "server/exit_code.h"
#include "server/http_client.h"

enum { LIMIT_MS = 2000, ANSWER_MOST_BYTES = 16384, PATH_BYTES = 160 };

/* Reads "http://host:port/path", "host:port", "[::1]:port" or "host". Returns false if it is none of these. */
static bool read_url(const char *url, struct http_target *out, char path[PATH_BYTES]) {
    bool has_scheme = strncasecmp(url, "http://", 7) == 0;
    const char *rest = http_client_read_target(has_scheme ? url + 7 : url, has_scheme ? "80" : "8000", out);
    if (!rest || (*rest && *rest != '/'))
        return false;
    if (strlen(rest) <= 1)
        rest = "/health/ready";
    if (strlen(rest) >= PATH_BYTES || rest[strcspn(rest, " \r\n\t")])
        return false;
    snprintf(path, PATH_BYTES, "%s", rest);
    return true;
}

/* Finds the server that `weir serve` with the same configuration would be. Returns false after saying why not. */
static bool read_config(int argc, char **argv, struct http_target *out, char path[PATH_BYTES]) {
    const struct config_sources sources = command_sources(argc, argv);
    struct config_problems problems = {.count = 0};
    struct config config;
    if (!config_load(&sources, &config, &problems)) {
        command_print_problems(&problems, CONFIG_ERROR);
        return false;
    }
    size_t bracket = *config.host == '[';
    int64_t port = config.ops_port != 0 ? config.ops_port : config.port;
    snprintf(out->host, sizeof out->host, "%.*s", (int)strcspn(config.host + bracket, "]"), config.host + bracket);
    if (strcmp(out->host, "0.0.0.0") == 0)
        snprintf(out->host, sizeof out->host, "127.0.0.1");
    else if (strcmp(out->host, "::") == 0)
        snprintf(out->host, sizeof out->host, "::1");
    snprintf(out->port, sizeof out->port, "%lld", (long long)port);
    snprintf(path, PATH_BYTES, "%s/ready", config.health_path);
    config_release(&config);
    if (port == 0)
        command_misuse(&command_health, "port is 0, which names no server: give --port");
    return port != 0;
}

/* Prints the verdict and the body on one line, without what could upset a terminal. */
static void print_answer(const struct http_answer *answer) {
    const char *body = answer->body;
    size_t size = strlen(body);
    while (size > 0 && strchr(" \r\n\t", body[size - 1]))
        size--;
    printf("%s: %d ", answer->status == 200 ? "ready" : "not ready", answer->status);
    for (size_t i = 0; i < size; i++)
        putchar((unsigned char)body[i] < 0x20 || body[i] == 0x7F ? ' ' : body[i]);
    putchar('\n');
}

static int run(int argc, char **argv) {
    struct http_target target;
    struct http_answer answer;
    char path[PATH_BYTES];
    if (argc == 1 && argv[0][0] != '-') {
        if (!read_url(argv[0], &target, path))
            return command_misuse(&command_health, "\"%.100s\" is not of the form http://HOST:PORT/PATH", argv[0]);
    } else if (!read_config(argc, argv, &target, path)) {
        return EXIT_CODE_USAGE;
    }
    const struct http_question question = {
        .target = &target, .method = "GET", .path = path, .limit_ms = LIMIT_MS, .most_bytes = ANSWER_MOST_BYTES};
    struct weir_error err;
    if (http_client_ask(&question, &answer, &err) != WEIR_OK) {
        fprintf(stderr, "weir: %s\n", err.text);
        return EXIT_CODE_FAULT;
    }
    print_answer(&answer);
    int code = answer.status == 200 ? EXIT_CODE_DONE : EXIT_CODE_FAULT;
    http_client_release(&answer);
    return code;
}

const struct command command_health = {
    "health",
    "ask a running server whether it is ready",
    "usage: weir health [-c FILE] [--host HOST] [--port PORT]\n"
    "       weir health http://HOST:PORT[/PATH]\n"
    "\n"
    "Asks for HEALTH_PATH/ready, waits at most 2 seconds and prints the answer. It\n"
    "finds the server in the same flags, variables and file as `weir serve`, so a\n"
    "container's health check needs no arguments.\n"
    "\n"
    "exit: 0 ready, 1 not ready or no answer, 2 usage or configuration\n",
    run,
    NULL,
};
