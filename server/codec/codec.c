#include "server/codec/codec.h"

#include <stdlib.h>
#include <string.h>

#include "server/codec/codec_binary.h"
#include "server/codec/codec_json.h"
#include "server/codec/codec_npy.h"
#include "server/codec/codec_v2.h"
#include "server/codec/decoder.h"
#include "server/codec/json_answer.h"

enum weir_status decoder_open(const struct decoder_options *options, struct decoder **out, struct weir_error *err) {
    switch (options->format) {
    case CODEC_JSON:
    case CODEC_V1:
        return codec_json_open(options, out, err);
    case CODEC_RAW:
        return codec_binary_open(options, out, err);
    case CODEC_NPY:
        return codec_npy_open(options, out, err);
    case CODEC_V2:
        return codec_v2_open(options, out, err);
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

void wishes_release(struct wishes *wishes) {
    free(wishes->id);
    free(wishes->outputs);
    *wishes = (struct wishes){.id = NULL};
}

void decoded_release(struct decoded *decoded, int input_count) {
    for (int i = 0; decoded->inputs && i < input_count; i++)
        free(decoded->inputs[i].data);
    free(decoded->inputs);
    wishes_release(&decoded->wishes);
    memset(decoded, 0, sizeof *decoded);
}

enum weir_status codec_encode(enum codec_format format, const struct signature *signature, uint32_t rows,
                              const struct job_tensor *outputs, struct bytes *out, struct weir_error *err) {
    switch (format) {
    case CODEC_JSON:
    case CODEC_V1:
        return json_answer_write(signature, rows, outputs, out, err);
    case CODEC_RAW:
        return codec_binary_encode(signature, rows, outputs, out, err);
    case CODEC_NPY:
        return codec_npy_encode(signature, rows, outputs, out, err);
    case CODEC_V2:
        break;
    }
    return weir_fail(err, WEIR_INTERNAL, "no such body format: %d", (int)format);
}
