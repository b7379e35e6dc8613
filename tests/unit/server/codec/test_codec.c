#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "engine/npy.h"
#include "server/codec/codec.h"
#include "tests/unit/server/codec/codec_helpers.h"

static const int64_t two[] = {2};

Test(codec, each_format_goes_to_its_codec_and_back) {
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, two);
    const float values[] = {1, 2.5F};
    static const char json[] = "{\"instances\":[[1,2.5]]}";
    char npy[NPY_HEAD_ROOM + sizeof values];
    size_t head = npy_write_head(TENSOR_F32, &(struct tensor_shape){.rank = 2, .dims = {1, 2}}, npy, NPY_HEAD_ROOM);
    memcpy(npy + head, values, sizeof values);
    const struct {
        enum codec_format format;
        const void *body;
        size_t size;
    } rows[] = {{CODEC_JSON, json, sizeof json - 1},
                {CODEC_RAW, values, sizeof values},
                {CODEC_NPY, npy, head + sizeof values}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct decoder_options options = {
            .format = rows[i].format, .signature = &model.signature, .body_bytes = rows[i].size, .max_rows = 1};
        struct outcome outcome = decode_in_pieces(&options, rows[i].body, rows[i].size, 3, 3);
        cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
        cr_assert(memcmp(outcome.decoded.inputs[0].data, values, sizeof values) == 0);

        struct bytes out = {0};
        struct weir_error err;
        cr_assert(codec_encode(rows[i].format, &model.signature, 1, outcome.decoded.inputs, &out, &err) == WEIR_OK);
        if (rows[i].format == CODEC_JSON)
            cr_assert(out.size == strlen("{\"predictions\":[[1,2.5]]}") &&
                      memcmp(out.data, "{\"predictions\":[[1,2.5]]}", out.size) == 0);
        else
            cr_assert(out.size == rows[i].size && memcmp(out.data, rows[i].body, out.size) == 0);
        bytes_release(&out);
        decoded_release(&outcome.decoded, 1);
        cr_assert(outcome.decoded.inputs == NULL);
    }
}

Test(codec, a_decoder_closed_in_the_middle_of_a_body_gives_everything_back) {
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, two);
    static const char json[] = "{\"instances\":[[1,2],[1", npy[] = "\x93NUMPY\1\0\x76\0{'descr'";
    for (int format = CODEC_JSON; format <= CODEC_NPY; format++) {
        struct decoder_options options = {
            .format = (enum codec_format)format, .signature = &model.signature, .max_rows = UINT32_MAX};
        struct decoder *decoder;
        struct weir_error err;
        cr_assert(decoder_open(&options, &decoder, &err) == WEIR_OK);
        cr_assert(decoder_feed(decoder, format == CODEC_NPY ? npy : json, 18, &err) == WEIR_OK);
        decoder_close(decoder); /* the leak check of the sanitizer is the assertion */
    }
    decoder_close(NULL);
}
