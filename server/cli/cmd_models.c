#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/seal.h"
#include "server/cli/command.h"
#include "server/cli/models_call.h"
#include "server/cli/models_show.h"
#include "server/exit_code.h"

enum { VIEW_MS = 10000, ANSWER_MOST_BYTES = 64 << 20, PATH_BYTES = 256 };

static void write_path(const struct models_call *call, char path[PATH_BYTES]) {
    const char *text = models_call_text(call->action);
    switch (call->action) {
    case MODELS_SCAN:
        snprintf(path, PATH_BYTES, "/admin/scan");
        break;
    case MODELS_CANARY:
    case MODELS_SHADOW:
        snprintf(path, PATH_BYTES, "/admin/models/%s/rollout", call->name);
        break;
    case MODELS_LIST:
    case MODELS_STATUS:
        snprintf(path, PATH_BYTES, "/admin/models%s%s", call->name ? "/" : "", call->name ? call->name : "");
        break;
    default:
        if (call->version)
            snprintf(path, PATH_BYTES, "/admin/models/%s/versions/%s/%s", call->name, call->version, text);
        else
            snprintf(path, PATH_BYTES, "/admin/models/%s/rollout/%s", call->name, text);
    }
}

/* Says why the server refused. Returns false if the answer tells no reason: then it is no weir's. */
static bool put_refusal(const cJSON *json) {
    const char *error = models_show_string(json, "error");
    if (!*error)
        return false;
    fputs("weir: ", stderr);
    command_show_text(stderr, error);
    fputs(strcmp(error, "no such path") == 0 ? ": is this the port of admin_listen?\n" : "\n", stderr);
    return true;
}

/* Asks the server. Returns EXIT_CODE_DONE with the parsed answer in *out, which the caller frees, or says what went
 * wrong. */
static int ask(const struct models_call *call, cJSON **out) {
    char path[PATH_BYTES], authority[HTTP_CLIENT_AUTHORITY_BYTES];
    bool is_view = call->action == MODELS_LIST || call->action == MODELS_STATUS;
    struct http_answer answer;
    write_path(call, path);
    const struct http_question question = {.target = &call->target,
                                           .method = is_view ? "GET" : "POST",
                                           .path = path,
                                           .body = call->body,
                                           .limit_ms = is_view ? VIEW_MS : 0,
                                           .most_bytes = ANSWER_MOST_BYTES};
    struct weir_error err;
    if (http_client_ask(&question, &answer, &err) != WEIR_OK) {
        fprintf(stderr, "weir: %s\nweir: is a server with admin_listen running there?\n", err.text);
        return EXIT_CODE_IO;
    }
    cJSON *json = answer.is_whole ? cJSON_ParseWithLength(answer.body, answer.body_size) : NULL;
    int code = EXIT_CODE_IO;
    if (!answer.is_whole) {
        fprintf(stderr, "weir: %s: the answer ends early\n", http_client_authority(&call->target, authority));
    } else if (answer.status == 200 && cJSON_IsObject(json)) {
        code = EXIT_CODE_DONE;
    } else if (answer.status != 200 && put_refusal(json)) {
        code = EXIT_CODE_FAULT;
    } else {
        fprintf(stderr, "weir: %s: the answer (%d) is none of weir's: is this the port of admin_listen?\n",
                http_client_authority(&call->target, authority), answer.status);
    }
    if (code == EXIT_CODE_DONE && call->json)
        fwrite(answer.body, 1, answer.body_size, stdout);
    if (code == EXIT_CODE_DONE)
        *out = json;
    else
        cJSON_Delete(json);
    http_client_release(&answer);
    return code;
}

static void show_list(const struct models_call *call, cJSON *json) {
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(json, "models");
    cJSON *one = call->name ? cJSON_CreateArray() : NULL;
    if (one && cJSON_AddItemReferenceToArray(one, json))
        all = one;
    models_show_table(all);
    cJSON_Delete(one);
}

/* What an order has done. */
static void show_done(const cJSON *json) {
    double version = models_show_number(json, "version");
    fputs(models_show_string(json, "model"), stdout);
    if (version > 0)
        printf(" v%.0f", version);
    fputs(*models_show_string(json, "model") ? ": " : "", stdout);
    command_show_text(stdout, models_show_string(json, "result"));
    putchar('\n');
}

