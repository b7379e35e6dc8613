/* Reads one JSON body whole and in pieces: both must give the same rows or the same refusal, and rows that were read
 * must be written, by rows and by columns, and read again as the same bits. The first two bytes of the input choose the
 * inputs' types and shapes, how the body is cut and whether it is /predict's or V1's; the rest is the body. usage:
 * fuzz_json tests/fuzz/corpus/json   (libFuzzer) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/utf8.h"
#include "server/codec/codec.h"
#include "server/codec/json_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    enum weir_status status;
    struct weir_error err;
    struct decoded decoded;
};

static void require(bool holds, const char *what, const struct outcome *one, const struct outcome *other) {
    if (holds)
        return;
    fprintf(stderr, "fuzz_json: %s\n  %s\n  %s\n", what, one->status ? one->err.text : "ok",
            other->status ? other->err.text : "ok");
    abort();
}

/* The next piece's size, from a counter that the input seeds. */
static size_t next_size(uint32_t *seed, size_t left) {
    *seed = *seed * 1664525 + 1013904223; /* Numerical Recipes' constants */
    size_t most = *seed >> 31 ? 4 : 100;
    size_t size = (*seed >> 16) % most;
    return size < left ? size : left;
}

static struct outcome decode(enum codec_format format, const struct signature *signature, const char *body, size_t size,
                             bool whole, uint32_t seed) {
    struct outcome outcome = {.status = WEIR_OK};
    /* Whole bodies come announced, cut ones come chunked. */
    struct decoder_options options = {
        .format = format, .signature = signature, .body_bytes = whole ? size : 0, .max_rows = 50};
    struct decoder *decoder;
    if (decoder_open(&options, &decoder, &outcome.err) != WEIR_OK)
        abort();
    for (size_t at = 0; at < size && outcome.status == WEIR_OK;) {
        size_t piece_size = whole ? size : next_size(&seed, size - at);
        char *piece = malloc(piece_size + (piece_size == 0)); /* its own block: a step past it is seen */
        memcpy(piece, body + at, piece_size);
        outcome.status = decoder_feed(decoder, piece, piece_size, &outcome.err);
        free(piece);
        at += piece_size;
    }
    if (outcome.status == WEIR_OK)
        outcome.status = decoder_finish(decoder, &outcome.decoded, &outcome.err);
    decoder_close(decoder);
    return outcome;
}

/* Bytes of an input's tensor. */
static size_t bytes_of(const struct signature *signature, const struct outcome *outcome, int input) {
    bool has_rows = signature->inputs[input].batch_axis >= 0;
    return (has_rows ? outcome->decoded.dims.rows : 1) * outcome->decoded.inputs[input].row_bytes;
}

static void require_same(const struct signature *signature, const struct outcome *one, const struct outcome *other,
                         const char *what) {
    require(one->decoded.dims.rows == other->decoded.dims.rows && one->decoded.dims.rows > 0, what, one, other);
    require(tensor_dims_share(&one->decoded.dims, &other->decoded.dims), what, one, other);
    for (int i = 0; i < signature->input_count; i++) {
        size_t bytes = bytes_of(signature, one, i);
        require(bytes == bytes_of(signature, other, i), what, one, other);
        require(memcmp(one->decoded.inputs[i].data, other->decoded.inputs[i].data, bytes) == 0, what, one, other);
    }
}

/* Reads an answer again as a body, its head being "{\"predictions\"" or "{\"outputs\"". */
static void check_again(const struct signature *signature, const struct outcome *first, const struct bytes *answer,
                        size_t head_size, const char *head) {
    struct bytes body = {0};
    bytes_text(&body, head);
    bytes_append(&body, answer->data + head_size, answer->size - head_size);
    struct outcome again = decode(CODEC_V1, signature, body.data, body.size, true, 0);
    require(again.status == WEIR_OK, "written rows are not read", first, &again);
    require_same(signature, first, &again, "written rows are read as other rows");
    decoded_release(&again.decoded, signature->input_count);
    bytes_release(&body);
}

