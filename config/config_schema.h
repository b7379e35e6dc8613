/* The one table of configuration keys: struct, parser, `weir config`, `weir check` and documentation come from it. */
#ifndef WEIR_CONFIG_CONFIG_SCHEMA_H
#define WEIR_CONFIG_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

/* X(NAME, text), in the order of the enumerators. */
#define CONFIG_DEVICE_LIST(X)            X(AUTO, "auto") X(CPU, "cpu") X(CUDA, "cuda")
#define CONFIG_LOG_LEVEL_LIST(X)         X(ERROR, "error") X(WARN, "warn") X(INFO, "info") X(DEBUG, "debug")
#define CONFIG_ACCESS_LOG_FORMAT_LIST(X) X(JSON, "json") X(COMBINED, "combined")
#define CONFIG_SERVER_TIMING_LIST(X)     X(OFF, "off") X(ON_REQUEST, "on_request") X(ALWAYS, "always")
#define CONFIG_ADMISSION_LIST(X)         X(PREDICT, "predict") X(FIFO, "fifo")
#define CONFIG_PRECISION_LIST(X)         X(FP32, "fp32") X(TF32, "tf32") X(FP16, "fp16") X(BF16, "bf16") X(INT8, "int8")
#define CONFIG_NEW_VERSIONS_LIST(X)      X(SERVE, "serve") X(HOLD, "hold")
#define CONFIG_INVARIANCE_LIST(X)        X(OFF, "off") X(BUCKET, "bucket") X(STRICT, "strict")

#define CONFIG_DEVICE_ENUM(name, text)            CONFIG_DEVICE_##name,
#define CONFIG_ADMISSION_ENUM(name, text)         CONFIG_ADMISSION_##name,
#define CONFIG_LOG_LEVEL_ENUM(name, text)         CONFIG_LOG_LEVEL_##name,
#define CONFIG_PRECISION_ENUM(name, text)         CONFIG_PRECISION_##name,
#define CONFIG_INVARIANCE_ENUM(name, text)        CONFIG_INVARIANCE_##name,
#define CONFIG_NEW_VERSIONS_ENUM(name, text)      CONFIG_NEW_VERSIONS_##name,
#define CONFIG_ACCESS_LOG_FORMAT_ENUM(name, text) CONFIG_ACCESS_LOG_FORMAT_##name,
#define CONFIG_SERVER_TIMING_ENUM(name, text)     CONFIG_SERVER_TIMING_##name,
enum config_device { CONFIG_DEVICE_LIST(CONFIG_DEVICE_ENUM) CONFIG_DEVICE_COUNT };
enum config_admission { CONFIG_ADMISSION_LIST(CONFIG_ADMISSION_ENUM) CONFIG_ADMISSION_COUNT };
enum config_log_level { CONFIG_LOG_LEVEL_LIST(CONFIG_LOG_LEVEL_ENUM) CONFIG_LOG_LEVEL_COUNT };
enum config_precision { CONFIG_PRECISION_LIST(CONFIG_PRECISION_ENUM) CONFIG_PRECISION_COUNT };
enum config_invariance { CONFIG_INVARIANCE_LIST(CONFIG_INVARIANCE_ENUM) CONFIG_INVARIANCE_COUNT };
enum config_new_versions { CONFIG_NEW_VERSIONS_LIST(CONFIG_NEW_VERSIONS_ENUM) CONFIG_NEW_VERSIONS_COUNT };
enum config_access_log_format {
    CONFIG_ACCESS_LOG_FORMAT_LIST(CONFIG_ACCESS_LOG_FORMAT_ENUM) CONFIG_ACCESS_LOG_FORMAT_COUNT
};
enum config_server_timing { CONFIG_SERVER_TIMING_LIST(CONFIG_SERVER_TIMING_ENUM) CONFIG_SERVER_TIMING_COUNT };
#undef CONFIG_DEVICE_ENUM
#undef CONFIG_ADMISSION_ENUM
#undef CONFIG_LOG_LEVEL_ENUM
#undef CONFIG_PRECISION_ENUM
#undef CONFIG_INVARIANCE_ENUM
#undef CONFIG_NEW_VERSIONS_ENUM
#undef CONFIG_ACCESS_LOG_FORMAT_ENUM
#undef CONFIG_SERVER_TIMING_ENUM

/* INTEGER and SIZE are int64_t (SIZE takes KiB, MiB, GiB), STRING is char *, ENUM is enum config_<key>. */
enum config_type { CONFIG_TYPE_INTEGER, CONFIG_TYPE_SIZE, CONFIG_TYPE_STRING, CONFIG_TYPE_ENUM };

#define CONFIG_HOUR_MS INT64_C(3600000)
#define CONFIG_GIB     (INT64_C(1) << 30)

