#include "server/observe/access_entry.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/utf8.h"

static struct access_style style = {.device_kind = "cpu", .unix_offset_ns = INT64_C(1700000000007000000)};
static char line[ACCESS_LINE_BYTES + 1];

static const char *line_of(const struct access_entry *entry, enum access_format format) {
    if (style.format != format)
        style.second_text[0] = 0;
    style.format = format;
    size_t size = access_entry_line(entry, &style, line);
    cr_assert_leq(size, ACCESS_LINE_BYTES);
    line[size] = 0;
    cr_assert_eq(strchr(line, '\n'), line + size - 1, "one line: %s", line);
    return line;
}

static struct access_entry *fresh(void) {
    static struct access_entry entry;
    memset(&entry, 0xA5, sizeof entry); /* what an earlier request left behind */
    access_entry_clear(&entry);
    return &entry;
}

#define SET_TEXT(entry, field, text)                                                                                   \
    ((entry)->field##_size = access_entry_copy((entry)->field, sizeof(entry)->field, text, strlen(text)))

static struct access_entry *full(void) {
    struct access_entry *entry = fresh();
    static const uint8_t address[] = {192, 0, 2, 1};
    entry->method = "POST";
    entry->peer.family = AF_INET;
    memcpy(entry->peer.address, address, sizeof address);
    entry->peer.port = 4711;
    SET_TEXT(entry, target, "/predict?a=1");
    entry->target_bytes = entry->target_size;
    SET_TEXT(entry, id, "id-1");
    SET_TEXT(entry, model, "digits");
    SET_TEXT(entry, referer, "http://x/");
    SET_TEXT(entry, agent, "curl/8 \"q\"");
    entry->version = 3;
    entry->started_ns = 1000000;
    entry->ended_ns = 2234567;
    entry->code = 200;
    entry->reason = REASON_OK;
    entry->route = ROUTE_PREDICT;
    entry->rows = 2;
    entry->batch_rows = 8;
    entry->device = 1;
    entry->body_bytes = 120;
    entry->answer_bytes = 60;
    for (int i = 0; i < ACCESS_TIMES; i++)
        entry->times_ns[i] = (i + 1) * 1000;
    return entry;
}

Test(access_entry, a_line_of_json_has_all_that_is_known) {
    cr_assert_str_eq(
        line_of(full(), ACCESS_JSON),
        "{\"time\":\"2023-11-14T22:13:20.008Z\",\"client\":\"192.0.2.1\",\"client_port\":4711,\"method\":\"POST\","
        "\"path\":\"/predict?a=1\",\"route\":\"/predict\",\"code\":200,\"reason\":\"ok\",\"request_id\":\"id-1\","
        "\"model\":\"digits\",\"version\":3,\"rows\":2,\"batch_rows\":8,\"device\":1,\"device_kind\":\"cpu\","
        "\"bytes_in\":120,\"bytes_out\":60,\"total_us\":1234,\"read_us\":1,\"queue_us\":2,\"input_us\":3,"
        "\"compute_us\":4,\"output_us\":5,\"write_us\":6}\n");
}

Test(access_entry, what_is_not_known_is_left_out) {
    struct access_entry *entry = fresh();
    entry->code = 400;
    entry->reason = REASON_FRAMING;
    entry->route = ROUTE_OTHER;
    entry->answer_bytes = -20;
    cr_assert_str_eq(line_of(entry, ACCESS_JSON),
                     "{\"time\":\"2023-11-14T22:13:20.007Z\",\"route\":\"other\",\"code\":400,\"reason\":\"framing\","
                     "\"bytes_in\":0,\"bytes_out\":0,\"total_us\":0}\n");
    cr_assert_str_eq(line_of(entry, ACCESS_COMBINED), "- - - [14/Nov/2023:22:13:20 +0000] \"-\" 400 - \"-\" \"-\"\n");
}

Test(access_entry, a_combined_line_is_apaches) {
    struct access_entry *entry = full();
    cr_assert_str_eq(line_of(entry, ACCESS_COMBINED),
                     "192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"POST /predict?a=1 HTTP/1.1\" 200 60 "
                     "\"http://x/\" \"curl/8 \\\"q\\\"\"\n");
    entry->http_1_0 = true;
    entry->answer_bytes = 0;
    entry->agent_size = 0;
    cr_assert_str_eq(line_of(entry, ACCESS_COMBINED),
                     "192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"POST /predict?a=1 HTTP/1.0\" 200 - "
                     "\"http://x/\" \"-\"\n");
}

Test(access_entry, addresses_are_written_as_people_do) {
    struct access_entry *entry = full();
    struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
    entry->peer.family = AF_INET6;
    memcpy(entry->peer.address, &loopback, sizeof loopback);
    cr_assert_not_null(strstr(line_of(entry, ACCESS_JSON), "\"client\":\"::1\",\"client_port\":4711"));
    static const uint8_t mapped[16] = {[10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 255};
    memcpy(entry->peer.address, mapped, sizeof mapped);
    cr_assert_eq(strncmp(line_of(entry, ACCESS_COMBINED), "10.0.0.255 - - [", 16), 0);
}

Test(access_entry, hostile_bytes_are_escaped) {
    struct access_entry *entry = full();
    SET_TEXT(entry, target, "/\"\\\n\x1b\x7f\xc3\xa9\xff\xc2\x9b\xe2\x82");
    cr_assert_not_null(
        strstr(line_of(entry, ACCESS_JSON),
               "\"path\":\"/\\\"\\\\\\u000a\\u001b\\u007f\xc3\xa9\xef\xbf\xbd\\u009b\xef\xbf\xbd\xef\xbf\xbd\""));
    cr_assert_not_null(strstr(line_of(entry, ACCESS_COMBINED),
                              "\"POST /\\\"\\\\\\x0a\\x1b\\x7f\\xc3\\xa9\\xff\\xc2\\x9b\\xe2\\x82 HTTP/1.1\""));
}

Test(access_entry, a_long_target_is_cut_and_says_how_long_it_was) {
    struct access_entry *entry = full();
    char target[5000];
    memset(target, 'a', sizeof target);
    entry->target_bytes = sizeof target;
    entry->target_size = (uint16_t)access_entry_copy(entry->target, sizeof entry->target, target, sizeof target);
    const char *text = line_of(entry, ACCESS_JSON);
    cr_assert_not_null(strstr(text, "aaa\",\"path_bytes\":5000,"));
    cr_assert_lt(strlen(text), 800);
}

/* Is text[0..size) a JSON object of strings and numbers? Enough of a reader for these lines. */
static bool is_object(const char *text) {
    const char *at = text;
    if (*at++ != '{')
        return false;
    while (true) {
        for (int part = 0; part < 2; part++) {
            if (*at == '"') {
                for (at++; *at != '"'; at++) {
                    size_t left = strlen(at), length = left > 0 ? utf8_length(at, left) : 0;
                    if (length == 0 || (unsigned char)*at < ' ')
                        return false;
                    if (*at == '\\' && at[1] == 'u' && strspn(at + 2, "0123456789abcdef") < 4)
                        return false;
                    if (*at == '\\' && !strchr("u\"\\", *++at))
                        return false;
                    at += length - 1;
                }
                at++;
            } else if (part == 1) {
                at += strspn(at, "0123456789");
            }
            if (part == 0 && *at++ != ':')
                return false;
        }
        if (*at != ',')
            break;
        at++;
    }
    return strcmp(at, "}\n") == 0;
}

Test(access_entry, random_bytes_and_the_worst_of_them_make_lines_of_bounded_json) {
    struct access_entry *entry = full();
    srand(1);
    for (int round = 0; round < 5000; round++) {
        for (size_t i = 0; i < ACCESS_TARGET_BYTES; i++)
            entry->target[i] = (char)(round == 0 ? 1 : rand());
        for (size_t i = 0; i < ACCESS_ID_BYTES; i++)
            entry->id[i] = (char)(round == 0 ? 1 : rand());
        memset(entry->model, round == 0 ? 1 : rand(), sizeof entry->model);
        memcpy(entry->agent, entry->id, sizeof entry->agent);
        memcpy(entry->referer, entry->target, sizeof entry->referer);
        entry->target_size = ACCESS_TARGET_BYTES;
        entry->id_size = ACCESS_ID_BYTES;
        entry->model_size = ACCESS_MODEL_BYTES;
        entry->agent_size = entry->referer_size = ACCESS_FIELD_BYTES;
        if (round == 0) {
            entry->version = entry->body_bytes = UINT64_MAX;
            entry->answer_bytes = entry->ended_ns = INT64_MAX;
            entry->rows = entry->batch_rows = entry->target_bytes = UINT32_MAX;
            entry->started_ns = 0;
            for (int i = 0; i < ACCESS_TIMES; i++)
                entry->times_ns[i] = INT64_MAX;
        }
        cr_assert(is_object(line_of(entry, ACCESS_JSON)), "%s", line);
        line_of(entry, ACCESS_COMBINED);
    }
}

Test(access_entry, the_second_is_written_anew_when_it_or_the_format_changes) {
    struct access_entry *entry = full();
    for (int64_t second = 0; second < 3; second++) {
        char expected[40];
        entry->started_ns = second * INT64_C(1000000000);
        snprintf(expected, sizeof expected, "22:13:%02d.007Z", (int)(20 + second));
        cr_assert_not_null(strstr(line_of(entry, ACCESS_JSON), expected), "%s", line);
        snprintf(expected, sizeof expected, ":22:13:%02d +0000]", (int)(20 + second));
        cr_assert_not_null(strstr(line_of(entry, ACCESS_COMBINED), expected), "%s", line);
    }
}