/* Several outputs are written as objects by name, which is how several inputs are read. */
static void check_round_trip(const struct signature *signature, const struct outcome *first) {
    uint32_t rows = first->decoded.dims.rows;
    struct bytes out = {0};
    struct outcome again = {.status = WEIR_OK};
    again.status = codec_encode(CODEC_JSON, signature, rows, first->decoded.inputs, &out, &again.err);
    require(again.status == WEIR_OK, "rows that were read are not written", first, &again);
    if (signature->input_count == 1 ||
        signature->inputs[2].batch_axis >= 0) /* else the writer says more than may be read */
        check_again(signature, first, &out, strlen("{\"predictions\""), "{\"instances\"");
    out.size = 0;
    again.status = json_answer_write_columns(signature, rows, first->decoded.inputs, &out, &again.err);
    require(again.status == WEIR_OK, "rows that were read are not written by columns", first, &again);
    check_again(signature, first, &out, strlen("{\"outputs\""), "{\"inputs\"");
    bytes_release(&out);
}

#define FREE(k) TENSOR_FREE(k)

/* The models to choose from: one input each, or "a", "b" and "c". */
static const struct tensor_spec models[][3] = {
    {{.dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 4}}}},
    {{.dtype = TENSOR_F32, .shape = {.rank = 1, .dims = {TENSOR_BATCH}}}},
    {{.dtype = TENSOR_F32, .shape = {.rank = 3, .dims = {TENSOR_BATCH, 2, 3}}}},
    {{.dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 1}}}},
    {{.dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 20}}}},
    {{.dtype = TENSOR_I64, .shape = {.rank = 2, .dims = {TENSOR_BATCH, FREE(0)}}}},
    {{.dtype = TENSOR_F32, .shape = {.rank = 3, .dims = {TENSOR_BATCH, FREE(0), FREE(1)}}}},
    {{.dtype = TENSOR_U8, .shape = {.rank = 3, .dims = {2, TENSOR_BATCH, FREE(0)}}}},
    {{.dtype = TENSOR_F16, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 4}}}},
    {{.dtype = TENSOR_BF16, .shape = {.rank = 2, .dims = {TENSOR_BATCH, FREE(0)}}}},
    {{.dtype = TENSOR_BOOL, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 4}}}},
    {{.dtype = TENSOR_I64, .shape = {.rank = 2, .dims = {TENSOR_BATCH, FREE(0)}}},
     {.dtype = TENSOR_BOOL, .shape = {.rank = 2, .dims = {TENSOR_BATCH, FREE(0)}}},
     {.dtype = TENSOR_F32, .shape = {.rank = 1, .dims = {TENSOR_BATCH}}}},
    {{.dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {TENSOR_BATCH, FREE(0)}}},
     {.dtype = TENSOR_I32, .shape = {.rank = 1, .dims = {TENSOR_BATCH}}},
     {.dtype = TENSOR_F32, .shape = {.rank = 1, .dims = {2}}}},
};
enum { MODELS = sizeof models / sizeof models[0] };

static void choose_model(unsigned number, struct tensor_spec *specs, struct signature *signature) {
    static char *const names[] = {"a", "b", "c"};
    *signature = (struct signature){.inputs = specs, .outputs = specs, .free_count = 2};
    for (int i = 0; i < 3; i++) {
        specs[i] = models[(number + 2) % MODELS][i]; /* '2' is the first */
        specs[i].name = names[i];
        if (specs[i].shape.rank == 0)
            break;
        if (!tensor_spec_measure(&specs[i]))
            abort();
        signature->input_count = signature->output_count = i + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tensor_spec specs[3];
    struct signature signature;
    if (size < 2)
        return 0;
    choose_model(data[0], specs, &signature);
    const char *body = (const char *)data + 2;
    enum codec_format format = data[1] % 2 ? CODEC_V1 : CODEC_JSON;
    struct outcome whole = decode(format, &signature, body, size - 2, true, 0);
    struct outcome pieces = decode(format, &signature, body, size - 2, false, data[1]);

    require(whole.status == pieces.status, "whole and pieces end differently", &whole, &pieces);
    if (whole.status != WEIR_OK) {
        require(strcmp(whole.err.text, pieces.err.text) == 0, "whole and pieces fail differently", &whole, &pieces);
        for (const char *text = whole.err.text; *text;) {
            size_t length = utf8_length(text, strlen(text));
            require(length > 0, "an error text is not UTF-8", &whole, &pieces);
            text += length;
        }
        return 0;
    }
    require_same(&signature, &whole, &pieces, "whole and pieces are not the same rows");
    check_round_trip(&signature, &whole);
    decoded_release(&whole.decoded, signature.input_count);
    decoded_release(&pieces.decoded, signature.input_count);
    return 0;
}