/* X(key, type, unit, least, most, default, reload, sentence). least and most bound the value, or the length of a
 * STRING. The default is text, read by the same parser; NULL is none. An INTEGER whose default is "auto" takes that
 * word for 0. reload: LIVE applies on SIGHUP, FIXED needs a restart. */
/* clang-format off */
#define CONFIG_KEY_LIST(X) \
    X(host, STRING, "", 1, 255, "127.0.0.1", FIXED, "Address to listen on: a name, IPv4 or IPv6; 0.0.0.0 is every IPv4 address.") \
    X(port, INTEGER, "", 0, 65535, "8000", FIXED, "Port of the data listener; 0 takes any free one and prints it.") \
    X(ops_port, INTEGER, "", 0, 65535, "0", FIXED, "Port of health, metrics and status; 0 serves them on the data port.") \
    X(model_path, STRING, "", 1, 4095, NULL, FIXED, "An .onnx file, a version directory, or a model directory of versions.") \
    X(model_name, STRING, "", 1, 64, NULL, FIXED, "Name of the model; without it the name of its directory or file.") \
    X(version_policy, STRING, "", 1, 255, "latest", FIXED, "Versions to load: latest, latest:3, all, or a list such as 1, 4.") \
    X(new_versions, ENUM, "", 0, 0, "serve", FIXED, "serve: a new version takes over when proven; hold: it waits for you.") \
    X(scan_ms, INTEGER, "ms", 10, CONFIG_HOUR_MS, "1000", LIVE, "How often to look for versions; files must be at rest for as long, or 5 s.") \
    X(state_dir, STRING, "", 1, 4095, NULL, FIXED, "Where rollouts survive a restart; without it they do not.") \
    X(admin_listen, STRING, "", 1, 255, NULL, FIXED, "Loopback ADDRESS:PORT of /admin for `weir models`; without it, none.") \
    X(device, ENUM, "", 0, 0, "auto", FIXED, "Where batches run; auto falls back to the CPU and says so, cuda does not.") \
    X(gpu_count, INTEGER, "devices", 1, 16, "1", FIXED, "GPUs to use when the device is a GPU.") \
    X(cuda_module, STRING, "", 1, 4095, NULL, FIXED, "The CUDA module's file; without it weir_cuda.so beside the program.") \
    X(allow_simulated, INTEGER, "", 0, 1, "0", FIXED, "1 takes a CUDA module that only simulates a GPU; for tests.") \
    X(cpu_threads, INTEGER, "threads", 1, 1024, "1", FIXED, "Threads that compute one batch on the CPU.") \
    X(precision, ENUM, "", 0, 0, "fp32", FIXED, "Numbers in which weights are multiplied, where the processor has them.") \
    X(invariance, ENUM, "", 0, 0, "off", FIXED, "strict: an answer's bits do not depend on its batch; bucket: few sizes.") \
    X(batch_size, INTEGER, "rows", 1, 65536, "32", FIXED, "Most rows in one batch; larger requests are split.") \
    X(max_queue_delay_us, INTEGER, "us", 0, 1000000, "0", LIVE, "How long an idle device waits for a batch to fill; 0 starts at once.") \
    X(admission, ENUM, "", 0, 0, "predict", FIXED, "predict refuses what will not be in time; fifo drops what has expired.") \
    X(queue_delay_target_ms, INTEGER, "ms", 1, CONFIG_HOUR_MS, "auto", LIVE, "Longest wait for a turn; more is refused. auto is three batches.") \
    X(workers, INTEGER, "threads", 1, 64, "1", FIXED, "Event-loop threads that read and write connections.") \
    X(max_concurrency, INTEGER, "requests", 1, 65536, "64", LIVE, "Predictions in progress; one more is refused with 503.") \
    X(max_body_bytes, SIZE, "bytes", 1, CONFIG_GIB, "16MiB", LIVE, "Largest request body; more is refused with 413.") \
    X(max_inflight_body_bytes, SIZE, "bytes", 1, 1024 * CONFIG_GIB, "256MiB", LIVE, "Request bodies held at one time, all together.") \
    X(max_request_rows, INTEGER, "rows", 1, 16777216, "8192", LIVE, "Most rows in one request; more is refused with 413.") \
    X(max_connections, INTEGER, "connections", 0, 1000000, "0", FIXED, "Open connections; 0 is the descriptor limit less a reserve, at most 10000.") \
    X(timeout_ms, INTEGER, "ms", 1, CONFIG_HOUR_MS, "3000", LIVE, "Deadline of a prediction, counted from its head's arrival.") \
    X(head_timeout_ms, INTEGER, "ms", 1, CONFIG_HOUR_MS, "10000", LIVE, "Time to send a whole request head.") \
    X(body_timeout_ms, INTEGER, "ms", 1, CONFIG_HOUR_MS, "30000", LIVE, "Time to send a whole request body.") \
    X(write_timeout_ms, INTEGER, "ms", 1, CONFIG_HOUR_MS, "30000", LIVE, "Time to take a whole answer.") \
    X(idle_timeout_ms, INTEGER, "ms", 1, CONFIG_HOUR_MS, "75000", LIVE, "How long a connection may stay open between requests.") \
    X(drain_delay_ms, INTEGER, "ms", 0, CONFIG_HOUR_MS, "5000", LIVE, "How long SIGTERM goes on serving while ready says 503; SIGINT skips it.") \
    X(drain_timeout_ms, INTEGER, "ms", 0, CONFIG_HOUR_MS, "20000", LIVE, "How long the stop then waits for requests in progress.") \
    X(watchdog_ms, INTEGER, "ms", 100, CONFIG_HOUR_MS, "10000", FIXED, "A longer batch: not ready. Twice that, or such a load, ends a GPU's process.") \
    X(log_level, ENUM, "", 0, 0, "info", LIVE, "Least severe events that are logged.") \
    X(access_log, STRING, "", 1, 4095, NULL, FIXED, "File or FIFO for a line for each request; \"-\" is stdout; without it, none.") \
    X(access_log_format, ENUM, "", 0, 0, "json", LIVE, "Form of the access log's lines: json, or the combined one of Apache.") \
    X(access_log_sample, INTEGER, "%", 0, 100, "100", LIVE, "Part of the requests in the access log; an answer 500 is always in it.") \
    X(traces_endpoint, STRING, "", 8, 1023, NULL, FIXED, "OTLP collector for traces, http://HOST:PORT[/PATH]; without it, no traces.") \
    X(traces_sample, INTEGER, "%", 0, 100, "1", LIVE, "Part of predictions traced; a caller's traceparent decides for its own.") \
    X(traces_service, STRING, "", 1, 255, "weir", FIXED, "What traces call this service: service.name.") \
    X(server_timing, ENUM, "", 0, 0, "on_request", LIVE, "Who gets Server-Timing: nobody, who sends X-Server-Timing: 1, or all.") \
    X(metrics_triton_names, INTEGER, "", 0, 1, "0", FIXED, "1 also tells of GPUs by Triton's names, nv_gpu_*, in /metrics.") \
    X(ui, INTEGER, "", 0, 1, "1", FIXED, "1 serves the status page /ui beside health and metrics; 0 does not.") \
    X(health_path, STRING, "", 2, 128, "/health", FIXED, "Path of the health routes; /live and /ready lie beneath it.")
