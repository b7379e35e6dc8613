/* Bodies to tensors and back. No sockets: bytes come in pieces of any size, as they arrive. */
#ifndef WEIR_SERVER_CODEC_CODEC_H
#define WEIR_SERVER_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/job.h"
#include "engine/status.h"
#include "engine/tensor.h"
#include "server/bytes.h"

enum codec_format {
    CODEC_JSON, /* {"instances": [...]} in, {"predictions": [...]} out */
    CODEC_RAW,  /* little-endian elements, row after row, nothing else */
    CODEC_NPY,  /* one array in NumPy's .npy format */
    CODEC_V2,   /* requests of the Open Inference Protocol; codec_encode does not write its answers */
    CODEC_V1,   /* CODEC_JSON, and {"inputs": ...} in, {"outputs": ...} out (json_answer_write_columns) */
};

struct decoder;

struct decoder_options {
    enum codec_format format;
    const struct signature *signature; /* must outlive the decoder */
    size_t body_bytes;                 /* announced length, a hint for the first allocation; 0 if unknown */
    uint32_t max_rows;                 /* more is TOO_LARGE; UINT32_MAX for no limit of its own */
    size_t json_bytes;                 /* V2: where bytes follow the JSON; SIZE_MAX: nowhere */
};

/* What a body asks for besides its tensors, in protocols that have it. Begins as zeros. */
struct wishes {
    char *id; /* to be given back with the answer; NULL: none */
    size_t id_size;
    bool columns;       /* V1: "inputs" came, so "outputs" goes */
    bool binary;        /* V2: outputs that are not named go as bytes */
    int64_t timeout_us; /* 0: not said */
    uint64_t priority;  /* 0: not said; 1 is high, 2 normal, more is low */
    struct wish {
        int output; /* index in the signature */
        bool binary;
        uint32_t classes; /* V2's classification: how many; 0: the tensor itself */
    } * outputs;          /* NULL: all of them, in the signature's order */
    int output_count;
};
void wishes_release(struct wishes *wishes);

/* The tensors of one finished body. Each data is one malloc'd block, as is the array. */
struct decoded {
    struct tensor_dims dims;   /* rows, and the free sizes; 0 for those that no input has */
    struct job_tensor *inputs; /* signature->input_count of them */
    struct wishes wishes;
};

/* Errors: UNSUPPORTED (a signature this format cannot carry), NO_MEMORY. Owner: the caller, by decoder_close. */
enum weir_status decoder_open(const struct decoder_options *options, struct decoder **out,
                              struct weir_error *err) WEIR_CHECKED;

/* Reads the next piece of the body; it may end anywhere, also inside a number. Nothing of bytes is kept by pointer.
 * Errors: INVALID, naming row and column or the byte's offset in the body; NO_MEMORY. After an error only close. */
enum weir_status decoder_feed(struct decoder *decoder, const char *bytes, size_t size,
                              struct weir_error *err) WEIR_CHECKED;

/* Ends the body. On OK the tensors are the caller's (decoded_release). Errors: as decoder_feed. */
enum weir_status decoder_finish(struct decoder *decoder, struct decoded *out, struct weir_error *err) WEIR_CHECKED;
void decoder_close(struct decoder *decoder);

void decoded_release(struct decoded *decoded, int input_count);

/* Appends the answer to out; outputs are a job's, with their row shapes. JSON refuses values that are not finite:
 * NON_FINITE, naming row and column (in which case out is as before). */
enum weir_status codec_encode(enum codec_format format, const struct signature *signature, uint32_t rows,
                              const struct job_tensor *outputs, struct bytes *out, struct weir_error *err) WEIR_CHECKED;

#endif
