/* What the targets that read tensors share: one body is read whole and in pieces, which must come to the same. Included
 * once, by the target itself. */
#ifndef WEIR_TESTS_FUZZ_FUZZ_CODEC_H
#define WEIR_TESTS_FUZZ_FUZZ_CODEC_H

#include "server/codec/codec.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_INPUTS = 3 };

struct outcome {
    enum weir_status status;
    struct weir_error err;
    struct decoded decoded;
};

struct request {
    enum codec_format format;
    const char *body;
    size_t size, json_bytes;
};

static inline void require_of(bool holds, const char *what, const struct outcome *one, const struct outcome *other) {
    if (holds)
        return;
    fprintf(stderr, "  %s\n  %s\n", one->status ? one->err.text : "ok", other->status ? other->err.text : "ok");
    require(false, what);
}

/* The next piece's size, from a counter that the input seeds. */
static inline size_t next_size(uint32_t *seed, size_t left) {
    *seed = *seed * 1664525 + 1013904223; /* Numerical Recipes' constants */
    size_t most = *seed >> 31 ? 4 : 100;
    size_t size = (*seed >> 16) % most;
    return size < left ? size : left;
}

/* Whole bodies come announced, cut ones come chunked. */
static inline struct outcome decode(const struct signature *signature, const struct request *request, bool whole,
                                    uint32_t seed) {
    struct outcome outcome = {.status = WEIR_OK};
    struct decoder_options options = {.format = request->format,
                                      .signature = signature,
                                      .body_bytes = whole ? request->size : 0,
                                      .max_rows = 50,
                                      .json_bytes = request->json_bytes};
    struct decoder *decoder;
    outcome.status = decoder_open(&options, &decoder, &outcome.err);
    if (outcome.status != WEIR_OK) {
        require(request->format == CODEC_V2, "a decoder does not open");
        return outcome;
    }
    for (size_t at = 0; at < request->size && outcome.status == WEIR_OK;) {
        size_t piece_size = whole ? request->size : next_size(&seed, request->size - at);
        char *piece = malloc(piece_size + (piece_size == 0)); /* its own block: a step past it is seen */
        memcpy(piece, request->body + at, piece_size);
        outcome.status = decoder_feed(decoder, piece, piece_size, &outcome.err);
        free(piece);
        at += piece_size;
    }
    if (outcome.status == WEIR_OK)
        outcome.status = decoder_finish(decoder, &outcome.decoded, &outcome.err);
    decoder_close(decoder);
    return outcome;
}

static inline void require_same(const struct signature *signature, const struct outcome *one,
                                const struct outcome *other, const char *what) {
    require_of(one->decoded.dims.rows == other->decoded.dims.rows && one->decoded.dims.rows > 0, what, one, other);
    require_of(tensor_dims_share(&one->decoded.dims, &other->decoded.dims), what, one, other);
    for (int i = 0; i < signature->input_count; i++) {
        const struct job_tensor *tensor = &one->decoded.inputs[i], *same = &other->decoded.inputs[i];
        size_t rows = signature->inputs[i].batch_axis < 0 ? 1 : one->decoded.dims.rows;
        require_of(tensor->row_bytes == same->row_bytes && tensor->row.rank == same->row.rank, what, one, other);
        require_of(memcmp(tensor->data, same->data, rows * tensor->row_bytes) == 0, what, one, other);
    }
}

/* Reads the request both ways. Returns whether it was read, then with *whole and *pieces for release_both. */
static inline bool decode_both(const struct signature *signature, const struct request *request, uint32_t seed,
                               struct outcome *whole, struct outcome *pieces) {
    *whole = decode(signature, request, true, 0);
    *pieces = decode(signature, request, false, seed);
    require_of(whole->status == pieces->status, "whole and pieces end differently", whole, pieces);
    if (whole->status == WEIR_OK) {
        require_same(signature, whole, pieces, "whole and pieces are not the same tensors");
        return true;
    }
    require_of(strcmp(whole->err.text, pieces->err.text) == 0, "whole and pieces fail differently", whole, pieces);
    require_text(whole->err.text);
    return false;
}

static inline void release_both(const struct signature *signature, struct outcome *whole, struct outcome *pieces) {
    decoded_release(&whole->decoded, signature->input_count);
    decoded_release(&pieces->decoded, signature->input_count);
}

/* What was written must be read, as the same tensors. */
static inline void require_read_again(const struct signature *signature, const struct outcome *first,
                                      const struct request *request) {
    struct outcome again = decode(signature, request, true, 0);
    require_of(again.status == WEIR_OK, "what was written is not read", first, &again);
    require_same(signature, first, &again, "what was written is read as something else");
    decoded_release(&again.decoded, signature->input_count);
}

/* A model of one input, or of "a", "b" and "c", whose outputs are its inputs. */
static inline void use_model(const struct tensor_spec *model, int free_count, struct tensor_spec *specs,
                             struct signature *signature) {
    static char *const names[] = {"a", "b", "c"};
    *signature = (struct signature){.inputs = specs, .outputs = specs, .free_count = free_count};
    for (int i = 0; i < MAX_INPUTS; i++) {
        specs[i] = model[i];
        specs[i].name = names[i];
        if (i > 0 && specs[i].shape.rank == 0)
            break;
        require(tensor_spec_measure(&specs[i]), "a model's input cannot be measured");
        signature->input_count = signature->output_count = i + 1;
    }
}

#endif
