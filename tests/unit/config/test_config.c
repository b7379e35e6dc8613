#include "config/config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct config config;
static struct config_problems problems;

static bool load_text(const char *text) {
    memset(&problems, 0, sizeof problems);
    return config_load_text(text, strlen(text), "weir.yaml", &config, &problems);
}

static bool load(int argc, const char *const *argv, const char *const *environment, const char *file) {
    const struct config_sources sources = {argc, (char *const *)argv, (char *const *)environment, file};
    memset(&problems, 0, sizeof problems);
    return config_load(&sources, &config, &problems);
}

#define LOAD_FLAGS(...)                                                                                                \
    load((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *const[]){__VA_ARGS__}, NULL, NULL)

/* One of the problems must read exactly like this. */
static void assert_problem(enum config_severity severity, const char *expected) {
    char text[512];
    for (int i = 0; i < problems.count; i++)
        if (problems.items[i].severity == severity &&
            strcmp(config_problems_text(&problems.items[i], text, sizeof text), expected) == 0)
            return;
    for (int i = 0; i < problems.count; i++)
        fprintf(stderr, "have: %s\n", config_problems_text(&problems.items[i], text, sizeof text));
    cr_assert_fail("no problem reads: %s", expected);
}

static const char *origin(const char *name) {
    static char text[256];
    return config_origin_text(&config, config_schema_find(name), text, sizeof text);
}

static char path[64];

