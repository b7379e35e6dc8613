/* Reads one JSON body whole and in pieces: both must give the same rows or the same refusal, and rows that were read
 * must be written and read again as the same bits. The first two bytes of the input choose the input's shape and how
 * the body is cut; the rest is the body. usage: fuzz_json tests/fuzz/corpus/json   (libFuzzer) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/utf8.h"
#include "server/codec/codec.h"

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

static struct outcome decode(const struct signature *signature, const char *body, size_t size, bool whole,
                             uint32_t seed) {
    struct outcome outcome = {.status = WEIR_OK};
    /* Whole bodies come announced, cut ones come chunked. */
    struct decoder_options options = {
        .format = CODEC_JSON, .signature = signature, .body_bytes = whole ? size : 0, .max_rows = 50};
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

static void check_round_trip(const struct signature *signature, const struct outcome *first) {
    static const char head[] = "{\"predictions\"", same[] = "{\"instances\"";
    size_t bytes_count = first->decoded.rows * first->decoded.inputs[0].row_bytes;
    struct bytes out = {0}, body = {0};
    struct outcome again = {.status = WEIR_OK};
    again.status = codec_encode(CODEC_JSON, signature, first->decoded.rows, first->decoded.inputs, &out, &again.err);
    require(again.status == WEIR_OK, "rows that were read are not written", first, &again);
    bytes_text(&body, same);
    bytes_append(&body, out.data + sizeof head - 1, out.size - (sizeof head - 1));
    again = decode(signature, body.data, body.size, true, 0);
    require(again.status == WEIR_OK && again.decoded.rows == first->decoded.rows, "written rows are not read", first,
            &again);
    require(memcmp(again.decoded.inputs[0].data, first->decoded.inputs[0].data, bytes_count) == 0,
            "written rows are read as other rows", first, &again);
    decoded_release(&again.decoded, 1);
    bytes_release(&out);
    bytes_release(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct tensor_shape shapes[] = {{.rank = 2, .dims = {-1, 4}},
                                                 {.rank = 1, .dims = {-1}},
                                                 {.rank = 3, .dims = {-1, 2, 3}},
                                                 {.rank = 2, .dims = {-1, 1}},
                                                 {.rank = 2, .dims = {-1, 20}}};
    if (size < 2)
        return 0;
    struct tensor_spec spec = {
        .name = "x", .dtype = TENSOR_F32, .shape = shapes[data[0] % (sizeof shapes / sizeof shapes[0])]};
    if (!tensor_spec_measure(&spec))
        abort();
    struct signature signature = {.inputs = &spec, .outputs = &spec, .input_count = 1, .output_count = 1};
    const char *body = (const char *)data + 2;
    struct outcome whole = decode(&signature, body, size - 2, true, 0);
    struct outcome pieces = decode(&signature, body, size - 2, false, data[1]);

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
    require(whole.decoded.rows == pieces.decoded.rows && whole.decoded.rows > 0, "the rows are not as many", &whole,
            &pieces);
    require(memcmp(whole.decoded.inputs[0].data, pieces.decoded.inputs[0].data, whole.decoded.rows * spec.row_bytes) ==
                0,
            "the rows are not the same", &whole, &pieces);
    check_round_trip(&signature, &whole);
    decoded_release(&whole.decoded, 1);
    decoded_release(&pieces.decoded, 1);
    return 0;
}
