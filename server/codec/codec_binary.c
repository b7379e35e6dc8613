#include "server/codec/codec_binary.h"

#include <stdlib.h>
#include <string.h>

#include "server/codec/decoder.h"
#include "server/codec/place.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw bodies are copied as they are");

struct binary_decoder {
    struct decoder decoder;
    const struct tensor_spec *input;
    uint32_t max_rows;
    size_t body_bytes;
    char *data;
    size_t size, capacity;
};

static enum weir_status feed(struct decoder *decoder, const char *bytes, size_t size, struct weir_error *err) {
    struct binary_decoder *binary = (struct binary_decoder *)decoder;
    size_t need, limit;
    if (size == 0)
        return WEIR_OK;
    if (__builtin_add_overflow(binary->size, size, &need))
        return weir_fail(err, WEIR_INVALID, "the body is too long to count");
    if (!__builtin_mul_overflow((size_t)binary->max_rows, binary->input->row_bytes, &limit) && need > limit)
        return weir_fail(err, WEIR_TOO_LARGE, "more than %u rows of %zu bytes in the body", binary->max_rows,
                         binary->input->row_bytes);
    if (need > binary->capacity) {
        size_t capacity = binary->capacity ? binary->capacity + binary->capacity / 2 : binary->body_bytes;
        if (capacity < need)
            capacity = need;
        char *data = realloc(binary->data, capacity);
        if (!data)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu bytes of the body", capacity);
        binary->data = data;
        binary->capacity = capacity;
    }
    memcpy(binary->data + binary->size, bytes, size);
    binary->size = need;
    return WEIR_OK;
}

static enum weir_status finish(struct decoder *decoder, struct decoded *out, struct weir_error *err) {
    struct binary_decoder *binary = (struct binary_decoder *)decoder;
    size_t row_bytes = binary->input->row_bytes;
    if (binary->size == 0)
        return weir_fail(err, WEIR_INVALID, "the body is empty, expected rows of %zu bytes", row_bytes);
    if (binary->size % row_bytes != 0) {
        char row[PLACE_TEXT_BYTES];
        return weir_fail(err, WEIR_INVALID, "the body has %zu bytes, expected a multiple of %zu (rows of float32 %s)",
                         binary->size, row_bytes, place_row_shape(row, &binary->input->shape));
    }
    struct job_tensor *inputs = malloc(sizeof *inputs);
    if (!inputs)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
    inputs[0] = (struct job_tensor){.data = binary->data, .row_bytes = row_bytes};
    binary->data = NULL;
    *out = (struct decoded){.rows = (uint32_t)(binary->size / row_bytes), .inputs = inputs};
    return WEIR_OK;
}

static void close_decoder(struct decoder *decoder) {
    struct binary_decoder *binary = (struct binary_decoder *)decoder;
    free(binary->data);
    free(binary);
}

enum weir_status codec_binary_open(const struct decoder_options *options, struct decoder **out,
                                   struct weir_error *err) {
    static const struct decoder_kind kind = {.feed = feed, .finish = finish, .close = close_decoder};
    struct binary_decoder *binary = calloc(1, sizeof *binary);
    if (!binary)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a reader of raw bodies");
    binary->decoder.kind = &kind;
    binary->input = &options->signature->inputs[0];
    binary->max_rows = options->max_rows;
    binary->body_bytes = options->body_bytes;
    *out = &binary->decoder;
    return WEIR_OK;
}

enum weir_status codec_binary_encode(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                     struct bytes *out, struct weir_error *err) {
    if (signature->output_count != 1)
        return weir_fail(err, WEIR_UNSUPPORTED, "raw answers carry one output, the model has %d",
                         signature->output_count);
    if (signature->outputs[0].dtype != TENSOR_F32)
        return weir_fail(err, WEIR_UNSUPPORTED, "output \"%s\" is %s: raw answers carry float32",
                         signature->outputs[0].name, tensor_dtype_text(signature->outputs[0].dtype));
    size_t before = out->size;
    size_t size;
    if (__builtin_mul_overflow((size_t)rows, outputs[0].row_bytes, &size))
        return weir_fail(err, WEIR_NO_MEMORY, "the answer is too long to count");
    bytes_append(out, outputs[0].data, size);
    if (out->failed) {
        out->size = before;
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for an answer of %zu bytes", size);
    }
    return WEIR_OK;
}