static const char *write_file(const char *text) {
    snprintf(path, sizeof path, "/tmp/weir-config-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

Test(config, without_any_source_every_value_is_its_default) {
    cr_assert(load(0, NULL, NULL, NULL));
    cr_assert_str_eq(config.host, "127.0.0.1");
    cr_assert_eq(config.port, 8000);
    cr_assert_eq(config.ops_port, 0);
    cr_assert_null(config.model_path);
    cr_assert_null(config.model_name);
    cr_assert_eq(config.device, CONFIG_DEVICE_AUTO);
    cr_assert_eq(config.batch_size, 32);
    cr_assert_eq(config.max_concurrency, 64);
    cr_assert_eq(config.max_body_bytes, 16 << 20);
    cr_assert_eq(config.max_inflight_body_bytes, 256 << 20);
    cr_assert_eq(config.timeout_ms, 3000);
    cr_assert_eq(config.idle_timeout_ms, 75000);
    cr_assert_eq(config.drain_delay_ms, 5000);
    cr_assert_eq(config.log_level, CONFIG_LOG_LEVEL_INFO);
    cr_assert_str_eq(config.health_path, "/health");
    cr_assert_str_eq(origin("port"), "default");
    cr_assert_null(config.file);
    cr_assert_eq(problems.count, 0);
    config_release(&config);
}

Test(config, flags_win_over_variables_and_variables_over_the_file) {
    const char *file = write_file("port: 1\nworkers: 2\nservice:\n  batch_size: 3\n");
    const char *const flags[] = {"-c", file, "--port=11"};
    const char *const environment[] = {"WEIR_PORT=21", "WEIR_WORKERS=22", "HOME=/", NULL};
    char expected[128];
    cr_assert(load(3, flags, environment, NULL));
    cr_assert_eq(config.port, 11);
    cr_assert_eq(config.workers, 22);
    cr_assert_eq(config.batch_size, 3);
    cr_assert_str_eq(origin("port"), "--port");
    cr_assert_str_eq(origin("workers"), "WEIR_WORKERS");
    snprintf(expected, sizeof expected, "%s:4", file);
    cr_assert_str_eq(origin("batch_size"), expected);
    cr_assert_str_eq(config.file, file);
    config_release(&config);
    unlink(file);
}

Test(config, a_flag_of_a_file_wins_over_the_given_file) {
    const char *file = write_file("port: 5\n");
    const char *const flags[] = {"--config", file};
    cr_assert(load(2, flags, NULL, "/nonexistent"));
    cr_assert_eq(config.port, 5);
    config_release(&config);
    cr_assert(load(0, NULL, NULL, file));
    cr_assert_eq(config.port, 5);
    config_release(&config);
    unlink(file);
    cr_assert_not(load(0, NULL, NULL, "/nonexistent"));
    assert_problem(CONFIG_ERROR, "/nonexistent: cannot be read: No such file or directory");
}

Test(config, flags_take_dashes_or_underscores_and_the_model_as_an_argument) {
    cr_assert(LOAD_FLAGS("models/digits", "--batch-size", "8", "--max_body_bytes=1KiB", "--device", "cpu"));
    cr_assert_str_eq(config.model_path, "models/digits");
    cr_assert_str_eq(origin("model_path"), "MODEL");
    cr_assert_eq(config.batch_size, 8);
    cr_assert_eq(config.max_body_bytes, 1024);
    cr_assert_eq(config.device, CONFIG_DEVICE_CPU);
    cr_assert_str_eq(origin("batch_size"), "--batch-size");
    config_release(&config);
    cr_assert(LOAD_FLAGS("--port", "0", "--", "-odd-"));
    cr_assert_str_eq(config.model_path, "-odd-");
    config_release(&config);
}

Test(config, faults_of_flags_are_told_together) {
    cr_assert_not(LOAD_FLAGS("--batchsize", "8", "--port", "70000", "--workers", "--port=1", "a", "b", "-x", "--xyzzy",
                             "--timeout-ms", "-5", "--device"));
    assert_problem(CONFIG_ERROR, "--batchsize: unknown flag, did you mean --batch-size?");
    assert_problem(CONFIG_ERROR, "--port: 70000 is out of range, allowed is 0..65535");
    assert_problem(CONFIG_ERROR, "--workers: needs a value");
    assert_problem(CONFIG_ERROR, "--port: port is given twice");
    assert_problem(CONFIG_ERROR, "MODEL: model_path is given twice");
    assert_problem(CONFIG_ERROR, "--xyzzy: unknown flag (`weir config` lists the keys)");
    assert_problem(CONFIG_ERROR, "--timeout-ms: -5 is out of range, allowed is 1..3600000");
    assert_problem(CONFIG_ERROR, "--device: needs a value");
    cr_assert_eq(problems.errors, 9);
    cr_assert_not(LOAD_FLAGS("-c"));
    assert_problem(CONFIG_ERROR, "-c: needs a file");
    cr_assert_not(LOAD_FLAGS("-c", "/dev/null", "--config=/dev/null"));
    assert_problem(CONFIG_ERROR, "--config: is given twice");
}

Test(config, a_key_that_does_not_exist_is_refused_and_the_nearest_one_named) {
    cr_assert_not(load_text("model_path: ./models/demo\nport: 8080\nbatchsize: 8\nmax_concurrency: 64\n"));
    assert_problem(CONFIG_ERROR, "weir.yaml:3: batchsize: unknown key, did you mean batch_size?");
    cr_assert_eq(problems.count, 1);
    cr_assert_not(load_text("service:\n  tiemout_ms: 8\n  scan_ms: 5\nsession_dir: x\n<<: {port: 1}\n"));
    assert_problem(CONFIG_ERROR, "weir.yaml:2: tiemout_ms: unknown key, did you mean timeout_ms?");
    assert_problem(CONFIG_ERROR, "weir.yaml:4: session_dir: unknown key (`weir config` lists the keys)");
    cr_assert_eq(problems.errors, 4);
}

Test(config, a_key_given_twice_is_refused_with_both_lines) {
    cr_assert_not(load_text("port: 8080\nhost: a\nbatch_size: 8\ntimeout_ms: 2000\nbatch_size: 64\n"));
    assert_problem(CONFIG_ERROR, "weir.yaml:5: batch_size: is given twice, on line 3 and on line 5");
    cr_assert_not(load_text("service:\n  port: 1\nport: 1\n"));
    assert_problem(CONFIG_ERROR, "weir.yaml:3: port: is given twice, on line 2 and on line 3");
}

Test(config, all_values_out_of_range_are_told_in_one_run) {
    cr_assert_not(load_text("port: 70000\nbatch_size: 0\ntimeout_ms: -5\nmax_concurrency: 0\ngpu_count: 99\n"
                            "health_path: health\ndevice: gpu0\nworkers: 4294967297\nmodel_path:\n"));
    assert_problem(CONFIG_ERROR, "weir.yaml:1: port: 70000 is out of range, allowed is 0..65535");
    assert_problem(CONFIG_ERROR, "weir.yaml:2: batch_size: 0 is out of range, allowed is 1..65536");
    assert_problem(CONFIG_ERROR, "weir.yaml:3: timeout_ms: -5 is out of range, allowed is 1..3600000");
    assert_problem(CONFIG_ERROR, "weir.yaml:4: max_concurrency: 0 is out of range, allowed is 1..65536");
    assert_problem(CONFIG_ERROR, "weir.yaml:5: gpu_count: 99 is out of range, allowed is 1..16");
    assert_problem(CONFIG_ERROR, "weir.yaml:6: health_path: \"health\" must start with /");
    assert_problem(CONFIG_ERROR, "weir.yaml:7: device: \"gpu0\" is not one of auto, cpu, cuda");
    assert_problem(CONFIG_ERROR, "weir.yaml:8: workers: 4294967297 is out of range, allowed is 1..64");
    assert_problem(CONFIG_ERROR, "weir.yaml:9: model_path: has no value: give one or leave the key out");
    cr_assert_eq(problems.errors, 9);
}

Test(config, values_of_another_type_are_refused) {
    cr_assert_not(load_text("port: \"8000\"\nbatch_size: [8]\nworkers: {a: b}\ntimeout_ms: 1e3\nhost: ~\n"
                            "model_name: null\ngpu_count: yes\nhealth_path: |\n  /health\n"));
    assert_problem(CONFIG_ERROR, "weir.yaml:1: port: \"8000\" must be a number without quotes");
    assert_problem(CONFIG_ERROR, "weir.yaml:2: batch_size: must be one value, not a list");
    assert_problem(CONFIG_ERROR, "weir.yaml:3: workers: must be one value, not a mapping");
    assert_problem(CONFIG_ERROR, "weir.yaml:4: timeout_ms: \"1e3\" is not a whole number, allowed is 1..3600000");
    assert_problem(CONFIG_ERROR, "weir.yaml:5: host: has no value: give one or leave the key out");
    cr_assert_eq(problems.errors, 8);
    cr_assert(load_text("device: \"cpu\"\nmax_body_bytes: '1 MiB'\nmodel_name: \"null\"\n"));
    cr_assert_str_eq(config.model_name, "null");
    cr_assert_eq(config.max_body_bytes, 1 << 20);
    config_release(&config);
}

Test(config, an_unknown_variable_is_only_a_warning) {
    const char *const environment[] = {"WEIR_BATCHSIZE=8", "WEIR_XYZZY=1", "WEIR=build/weir", "XWEIR_PORT=1", NULL};
    cr_assert(load(0, NULL, environment, NULL));
    assert_problem(CONFIG_WARNING, "WEIR_BATCHSIZE: unknown variable ignored, did you mean WEIR_BATCH_SIZE?");
    assert_problem(CONFIG_WARNING, "WEIR_XYZZY: unknown variable ignored");
    cr_assert_eq(problems.count, 2);
    cr_assert_eq(config.batch_size, 32);
    config_release(&config);
}

Test(config, a_wrong_value_in_a_variable_is_an_error_even_when_a_flag_overrides_it) {
    const char *const environment[] = {"WEIR_PORT=http", "WEIR_HOST=", NULL};
    const char *const flags[] = {"--port", "1"};
    cr_assert_not(load(2, flags, environment, NULL));
    assert_problem(CONFIG_ERROR, "WEIR_PORT: \"http\" is not a whole number, allowed is 0..65535");
    assert_problem(CONFIG_ERROR, "WEIR_HOST: \"\" is empty");
}

Test(config, kubernetes_service_links_are_ignored_with_one_notice) {
    const char *const environment[] = {"WEIR_PORT=tcp://10.0.0.1:8000",
                                       "WEIR_PORT_8000_TCP=tcp://10.0.0.1:8000",
                                       "WEIR_PORT_8000_TCP_ADDR=10.0.0.1",
                                       "WEIR_SERVICE_HOST=10.0.0.1",
                                       "WEIR_SERVICE_PORT=8000",
                                       "WEIR_SERVICE_PORT_HTTP=8000",
                                       "WEIR_CANARY_PORT=tcp://10.0.0.2:8000",
                                       "WEIR_OPS_PORT=9000",
                                       NULL};
    cr_assert(load(0, NULL, environment, NULL));
    cr_assert_eq(config.port, 8000);
    cr_assert_str_eq(origin("port"), "default");
    cr_assert_eq(config.ops_port, 9000);
    cr_assert_eq(problems.count, 1);
    assert_problem(CONFIG_NOTICE,
                   "WEIR_PORT: is a Kubernetes service link, not a setting: it and others like it are ignored");
    config_release(&config);
}

Test(config, values_that_do_not_go_together_are_told) {
    cr_assert(load_text("port: 1\nmax_concurrency: 4\nbatch_size: 8\nmax_inflight_body_bytes: 1KiB\n"));
    assert_problem(CONFIG_WARNING, "weir.yaml:2: max_concurrency: max_concurrency 4 is less than batch_size 8: one-row "
                                   "requests never fill a batch");
    assert_problem(CONFIG_WARNING, "weir.yaml:4: max_inflight_body_bytes: max_inflight_body_bytes is less than "
                                   "max_body_bytes: the largest bodies never come in");
    config_release(&config);
    cr_assert(LOAD_FLAGS("--batch-size", "100"));
    assert_problem(CONFIG_WARNING,
                   "--batch-size: max_concurrency 64 is less than batch_size 100: one-row requests never "
                   "fill a batch");
    config_release(&config);
    cr_assert_not(load_text("device: cuda\nprecision: int8\n"));
    assert_problem(CONFIG_ERROR, "weir.yaml:2: precision: int8 is for the CPU: GPUs have fp32, tf32, fp16 and bf16");
    cr_assert_not(LOAD_FLAGS("--device", "cpu", "--precision", "fp16"));
    assert_problem(CONFIG_ERROR, "--precision: tf32 and fp16 are for GPUs: the CPU has fp32, bf16 and int8");
    cr_assert_not(load_text("ops_port: 8000\n"));
    assert_problem(CONFIG_ERROR,
                   "weir.yaml:1: ops_port: is the same as port: 0 serves both on one port, another number "
                   "on two");
}

Test(config, the_example_file_shows_every_key_with_its_default) {
    char name[512], uncommented[8192] = "", line[512];
    snprintf(name, sizeof name, "%s", __FILE__);
    char *tests = strstr(name, "tests/unit/");
    cr_assert_not_null(tests);
    snprintf(tests, sizeof name - (size_t)(tests - name), "config/weir.yaml");
    FILE *file = fopen(name, "r");
    cr_assert_not_null(file, "%s", name);
    while (fgets(line, sizeof line, file)) {
        char key[64] = "";
        bool hidden = sscanf(line, "# %63[a-z_]:", key) == 1 && config_schema_find(key);
        strncat(uncommented, line + (hidden ? 2 : 0), sizeof uncommented - strlen(uncommented) - 1);
    }
    fclose(file);
    cr_assert(load_text(uncommented), "%s", problems.items[0].text);
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = config_schema_key((enum config_key_id)i);
        char value[256];
        cr_assert_eq(config.origins[i].kind, CONFIG_ORIGIN_FILE, "%s is missing", key->name);
        if (key->fallback)
            cr_assert_str_eq(config_schema_value(key, &config, value, sizeof value), key->fallback);
    }
    config_release(&config);
}

Test(config, a_reload_may_change_live_keys_only_and_names_the_others) {
    struct config running, wanted;
    char names[128];
    memset(&problems, 0, sizeof problems);
    const char before[] = "port: 1\ntimeout_ms: 5\nlog_level: info\n";
    const char live[] = "port: 1\ntimeout_ms: 6\nlog_level: debug\nmax_queue_delay_us: 9\ndrain_delay_ms: 0\n";
    const char fixed[] = "port: 2\nmodel_path: x\ntimeout_ms: 6\n";
    cr_assert(config_load_text(before, strlen(before), "a", &running, &problems));
    cr_assert(config_load_text(live, strlen(live), "a", &wanted, &problems));
    cr_assert(config_may_reload(&running, &wanted, names, sizeof names));
    cr_assert_str_eq(names, "");
    config_release(&wanted);
    cr_assert(config_load_text(fixed, strlen(fixed), "a", &wanted, &problems));
    cr_assert_not(config_may_reload(&running, &wanted, names, sizeof names));
    cr_assert_str_eq(names, "port, model_path");
    cr_assert_not(config_may_reload(&running, &wanted, names, 4));
    cr_assert_str_eq(names, "por");
    config_release(&wanted);
    config_release(&running);
}

Test(config, a_file_full_of_faults_is_told_in_part_and_counted) {
    char text[8192] = "";
    for (int i = 0; i < 200; i++)
        sprintf(text + strlen(text), "xx%dyy: 1\n", i);
    cr_assert_not(load_text(text));
    cr_assert_eq(problems.errors, 200);
    cr_assert_eq(problems.left_out, 200 - CONFIG_PROBLEMS_MAX);
}
