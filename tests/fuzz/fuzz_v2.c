/* Reads one Open Inference request whole and in pieces: both must give the same tensors and wishes or the same refusal.
 * What was read is written as an answer, as JSON and as bytes, and read again as a request: the same bits; and as the
 * answer that the request itself asks for. The first two bytes of the input choose the inputs' types and shapes and how
 * the body is cut; the rest is the body. Its first byte 0x1E, if there is one, is left out and marks where the JSON
 * ends. usage: fuzz_v2 tests/fuzz/corpus/v2   (libFuzzer) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/utf8.h"
#include "server/codec/codec.h"
#include "server/codec/v2_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INPUTS = 3, MARK = 0x1E };

struct outcome {
    enum weir_status status;
    struct weir_error err;
    struct decoded decoded;
};

struct request {
    const char *body;
    size_t size, json_bytes;
};

static void require(bool holds, const char *what, const struct outcome *one, const struct outcome *other) {
    if (holds)
        return;
    fprintf(stderr, "fuzz_v2: %s\n  %s\n  %s\n", what, one->status ? one->err.text : "ok",
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

static struct outcome decode(const struct signature *signature, const struct request *request, bool whole,
                             uint32_t seed) {
    struct outcome outcome = {.status = WEIR_OK};
    /* Whole bodies come announced, cut ones come chunked. */
    struct decoder_options options = {.format = CODEC_V2,
                                      .signature = signature,
                                      .body_bytes = whole ? request->size : 0,
                                      .max_rows = 50,
                                      .json_bytes = request->json_bytes};
    struct decoder *decoder;
    outcome.status = decoder_open(&options, &decoder, &outcome.err);
    if (outcome.status != WEIR_OK)
        return outcome;
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

static void require_same(const struct signature *signature, const struct outcome *one, const struct outcome *other,
                         const char *what) {
    require(one->decoded.dims.rows == other->decoded.dims.rows, what, one, other);
    require(tensor_dims_share(&one->decoded.dims, &other->decoded.dims), what, one, other);
    for (int i = 0; i < signature->input_count; i++) {
        const struct job_tensor *tensor = &one->decoded.inputs[i], *same = &other->decoded.inputs[i];
        size_t rows = signature->inputs[i].batch_axis < 0 ? 1 : one->decoded.dims.rows;
        require(rows > 0 && tensor->row_bytes == same->row_bytes, what, one, other);
        require(tensor->row.rank == same->row.rank, what, one, other);
        require(memcmp(tensor->data, same->data, rows * tensor->row_bytes) == 0, what, one, other);
    }
}

static void require_same_wishes(const struct outcome *one, const struct outcome *other) {
    const struct wishes *a = &one->decoded.wishes, *b = &other->decoded.wishes;
    static const char what[] = "whole and pieces wish for other things";
    require(a->binary == b->binary && a->timeout_us == b->timeout_us && a->priority == b->priority, what, one, other);
    require(!a->id == !b->id && a->id_size == b->id_size, what, one, other);
    require(!a->id || memcmp(a->id, b->id, a->id_size) == 0, what, one, other);
    require(!a->outputs == !b->outputs && a->output_count == b->output_count, what, one, other);
    for (int i = 0; i < a->output_count; i++)
        require(a->outputs[i].output == b->outputs[i].output && a->outputs[i].binary == b->outputs[i].binary &&
                    a->outputs[i].classes == b->outputs[i].classes,
                what, one, other);
}

static struct outcome write(const struct signature *signature, const struct outcome *read, const struct wishes *wishes,
                            struct bytes *out, size_t *json_bytes) {
    struct outcome written = {.status = WEIR_OK};
    struct v2_answer answer = {.signature = signature,
                               .model = "m",
                               .version = 1,
                               .rows = read->decoded.dims.rows,
                               .outputs = read->decoded.inputs,
                               .wishes = wishes};
    out->size = 0;
    written.status = v2_answer_write(&answer, out, json_bytes, &written.err);
    return written;
}

/* Writes an answer of all outputs and reads it as a request, its list being "inputs". */
static void check_round_trip(const struct signature *signature, const struct outcome *first, bool binary) {
    static const char list[] = "\"outputs\":";
    struct wishes wishes = {.binary = binary};
    struct bytes out = {0}, body = {0};
    size_t json_bytes;
    struct outcome written = write(signature, first, &wishes, &out, &json_bytes);
    if (!binary && written.status == WEIR_NON_FINITE) { /* what came as bytes */
        bytes_release(&out);
        return;
    }
    require(written.status == WEIR_OK, "what was read is not written", first, &written);
    const char *at = memmem(out.data, out.size, list, sizeof list - 1);
    require(at != NULL, "an answer has no outputs", first, &written);
    size_t before = (size_t)(at - out.data);
    bytes_append(&body, out.data, before);
    bytes_text(&body, " \"inputs\":");
    bytes_append(&body, at + sizeof list - 1, out.size - before - (sizeof list - 1));
    struct request request = {.body = body.data, .size = body.size, .json_bytes = json_bytes};
    struct outcome again = decode(signature, &request, true, 0);
    require(again.status == WEIR_OK, "what was written is not read", first, &again);
    require_same(signature, first, &again, "what was written is read as something else");
    decoded_release(&again.decoded, signature->input_count);
    bytes_release(&body);
    bytes_release(&out);
}