/* clang-format on */

#define CONFIG_KEY_ENUM(name, ...) CONFIG_KEY_##name,
enum config_key_id { CONFIG_KEY_LIST(CONFIG_KEY_ENUM) CONFIG_KEY_COUNT };
#undef CONFIG_KEY_ENUM

struct config_key {
    const char *name;
    enum config_type type;
    const char *unit;
    int64_t least, most;
    const char *fallback; /* the default; NULL is none */
    bool reloadable;
    const char *sentence;
    const char *const *choices; /* of an ENUM, NULL at the end */
    size_t offset;              /* of the field in struct config */
};

/* thread: any. */
const struct config_key *config_schema_key(enum config_key_id id);

/* The key of this name, or NULL. */
const struct config_key *config_schema_find(const char *name);
enum config_key_id config_schema_id(const struct config_key *key);

/* The key a misspelt name most likely meant, or NULL when none is close. '-' counts as '_', case is ignored. */
const struct config_key *config_schema_nearest(const char *name);

/* Reads text strictly as a value of key and stores it in config. On false nothing is stored and why says what is wrong,
 * with the value and what is allowed. */
bool config_schema_set(const struct config_key *key, const char *text, struct config *config, char *why, size_t size);

/* Writes the value that config holds as the file would spell it; "" for a string that is not set. Returns out. */
const char *config_schema_value(const struct config_key *key, const struct config *config, char *out, size_t size);
bool config_schema_equal(const struct config_key *key, const struct config *a, const struct config *b);

/* Writes what the key takes: "0..65535", "auto, cpu, cuda", "text". Returns out. */
const char *config_schema_range(const struct config_key *key, char *out, size_t size);

/* NULL if text, of an allowed length, may be the value of the STRING key, else why not. */
const char *config_schema_judge(const struct config_key *key, const char *text);

/* What a model may be called: 1 to 64 of [A-Za-z0-9._-], no leading dot. */
bool config_schema_is_model_name(const char *text);

#endif
