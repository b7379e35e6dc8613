/* What a body format must offer to be read through codec.h. A format's own struct begins with a struct decoder. */
#ifndef WEIR_SERVER_CODEC_DECODER_H
#define WEIR_SERVER_CODEC_DECODER_H

#include "server/codec/codec.h"

struct decoder_kind {
    enum weir_status (*feed)(struct decoder *decoder, const char *bytes, size_t size, struct weir_error *err);
    enum weir_status (*finish)(struct decoder *decoder, struct decoded *out, struct weir_error *err);
    void (*close)(struct decoder *decoder);
};

struct decoder {
    const struct decoder_kind *kind;
};

#endif