/* The answer that was asked for is there, or there is a reason. */
static void check_wanted(const struct signature *signature, const struct outcome *first) {
    struct bytes out = {0};
    size_t json_bytes;
    struct outcome written = write(signature, first, &first->decoded.wishes, &out, &json_bytes);
    require(written.status == WEIR_OK || written.status == WEIR_NON_FINITE || written.status == WEIR_INVALID,
            "the answer that was asked for is not written", first, &written);
    if (written.status == WEIR_OK)
        require(json_bytes == SIZE_MAX || json_bytes <= out.size, "an answer ends before its JSON", first, &written);
    else
        require(out.size == 0, "an answer that failed leaves a part", first, &written);
    bytes_release(&out);
}

#define FREE(k) TENSOR_FREE(k)

/* The models to choose from: one input each, or "a", "b" and "c". */
static const struct tensor_spec models[][MAX_INPUTS] = {
    {{.dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 4}}}},
    {{.dtype = TENSOR_F32, .shape = {.rank = 1, .dims = {TENSOR_BATCH}}}},
    {{.dtype = TENSOR_F64, .shape = {.rank = 3, .dims = {TENSOR_BATCH, 2, 3}}}},
    {{.dtype = TENSOR_I64, .shape = {.rank = 2, .dims = {TENSOR_BATCH, FREE(0)}}}},
    {{.dtype = TENSOR_U8, .shape = {.rank = 3, .dims = {2, TENSOR_BATCH, FREE(0)}}}},
    {{.dtype = TENSOR_F16, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 4}}}},
    {{.dtype = TENSOR_BOOL, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 4}}}},
    {{.dtype = TENSOR_I8, .shape = {.rank = 0}}},
    {{.dtype = TENSOR_I64, .shape = {.rank = 2, .dims = {FREE(0), TENSOR_BATCH}}},
     {.dtype = TENSOR_BOOL, .shape = {.rank = 2, .dims = {TENSOR_BATCH, FREE(0)}}},
     {.dtype = TENSOR_F32, .shape = {.rank = 1, .dims = {TENSOR_BATCH}}}},
    {{.dtype = TENSOR_BF16, .shape = {.rank = 2, .dims = {TENSOR_BATCH, FREE(0)}}},
     {.dtype = TENSOR_I32, .shape = {.rank = 1, .dims = {TENSOR_BATCH}}},
     {.dtype = TENSOR_F32, .shape = {.rank = 1, .dims = {2}}}},
};
enum { MODELS = sizeof models / sizeof models[0] };

static void choose_model(unsigned number, struct tensor_spec *specs, struct signature *signature) {
    static char *const names[] = {"a", "b", "c"};
    *signature = (struct signature){.inputs = specs, .outputs = specs, .free_count = 1};
    for (int i = 0; i < MAX_INPUTS; i++) {
        specs[i] = models[(number + 2) % MODELS][i]; /* '0' is the first */
        specs[i].name = names[i];
        if (i > 0 && specs[i].shape.rank == 0)
            break;
        if (!tensor_spec_measure(&specs[i]))
            abort();
        signature->input_count = signature->output_count = i + 1;
    }
}

/* Takes the mark out of body. */
static struct request request_of(char *body, size_t size) {
    struct request request = {.body = body, .size = size, .json_bytes = SIZE_MAX};
    char *mark = size > 0 ? memchr(body, MARK, size) : NULL;
    if (mark) {
        request.json_bytes = (size_t)(mark - body);
        request.size--;
        memmove(mark, mark + 1, size - 1 - request.json_bytes);
    }
    return request;
}

static void check(const struct signature *signature, const struct request *request, uint32_t seed) {
    struct outcome whole = decode(signature, request, true, 0);
    struct outcome pieces = decode(signature, request, false, seed);
    require(whole.status == pieces.status, "whole and pieces end differently", &whole, &pieces);
    if (whole.status != WEIR_OK) {
        require(strcmp(whole.err.text, pieces.err.text) == 0, "whole and pieces fail differently", &whole, &pieces);
        for (const char *text = whole.err.text; *text;) {
            size_t length = utf8_length(text, strlen(text));
            require(length > 0, "an error text is not UTF-8", &whole, &pieces);
            text += length;
        }
        return;
    }
    require_same(signature, &whole, &pieces, "whole and pieces are not the same tensors");
    require_same_wishes(&whole, &pieces);
    if (signature->inputs[0].dtype != TENSOR_F64) /* JSON's is as exact as float32 */
        check_round_trip(signature, &whole, false);
    check_round_trip(signature, &whole, true);
    check_wanted(signature, &whole);
    decoded_release(&whole.decoded, signature->input_count);
    decoded_release(&pieces.decoded, signature->input_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tensor_spec specs[MAX_INPUTS];
    struct signature signature;
    if (size < 2)
        return 0;
    choose_model(data[0], specs, &signature);
    char *body = malloc(size);
    memcpy(body, data + 2, size - 2);
    struct request request = request_of(body, size - 2);
    check(&signature, &request, data[1]);
    free(body);
    return 0;
}
