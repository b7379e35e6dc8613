/* Time per body of the codecs, beside cJSON and a loop over strtof, in one run.
 * usage: bench_codec [PIECE_BYTES]   reading goes in pieces of that size (default: the whole body at once) */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/codec/codec.h"

enum { NUMBERS = 784, ROUNDS = 15, ROUND_NS = 10 * 1000 * 1000 };

struct bench {
    const char *body;
    size_t size, piece_bytes;
    struct signature signature;
    const float *values;
    float *sink;
    struct bytes out;
};

/* CPU time of this thread: another program on the same core does not count. */
static int64_t cpu_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "bench_codec: %s\n", what);
    exit(1);
}

static void read_codec(struct bench *bench) {
    struct decoder_options options = {
        .format = CODEC_JSON, .signature = &bench->signature, .body_bytes = bench->size, .max_rows = UINT32_MAX};
    struct decoder *decoder;
    struct decoded decoded;
    struct weir_error err;
    if (decoder_open(&options, &decoder, &err) != WEIR_OK)
        fail(err.text);
    for (size_t at = 0; at < bench->size; at += bench->piece_bytes) {
        size_t size = bench->size - at < bench->piece_bytes ? bench->size - at : bench->piece_bytes;
        if (decoder_feed(decoder, bench->body + at, size, &err) != WEIR_OK)
            fail(err.text);
    }
    if (decoder_finish(decoder, &decoded, &err) != WEIR_OK)
        fail(err.text);
    decoder_close(decoder);
    decoded_release(&decoded, 1);
}

static void read_cjson(struct bench *bench) {
    cJSON *root = cJSON_ParseWithLength(bench->body, bench->size);
    cJSON *rows = cJSON_GetObjectItemCaseSensitive(root, "instances");
    float *to = bench->sink;
    for (cJSON *row = rows->child; row; row = row->next)
        for (cJSON *value = row->child; value; value = value->next)
            *to++ = (float)value->valuedouble;
    cJSON_Delete(root);
}

static void read_strtof(struct bench *bench) {
    const char *at = strstr(bench->body, "[[") + 2;
    for (int i = 0; i < NUMBERS; i++) {
        char *end;
        bench->sink[i] = strtof(at, &end);
        at = end + 1;
    }
}

static void write_codec(struct bench *bench) {
    struct job_tensor output = {
        .data = (void *)bench->values, .row_bytes = NUMBERS * sizeof(float), .row = {.rank = 1, .dims = {NUMBERS}}};
    struct weir_error err;
    bench->out.size = 0;
    if (codec_encode(CODEC_JSON, &bench->signature, 1, &output, &bench->out, &err) != WEIR_OK)
        fail(err.text);
}

static void write_cjson(struct bench *bench) {
    cJSON *array = cJSON_CreateFloatArray(bench->values, NUMBERS);
    char *text = cJSON_PrintUnformatted(array);
    bench->out.size = strlen(text);
    cJSON_free(text);
    cJSON_Delete(array);
}

static void write_printf(struct bench *bench) {
    bench->out.size = 0;
    for (int i = 0; i < NUMBERS; i++)
        bytes_printf(&bench->out, "%.9g,", (double)bench->values[i]);
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void measure(const char *name, void (*run)(struct bench *), struct bench *bench) {
    double us[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = cpu_now_ns(), now;
        int runs = 0;
        do {
            for (int i = 0; i < 50; i++)
                run(bench);
            runs += 50;
            now = cpu_now_ns();
        } while (now - start < ROUND_NS);
        us[round] = (double)(now - start) / runs / 1000;
    }
    qsort(us, ROUNDS, sizeof us[0], compare);
    printf("  %-14s %7.2f us  (%.2f to %.2f)  %6.1f ns per number\n", name, us[ROUNDS / 2], us[0], us[ROUNDS - 1],
           us[ROUNDS / 2] * 1000 / NUMBERS);
}

int main(int argc, char **argv) {
    static float values[NUMBERS], sink[NUMBERS];
    struct tensor_spec spec = {.name = "x",
                               .dtype = TENSOR_F32,
                               .shape = {.rank = 2, .dims = {TENSOR_BATCH, NUMBERS}},
                               .is_fixed = true,
                               .row_elements = NUMBERS,
                               .row_bytes = NUMBERS * sizeof(float)};
    struct bench bench = {.signature = {.inputs = &spec, .outputs = &spec, .input_count = 1, .output_count = 1},
                          .values = values,
                          .sink = sink};
    static const struct {
        const char *name, *format;
    } kinds[] = {{"short numbers", "%s%.4f"}, {"17 digits", "%s%.17g"}};
    for (size_t kind = 0; kind < 2; kind++) {
        struct bytes body = {0};
        srand48(7);
        bytes_text(&body, "{\"instances\":[[");
        for (int i = 0; i < NUMBERS; i++) {
            double value = drand48();
            values[i] = (float)value;
            bytes_printf(&body, kinds[kind].format, i == 0 ? "" : ",", value);
        }
        bytes_text(&body, "]]}");
        bytes_append(&body, "", 1); /* for the strtof loop */
        if (body.failed)
            fail("no memory");
        bench.body = body.data;
        bench.size = body.size - 1;
        bench.piece_bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : bench.size;
        if (bench.piece_bytes == 0)
            fail("a piece has at least one byte");
        printf("read %d numbers, %s, %zu bytes, pieces of %zu\n", NUMBERS, kinds[kind].name, bench.size,
               bench.piece_bytes);
        measure("codec", read_codec, &bench);
        measure("cJSON", read_cjson, &bench);
        measure("strtof loop", read_strtof, &bench);
        bytes_release(&body);
    }
    printf("write %d numbers\n", NUMBERS);
    measure("codec", write_codec, &bench);
    measure("cJSON", write_cjson, &bench);
    measure("printf %.9g", write_printf, &bench);
    bytes_release(&bench.out);
    return 0;
}
