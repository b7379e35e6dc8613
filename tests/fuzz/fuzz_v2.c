/* Reads one Open Inference request whole and in pieces: both must give the same tensors and wishes or the same refusal.
 * What was read is written as an answer, as JSON and as bytes, and read again as a request: the same bits; and as the
 * answer that the request itself asks for. The first two bytes of the input choose the inputs' types and shapes and how
 * the body is cut; the rest is the body. Its first byte 0x1E, if there is one, is left out and marks where the JSON
 * ends. usage: fuzz_v2 tests/fuzz/corpus/v2   (libFuzzer) */
#include "server/codec/v2_answer.h"
#include "tests/fuzz/fuzz_codec.h"

enum { MARK = 0x1E };

static void require_same_wishes(const struct outcome *one, const struct outcome *other) {
    const struct wishes *a = &one->decoded.wishes, *b = &other->decoded.wishes;
    static const char what[] = "whole and pieces wish for other things";
    require_of(a->binary == b->binary && a->timeout_us == b->timeout_us && a->priority == b->priority, what, one,
               other);
    require_of(!a->id == !b->id && a->id_size == b->id_size, what, one, other);
    require_of(!a->id || memcmp(a->id, b->id, a->id_size) == 0, what, one, other);
    require_of(!a->outputs == !b->outputs && a->output_count == b->output_count, what, one, other);
    for (int i = 0; i < a->output_count; i++)
        require_of(a->outputs[i].output == b->outputs[i].output && a->outputs[i].binary == b->outputs[i].binary &&
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
    require_of(written.status == WEIR_OK, "what was read is not written", first, &written);
    const char *at = memmem(out.data, out.size, list, sizeof list - 1);
    require_of(at != NULL, "an answer has no outputs", first, &written);
    size_t before = (size_t)(at - out.data);
    bytes_append(&body, out.data, before);
    bytes_text(&body, " \"inputs\":");
    bytes_append(&body, at + sizeof list - 1, out.size - before - (sizeof list - 1));
    require_read_again(
        signature, first,
        &(struct request){.format = CODEC_V2, .body = body.data, .size = body.size, .json_bytes = json_bytes});
    bytes_release(&body);
    bytes_release(&out);
}

/* The answer that was asked for is there, or there is a reason. */
static void check_wanted(const struct signature *signature, const struct outcome *first) {
    struct bytes out = {0};
    size_t json_bytes;
    struct outcome written = write(signature, first, &first->decoded.wishes, &out, &json_bytes);
    require_of(written.status == WEIR_OK || written.status == WEIR_NON_FINITE || written.status == WEIR_INVALID,
               "the answer that was asked for is not written", first, &written);
    if (written.status == WEIR_OK)
        require_of(json_bytes == SIZE_MAX || json_bytes <= out.size, "an answer ends before its JSON", first, &written);
    else
        require_of(out.size == 0, "an answer that failed leaves a part", first, &written);
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

/* Takes the mark out of body. */
static struct request request_of(char *body, size_t size) {
    struct request request = {.format = CODEC_V2, .body = body, .size = size, .json_bytes = SIZE_MAX};
    char *mark = size > 0 ? memchr(body, MARK, size) : NULL;
    if (mark) {
        request.json_bytes = (size_t)(mark - body);
        request.size--;
        memmove(mark, mark + 1, size - 1 - request.json_bytes);
    }
    return request;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tensor_spec specs[MAX_INPUTS];
    struct signature signature;
    struct outcome whole, pieces;
    if (size < 2)
        return 0;
    use_model(models[(data[0] + 2) % MODELS], 1, specs, &signature); /* '0' is the first */
    char *body = malloc(size);
    memcpy(body, data + 2, size - 2);
    struct request request = request_of(body, size - 2);
    if (decode_both(&signature, &request, data[1], &whole, &pieces)) {
        require_same_wishes(&whole, &pieces);
        if (signature.inputs[0].dtype != TENSOR_F64) /* JSON's is as exact as float32 */
            check_round_trip(&signature, &whole, false);
        check_round_trip(&signature, &whole, true);
        check_wanted(&signature, &whole);
        release_both(&signature, &whole, &pieces);
    }
    free(body);
    return 0;
}
