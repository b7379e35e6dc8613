/* Reads one JSON body whole and in pieces: both must give the same rows or the same refusal, and rows that were read
 * must be written, by rows and by columns, and read again as the same bits. The first two bytes of the input choose the
 * inputs' types and shapes, how the body is cut and whether it is /predict's or V1's; the rest is the body. usage:
 * fuzz_json tests/fuzz/corpus/json   (libFuzzer) */
#include "server/codec/json_answer.h"
#include "tests/fuzz/fuzz_codec.h"

/* Reads an answer again as a body, its head being "{\"predictions\"" or "{\"outputs\"". */
static void check_again(const struct signature *signature, const struct outcome *first, const struct bytes *answer,
                        size_t head_size, const char *head) {
    struct bytes body = {0};
    bytes_text(&body, head);
    bytes_append(&body, answer->data + head_size, answer->size - head_size);
    require_read_again(signature, first, &(struct request){.format = CODEC_V1, .body = body.data, .size = body.size});
    bytes_release(&body);
}

/* Several outputs are written as objects by name, which is how several inputs are read. */
static void check_round_trip(const struct signature *signature, const struct outcome *first) {
    uint32_t rows = first->decoded.dims.rows;
    struct bytes out = {0};
    struct outcome again = {.status = WEIR_OK};
    again.status = codec_encode(CODEC_JSON, signature, rows, first->decoded.inputs, &out, &again.err);
    require_of(again.status == WEIR_OK, "rows that were read are not written", first, &again);
    if (signature->input_count == 1 ||
        signature->inputs[2].batch_axis >= 0) /* else the writer says more than may be read */
        check_again(signature, first, &out, strlen("{\"predictions\""), "{\"instances\"");
    out.size = 0;
    again.status = json_answer_write_columns(signature, rows, first->decoded.inputs, &out, &again.err);
    require_of(again.status == WEIR_OK, "rows that were read are not written by columns", first, &again);
    check_again(signature, first, &out, strlen("{\"outputs\""), "{\"inputs\"");
    bytes_release(&out);
}

#define FREE(k) TENSOR_FREE(k)

/* The models to choose from: one input each, or "a", "b" and "c". */
static const struct tensor_spec models[][MAX_INPUTS] = {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tensor_spec specs[MAX_INPUTS];
    struct signature signature;
    struct outcome whole, pieces;
    if (size < 2)
        return 0;
    use_model(models[(data[0] + 2) % MODELS], 2, specs, &signature); /* '2' is the first */
    const struct request request = {
        .format = data[1] % 2 ? CODEC_V1 : CODEC_JSON, .body = (const char *)data + 2, .size = size - 2};
    if (!decode_both(&signature, &request, data[1], &whole, &pieces))
        return 0;
    check_round_trip(&signature, &whole);
    release_both(&signature, &whole, &pieces);
    return 0;
}