static void rest(void) {
    fflush(stdout);
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

/* Shows the model once, or until its rollout has ended. */
static int run_status(const struct models_call *call) {
    double candidate = NAN;
    bool is_terminal = isatty(STDOUT_FILENO);
    for (bool is_first = true;; is_first = false) {
        cJSON *json;
        int code = ask(call, &json);
        if (code != EXIT_CODE_DONE)
            return code;
        if (!call->json && call->watch && !is_first)
            fputs(is_terminal ? "\033[H\033[J" : "\n", stdout);
        if (!call->json)
            models_show_status(json);
        const cJSON *rollout = cJSON_GetObjectItemCaseSensitive(json, "rollout");
        bool is_on = cJSON_IsObject(rollout);
        if (is_on)
            candidate = models_show_number(rollout, "candidate");
        bool is_lost = !is_on && isfinite(candidate) && models_show_number(json, "stable") != candidate;
        cJSON_Delete(json);
        if (!call->watch || !is_on || ferror(stdout))
            return is_lost ? EXIT_CODE_FAULT : EXIT_CODE_DONE;
        rest();
    }
}

static int run_seal(const struct models_call *call) {
    uint64_t bytes;
    struct weir_error err;
    bool is_check = call->action == MODELS_CHECK_SEAL;
    enum weir_status status = is_check ? seal_check(call->name, &bytes, &err) : seal_write(call->name, &bytes, &err);
    if (status == WEIR_OK) {
        printf("%s: %s, %llu bytes\n", call->name, is_check ? "is as it was sealed" : "sealed",
               (unsigned long long)bytes);
        return EXIT_CODE_DONE;
    }
    fprintf(stderr, "weir: %s\n", err.text);
    return status == WEIR_IO || status == WEIR_NO_MEMORY ? EXIT_CODE_IO : EXIT_CODE_FAULT;
}

static int run_with_server(const struct models_call *call) {
    cJSON *json;
    if (call->action == MODELS_STATUS)
        return run_status(call);
    int code = ask(call, &json);
    if (code != EXIT_CODE_DONE)
        return code;
    if (!call->json && call->action == MODELS_LIST)
        show_list(call, json);
    else if (!call->json)
        show_done(json);
    cJSON_Delete(json);
    return EXIT_CODE_DONE;
}

static int run(int argc, char **argv) {
    struct models_call call;
    if (!models_call_read(argc, argv, &call))
        return EXIT_CODE_USAGE;
    bool is_offline = call.action == MODELS_SEAL || call.action == MODELS_CHECK_SEAL;
    int code = is_offline ? run_seal(&call) : run_with_server(&call);
    models_call_release(&call);
    return code;
}

static const char *more_help(int argc, char **argv) {
    bool is_rollout = argc > 0 && (strcmp(argv[0], "canary") == 0 || strcmp(argv[0], "shadow") == 0);
    return is_rollout ? "usage: weir models canary NAME VERSION --steps STEPS [flags]\n"
                        "       weir models shadow NAME VERSION --percent 20 [flags]\n"
                        "\n"
                        "  --steps \"5% for 10m, 25% for 1h with 200 requests, 100%\"\n"
                        "                            shares of the requests, how long at least, how many\n"
                        "                            at least (50); a shadow without steps has no end\n"
                        "  --sticky-header X-User    equal values get the same version\n"
                        "  --shadow-percent 20       of stable's requests, copied to VERSION\n"
                        "  --compare-percent 100     of VERSION's requests, copied to stable\n"
                        "  --auto-promote            after the last step; else it waits for you\n"
                        "  --may-shrink              steps need not grow\n"
                        "\n"
                        "Over one of these it is rolled back; off makes no such check:\n"
                        "  --max-error-rate 0.02     requests that fail or are late\n"
                        "  --max-p99-ratio 1.5       latency, in parts of stable's\n"
                        "  --max-compute-ratio 1.5   time on the device, in parts of stable's\n"
                        "  --max-non-finite 0        requests with NaN or Infinity, beyond stable's\n"
                        "  --min-agreement 0.9       equal decisions (argmax, labels)\n"
                        "  --max-drift off           error, in parts of the largest output\n"
                      : NULL;
}

const struct command command_models = {
    "models",
    "list, load and roll out versions",
    "usage: weir models COMMAND [--admin ADDRESS:PORT] [-c FILE] [--json]\n"
    "\n"
    "Asks a running server, or orders it, where its admin_listen is:\n"
    "  list [NAME]                  the models, their versions, what these get\n"
    "  status NAME [--watch]        figures of the rollout; --watch: until its end\n"
    "  load, unload NAME VERSION    beside what serves, and back\n"
    "  verify NAME VERSION          run its samples now\n"
    "  promote NAME [VERSION]       let it serve; VERSION: else the candidate\n"
    "  canary NAME VERSION --steps \"5% for 10m, 25%, 100%\"\n"
    "  shadow NAME VERSION --percent 20\n"
    "  pause, resume NAME           hold the rollout where it is, let it go on\n"
    "  rollback NAME [--reason TEXT]\n"
    "  scan                         look at the model directories at once\n"
    "Without a server:\n"
    "  seal DIR, check-seal DIR     write or check a version's manifest.sha256\n"
    "\n"
    "The server is --admin, else WEIR_ADMIN_LISTEN, else admin_listen of FILE, else\n"
    "127.0.0.1:8001. `weir help models canary` lists what a rollout can be told.\n"
    "\n"
    "exit: 0 done, 1 refused or at fault, 2 usage, 5 no answer\n",
    run,
    more_help,
};
