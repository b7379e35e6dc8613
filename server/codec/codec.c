#include "server/codec/codec.h"

#include <stdlib.h>
#include <string.h>

#include "server/codec/codec_binary.h"
#include "server/codec/codec_json.h"
#include "server/codec/decoder.h"
#include "server/codec/place.h"

/* Every format so far carries one float32 input whose rows have a fixed shape. */
static enum weir_status check_inputs(const struct signature *signature, struct weir_error *err) {
    if (signature->input_count != 1) {
        struct bytes names = {0};
        for (int i = 0; i < signature->input_count; i++)
            bytes_printf(&names, "%s\"%s\"", i == 0 ? ": " : ", ", signature->inputs[i].name);
        bytes_append(&names, "", 1);
        weir_fail(err, WEIR_UNSUPPORTED, "the model takes %d inputs%s; this body format carries one float32 input",
                  signature->input_count, names.failed ? "" : names.data);
        bytes_release(&names);
        return WEIR_UNSUPPORTED;
    }
    const struct tensor_spec *spec = &signature->inputs[0];
    size_t elements;
    char shape[PLACE_TEXT_BYTES];
    if (spec->dtype != TENSOR_F32 || spec->shape.rank < 1 || !tensor_shape_elements(&spec->shape, 1, &elements) ||
        elements == 0 || elements != spec->row_elements)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "the model takes \"%s\" as %s %s; this body format carries float32 of a fixed row shape",
                         spec->name, tensor_dtype_text(spec->dtype),
                         tensor_shape_text(&spec->shape, shape, sizeof shape));
    return WEIR_OK;
}

enum weir_status decoder_open(const struct decoder_options *options, struct decoder **out, struct weir_error *err) {
    enum weir_status status = check_inputs(options->signature, err);
    if (status != WEIR_OK)
        return status;
    switch (options->format) {
    case CODEC_JSON:
        return codec_json_open(options, out, err);
    case CODEC_RAW_F32:
        return codec_binary_open(options, out, err);
    }
    return weir_fail(err, WEIR_INTERNAL, "no such body format: %d", (int)options->format);
}

enum weir_status decoder_feed(struct decoder *decoder, const char *bytes, size_t size, struct weir_error *err) {
    return decoder->kind->feed(decoder, bytes, size, err);
}

enum weir_status decoder_finish(struct decoder *decoder, struct decoded *out, struct weir_error *err) {
    return decoder->kind->finish(decoder, out, err);
}

void decoder_close(struct decoder *decoder) {
    if (decoder)
        decoder->kind->close(decoder);
}

void decoded_release(struct decoded *decoded, int input_count) {
    for (int i = 0; decoded->inputs && i < input_count; i++)
        free(decoded->inputs[i].data);
    free(decoded->inputs);
    memset(decoded, 0, sizeof *decoded);
}

enum weir_status codec_encode(enum codec_format format, const struct signature *signature, uint32_t rows,
                              const struct job_tensor *outputs, struct bytes *out, struct weir_error *err) {
    switch (format) {
    case CODEC_JSON:
        return codec_json_encode(signature, rows, outputs, out, err);
    case CODEC_RAW_F32:
        return codec_binary_encode(signature, rows, outputs, out, err);
    }
    return weir_fail(err, WEIR_INTERNAL, "no such body format: %d", (int)format);
}
