/* Signatures, and bodies read in pieces, for the tests of the codecs. */
#ifndef WEIR_TESTS_UNIT_SERVER_CODEC_CODEC_HELPERS_H
#define WEIR_TESTS_UNIT_SERVER_CODEC_CODEC_HELPERS_H

#include <stdlib.h>
#include <string.h>

#include "server/codec/codec.h"

/* One input "x" and one output "y", both float32 of this shape; dims[0] is the batch dimension. */
struct one_tensor_model {
    struct tensor_spec input, output;
    struct signature signature;
};

static inline void one_tensor_model_init(struct one_tensor_model *model, int rank, const int64_t *inner) {
    struct tensor_spec spec = {.name = "x", .dtype = TENSOR_F32, .shape = {.rank = rank, .dims = {-1}}};
    for (int i = 1; i < rank; i++)
        spec.shape.dims[i] = inner[i - 1];
    if (!tensor_spec_measure(&spec))
        abort();
    model->input = model->output = spec;
    model->output.name = "y";
    model->signature =
        (struct signature){.inputs = &model->input, .outputs = &model->output, .input_count = 1, .output_count = 1};
}

/* What came of a body. */
struct outcome {
    enum weir_status status;
    struct weir_error err;
    struct decoded decoded;
};

/* Reads body in pieces: the first of `first` bytes, those after of `rest` bytes. Every piece is a block of its own, so
 * that the sanitizer sees a step past its end. */
static inline struct outcome decode_in_pieces(const struct decoder_options *options, const char *body, size_t size,
                                              size_t first, size_t rest) {
    struct outcome outcome = {.status = WEIR_OK};
    struct decoder *decoder = NULL;
    outcome.status = decoder_open(options, &decoder, &outcome.err);
    if (outcome.status != WEIR_OK)
        return outcome;
    for (size_t at = 0, length = first; at < size && outcome.status == WEIR_OK; at += length, length = rest) {
        if (length > size - at)
            length = size - at;
        char *piece = malloc(length + (length == 0));
        if (!piece)
            abort();
        memcpy(piece, body + at, length);
        outcome.status = decoder_feed(decoder, piece, length, &outcome.err);
        free(piece);
    }
    if (outcome.status == WEIR_OK)
        outcome.status = decoder_finish(decoder, &outcome.decoded, &outcome.err);
    decoder_close(decoder);
    return outcome;
}

/* A job's tensor with these values, rows as the spec's, whose row shape is fixed. */
static inline struct job_tensor tensor_of(const struct tensor_spec *spec, void *values) {
    struct job_tensor tensor = {.data = values, .row_bytes = spec->row_bytes};
    struct tensor_dims dims = {.rows = 1};
    size_t elements;
    if (!tensor_spec_row(spec, &dims, &tensor.row, &elements))
        abort();
    return tensor;
}

static inline float outcome_value(const struct outcome *outcome, size_t i) {
    return ((const float *)outcome->decoded.inputs[0].data)[i];
}

#endif
