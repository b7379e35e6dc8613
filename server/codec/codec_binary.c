#include "server/codec/codec_binary.h"

#include <stdlib.h>
#include <string.h>

#include "server/codec/decoder.h"
#include "server/codec/element_check.h"
#include "server/codec/place.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw bodies are copied as they are");

struct binary_decoder {
    struct decoder decoder;
    const struct signature *signature;
    struct tensor_spec input;
    int free_dim;      /* the free dimension's number in the signature; -1: none */
    size_t unit_bytes; /* of a row, or of a row whose free dimension is 1 */
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
    if (binary->free_dim < 0 && !__builtin_mul_overflow((size_t)binary->max_rows, binary->unit_bytes, &limit) &&
        need > limit)
        return weir_fail(err, WEIR_TOO_LARGE, "more than %u rows of %zu bytes in the body", binary->max_rows,
                         binary->unit_bytes);
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

/* The shape of a row, its free dimension, if it has one, being of this size. */
static struct tensor_shape row_shape(const struct binary_decoder *binary, int64_t free_size) {
    struct tensor_shape row = {.rank = 0};
    for (int i = 0; i < binary->input.shape.rank; i++) {
        int64_t dim = binary->input.shape.dims[i];
        if (i != binary->input.batch_axis)
            row.dims[row.rank++] = dim < 0 ? free_size : dim;
    }
    return row;
}

static enum weir_status check_size(const struct binary_decoder *binary, struct weir_error *err) {
    size_t unit = binary->unit_bytes;
    const char *things = binary->free_dim >= 0 ? "steps" : binary->input.batch_axis < 0 ? "tensors" : "rows";
    if (binary->size == 0)
        return weir_fail(err, WEIR_INVALID, "the body is empty, expected %s of %zu bytes", things, unit);
    bool whole = binary->free_dim < 0 && binary->input.batch_axis < 0;
    if (whole ? binary->size == unit : binary->size % unit == 0)
        return WEIR_OK;
    char text[PLACE_TEXT_BYTES];
    struct tensor_shape row = row_shape(binary, -1);
    return weir_fail(err, WEIR_INVALID, "the body has %zu bytes, expected %s%zu (%s of %s %s)", binary->size,
                     whole ? "" : "a multiple of ", unit, whole ? "a tensor" : "rows",
                     tensor_dtype_text(binary->input.dtype), tensor_shape_text(&row, text, sizeof text));
}

static enum weir_status finish(struct decoder *decoder, struct decoded *out, struct weir_error *err) {
    struct binary_decoder *binary = (struct binary_decoder *)decoder;
    enum weir_status status = check_size(binary, err);
    if (status == WEIR_OK)
        status = element_check(binary->input.dtype, binary->data, binary->size, " of the body", err);
    if (status != WEIR_OK)
        return status;
    struct job_tensor *inputs = malloc(sizeof *inputs);
    if (!inputs)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
    size_t units = binary->size / binary->unit_bytes;
    struct tensor_dims dims = {.rows = (uint32_t)units, .free_count = binary->signature->free_count};
    if (binary->free_dim >= 0) {
        dims.rows = 1;
        dims.free[binary->free_dim] = (int64_t)units;
    }
    inputs[0] = (struct job_tensor){.data = binary->data,
                                    .row_bytes = binary->size / (dims.rows > 0 ? dims.rows : 1),
                                    .row = row_shape(binary, (int64_t)units)};
    binary->data = NULL;
    *out = (struct decoded){.dims = dims, .inputs = inputs};
    return WEIR_OK;
}

static void close_decoder(struct decoder *decoder) {
    struct binary_decoder *binary = (struct binary_decoder *)decoder;
    free(binary->data);
    free(binary);
}

/* Finds the free dimension, and what a row takes when its size is 1. */
static enum weir_status measure(struct binary_decoder *binary, struct weir_error *err) {
    const struct tensor_spec *spec = &binary->input;
    char text[PLACE_TEXT_BYTES];
    int found = 0;
    size_t elements;
    binary->free_dim = -1;
    for (int i = 0; i < spec->shape.rank; i++)
        if (spec->shape.dims[i] <= TENSOR_FREE(0)) {
            binary->free_dim = (int)(TENSOR_FREE(0) - spec->shape.dims[i]);
            found++;
        }
    struct tensor_shape row = row_shape(binary, 1);
    if (found > 1 || !tensor_shape_elements(&row, 0, &elements) || elements == 0 ||
        __builtin_mul_overflow(elements, tensor_dtype_bytes(spec->dtype), &binary->unit_bytes))
        return weir_fail(
            err, WEIR_UNSUPPORTED,
            "the model takes \"%s\" as %s %s; a raw body carries rows of a fixed shape, or one row with one "
            "free dimension",
            spec->name, tensor_dtype_text(spec->dtype), tensor_shape_text(&spec->shape, text, sizeof text));
    return WEIR_OK;
}

static enum weir_status fail_inputs(const struct signature *signature, struct weir_error *err) {
    struct bytes names = {0};
    for (int i = 0; i < signature->input_count; i++)
        bytes_printf(&names, "%s\"%s\"", i == 0 ? ": " : ", ", signature->inputs[i].name);
    bytes_append(&names, "", 1);
    weir_fail(err, WEIR_UNSUPPORTED, "the model takes %d inputs%s; a raw body carries one", signature->input_count,
              names.failed ? "" : names.data);
    bytes_release(&names);
    return WEIR_UNSUPPORTED;
}

enum weir_status codec_binary_open(const struct decoder_options *options, struct decoder **out,
                                   struct weir_error *err) {
    static const struct decoder_kind kind = {.feed = feed, .finish = finish, .close = close_decoder};
    if (options->signature->input_count != 1)
        return fail_inputs(options->signature, err);
    struct binary_decoder *binary = calloc(1, sizeof *binary);
    if (!binary)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a reader of raw bodies");
    binary->decoder.kind = &kind;
    binary->signature = options->signature;
    binary->input = options->signature->inputs[0];
    binary->max_rows = options->max_rows;
    binary->body_bytes = options->body_bytes;
    enum weir_status status = measure(binary, err);
    if (status == WEIR_OK)
        *out = &binary->decoder;
    else
        free(binary);
    return status;
}

enum weir_status codec_binary_encode(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                     struct bytes *out, struct weir_error *err) {
    if (signature->output_count != 1)
        return weir_fail(err, WEIR_UNSUPPORTED, "raw answers carry one output, the model has %d",
                         signature->output_count);
    if (signature->outputs[0].batch_axis < 0)
        rows = 1;
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
