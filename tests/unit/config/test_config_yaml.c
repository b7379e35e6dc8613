#include "config/config_yaml.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/temp_dir.h"

/* The pairs as "key=value@line" (quoted values in quotes, lists as [], mappings as {}), joined with spaces. */
struct record {
    char text[1024];
};

static void take(void *context, const struct config_yaml_pair *pair) {
    static const char *const forms[] = {"%s%s=%s@%d", "%s%s=\"%s\"@%d", "%s%s=[%s]@%d", "%s%s={%s}@%d"};
    struct record *record = context;
    char item[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(item, sizeof item, forms[pair->kind], *record->text ? " " : "", pair->key, pair->value, pair->line);
#pragma GCC diagnostic pop
    strncat(record->text, item, sizeof record->text - strlen(record->text) - 1);
}

static struct record record;
static struct config_problems problems;

static void read_bytes(const char *text, size_t size) {
    const struct config_yaml_sink sink = {take, &record};
    memset(&record, 0, sizeof record);
    memset(&problems, 0, sizeof problems);
    config_yaml_read(text, size, "weir.yaml", &sink, &problems);
}

static void assert_pairs(const char *text, const char *expected) {
    read_bytes(text, strlen(text));
    cr_assert_eq(problems.errors, 0, "%s: %s", text, problems.items[0].text);
    cr_assert_str_eq(record.text, expected);
}

/* The first problem must stand on this line and hold these words. */
static void assert_refused(const char *text, int line, const char *words) {
    read_bytes(text, strlen(text));
    cr_assert_gt(problems.errors, 0, "taken: %s", text);
    cr_assert_eq(problems.items[0].line, line, "%s: line %d", text, problems.items[0].line);
    cr_assert_not_null(strstr(problems.items[0].text, words), "%s: %s", text, problems.items[0].text);
    cr_assert_str_eq(problems.items[0].file, "weir.yaml");
}

Test(config_yaml, pairs_come_in_order_with_their_lines) {
    assert_pairs("# a comment\nport: 1\n\nhost: 'x y' # more\nmodel_path: \"a\"\n",
                 "port=1@2 host=\"x y\"@4 model_path=\"a\"@5");
}

Test(config_yaml, keys_under_service_are_keys_like_those_at_the_root) {
    assert_pairs("port: 1\nservice:\n  host: a\n  workers: 2\ndevice: cpu\n",
                 "port=1@1 host=a@3 workers=2@4 device=cpu@5");
    assert_pairs("{port: 1, service: {host: a}}", "port=1@1 host=a@1");
}

Test(config_yaml, an_empty_file_holds_no_pairs) {
    assert_pairs("", "");
    assert_pairs("\n\n", "");
    assert_pairs("# only a comment\n", "");
    assert_pairs("---\n", "");
    assert_pairs("---\n...\n", "");
    assert_pairs("{}", "");
    assert_pairs("service:\n", "");
    assert_pairs("\xEF\xBB\xBF", "");
}

Test(config_yaml, a_byte_order_mark_and_crlf_are_accepted) {
    assert_pairs("\xEF\xBB\xBFport: 1\r\nhost: a\r\n", "port=1@1 host=a@2");
}

Test(config_yaml, a_value_that_is_no_single_value_is_told_as_such_and_reading_goes_on) {
    assert_pairs("port: [1, 2]\nhost:\n  a: b\nworkers: 3\nservice:\n  device: [[1]]\n  batch_size: 2\n",
                 "port=[]@1 host={}@2 workers=3@4 device=[]@6 batch_size=2@7");
}

Test(config_yaml, what_is_no_yaml_is_refused_with_its_line) {
    assert_refused("port: 1\nhost: [a\n", 3, "not valid YAML");
    assert_refused("port: 1\n host: a\n", 2, "not valid YAML");
    assert_refused("port: 1\nhost: \"a\n", 3, "not valid YAML");
    assert_refused("port: 1\n# Stra\xDF"
                   "e\n",
                   2, "not valid YAML");
    assert_refused("port: 1\nhost: \xED\xA0\x80\n", 2, "not valid YAML");
    assert_refused("%FOO\nport: 1\n", 1, "not valid YAML");
}

Test(config_yaml, a_root_that_is_no_mapping_is_refused) {
    assert_refused("- port: 1\n", 1, "not a list");
    assert_refused("port\n", 1, "key: value");
    assert_refused("\n\"port\"\n", 2, "key: value");
}

Test(config_yaml, tabs_are_refused_outside_comments) {
    assert_refused("service:\n\tport: 1\n", 2, "tab");
    assert_refused("port:\t1\n", 1, "tab");
    assert_refused("port: 1\nhost: a\n\t\n", 3, "tab");
    assert_pairs("port: 1 # one\ttwo\n#\tthree\n", "port=1@1");
}

Test(config_yaml, a_nul_byte_is_refused_with_its_line) {
    read_bytes("port: 1\nhost: a\0b\n", 18);
    cr_assert_eq(problems.errors, 1);
    cr_assert_eq(problems.items[0].line, 2);
    cr_assert_not_null(strstr(problems.items[0].text, "NUL"));
    assert_refused("model_path: \"a\\0b\"\n", 1, "NUL");
    assert_refused("\"a\\0b\": 1\n", 1, "keys must be plain words");
}

Test(config_yaml, a_second_document_is_refused) {
    assert_refused("port: 1\n---\nport: 2\n", 2, "second document");
    assert_refused("---\n---\n", 2, "second document");
}

Test(config_yaml, anchors_aliases_and_tags_are_refused) {
    assert_refused("port: &a 1\n", 1, "anchors");
    assert_refused("host: x\nport: *a\n", 2, "aliases");
    assert_refused("port: !!int 1\n", 1, "tags");
    assert_refused("port: !x 1\n", 1, "tags");
    assert_refused("port: [&a 1]\nhost: &b x\n", 2, "anchors");
    assert_refused("service: &s\n  port: 1\n", 1, "anchors");
    assert_refused("&a port: 1\n", 1, "anchors");
    assert_refused("!!map\nport: 1\n", 1, "tags");
    assert_refused("%TAG ! tag:x,2000:\n---\nport: 1\n", 1, "tags");
}

Test(config_yaml, a_key_must_be_a_plain_word) {
    assert_refused("[a]: 1\n", 1, "keys must be plain words");
    assert_refused("port: 1\n? {a: b}\n: 1\n", 2, "keys must be plain words");
}

Test(config_yaml, service_must_be_one_mapping) {
    assert_refused("service: 5\n", 1, "keys of its own");
    assert_refused("service: [port]\n", 1, "not a list");
    assert_refused("service:\n  port: 1\nhost: a\nservice:\n  host: b\n", 4, "first on line 1");
}

Test(config_yaml, deep_nesting_stops_the_reading) {
    char deep[CONFIG_YAML_MAX_BYTES];
    assert_pairs("port: [[[1]]]\n", "port=[]@1");
    assert_refused("port: [[[[1]]]]\n", 1, "nested too deeply");
    memset(deep, '[', sizeof deep);
    memcpy(deep, "port: ", 6);
    read_bytes(deep, sizeof deep);
    cr_assert_eq(problems.errors, 1);
    cr_assert_not_null(strstr(problems.items[0].text, "nested too deeply"));
    for (size_t i = 6; i + 1 < sizeof deep; i += 2)
        memcpy(deep + i, "- ", 2);
    read_bytes(deep, sizeof deep);
    cr_assert_eq(problems.errors, 1);
}

static const char *write_file(const char *name, size_t size) {
    const char *path = temp_dir_at(name);
    FILE *file = fopen(path, "w");
    for (size_t i = 0; i < size; i++)
        putc('#', file);
    fclose(file);
    return path;
}

static void assert_not_opened(const char *path, const char *words) {
    char *text = NULL;
    size_t size = 0;
    memset(&problems, 0, sizeof problems);
    cr_assert_not(config_yaml_open(path, &text, &size, &problems));
    cr_assert_eq(problems.errors, 1);
    cr_assert_not_null(strstr(problems.items[0].text, words), "%s", problems.items[0].text);
    cr_assert_str_eq(problems.items[0].file, path);
}

TestSuite(config_yaml_files, .init = temp_dir_make, .fini = temp_dir_remove);

Test(config_yaml_files, a_file_of_the_largest_size_is_read_whole) {
    char *text = NULL;
    size_t size = 0;
    cr_assert(config_yaml_open(write_file("a", CONFIG_YAML_MAX_BYTES), &text, &size, &problems));
    cr_assert_eq(size, CONFIG_YAML_MAX_BYTES);
    cr_assert_eq(text[size], 0);
    free(text);
    cr_assert(config_yaml_open("/dev/null", &text, &size, &problems));
    cr_assert_eq(size, 0);
    free(text);
}

Test(config_yaml_files, what_cannot_be_read_is_refused_with_the_reason) {
    const char *pipe_path = temp_dir_at("pipe");
    assert_not_opened(write_file("b", CONFIG_YAML_MAX_BYTES + 1), "too large");
    assert_not_opened(temp_dir, "is a directory");
    assert_not_opened("/nonexistent/weir.yaml", "No such file");
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    assert_not_opened(pipe_path, "is a pipe");
    const char *secret = write_file("c", 1);
    cr_assert_eq(chmod(secret, 0), 0);
    if (geteuid() != 0)
        assert_not_opened(secret, "Permission denied");
}
