#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>

#include "engine/npy.h"
#include "server/codec/codec_npy.h"
#include "tests/unit/server/codec/codec_helpers.h"

/* A model of one input and one output, both this. */
struct model {
    struct tensor_spec spec;
    struct signature signature;
};

static void model_init(struct model *model, enum tensor_dtype dtype, int rank, const int64_t *dims) {
    static char name[] = "x";
    model->spec = (struct tensor_spec){.name = name, .dtype = dtype, .shape = {.rank = rank}};
    memcpy(model->spec.shape.dims, dims, (size_t)rank * sizeof *dims);
    cr_assert(tensor_spec_measure(&model->spec));
    model->signature = (struct signature){
        .inputs = &model->spec, .outputs = &model->spec, .input_count = 1, .output_count = 1, .free_count = 2};
}

static struct model four; /* float32 [-1,4] */

static void begin(void) {
    model_init(&four, TENSOR_F32, 2, (const int64_t[]){TENSOR_BATCH, 4});
}
TestSuite(codec_npy, .init = begin);

/* A body: a head that says this, and the data. */
struct body {
    char bytes[1024];
    size_t size;
};

static struct body body_of(const char *dictionary, const void *data, size_t size) {
    struct body body = {.size = 10};
    size_t length = strlen(dictionary);
    memcpy(body.bytes, "\x93NUMPY\1\0", 8);
    body.bytes[8] = (char)length;
    body.bytes[9] = 0;
    memcpy(body.bytes + 10, dictionary, length);
    memcpy(body.bytes + 10 + length, data, size);
    body.size += length + size;
    return body;
}

static struct outcome decode(const struct model *model, const struct body *body, size_t piece, uint32_t max_rows) {
    struct decoder_options options = {
        .format = CODEC_NPY, .signature = &model->signature, .body_bytes = body->size, .max_rows = max_rows};
    return decode_in_pieces(&options, body->bytes, body->size, piece, piece);
}

static void expect_refusal(const struct model *model, const struct body *body, enum weir_status status,
                           const char *text) {
    for (size_t piece = 1; piece <= body->size + 1; piece += 7) {
        struct outcome outcome = decode(model, body, piece, 5);
        cr_assert(outcome.status == status, "%d: %s", (int)outcome.status, outcome.err.text);
        cr_assert(eq(str, outcome.err.text, (char *)text));
    }
}

#define HEAD(type, shape) "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }"

Test(codec_npy, an_array_is_read_wherever_the_pieces_end) {
    const float values[] = {1, -2, NAN, INFINITY, -INFINITY, -0.0F, 1e-45F, 8};
    struct body body = body_of(HEAD("<f4", "(2, 4)"), values, sizeof values);
    for (size_t piece = 1; piece <= body.size; piece++) {
        struct outcome outcome = decode(&four, &body, piece, 5);
        cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
        cr_assert(eq(sz, outcome.decoded.dims.rows, 2));
        cr_assert(eq(sz, outcome.decoded.inputs[0].row_bytes, 16));
        cr_assert(eq(int, outcome.decoded.inputs[0].row.rank, 1));
        cr_assert(outcome.decoded.inputs[0].row.dims[0] == 4);
        cr_assert(memcmp(outcome.decoded.inputs[0].data, values, sizeof values) == 0);
        decoded_release(&outcome.decoded, 1);
    }
}

Test(codec_npy, every_type_and_shape_goes_there_and_back) {
    static const int64_t shapes[][3] = {
        {TENSOR_BATCH, 2, 3}, {2, TENSOR_BATCH, 3}, {2, 3, TENSOR_BATCH}, {3, 2, 3}, {TENSOR_BATCH, TENSOR_FREE(1), 3}};
    char data[3 * 2 * 3 * 8];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i % 2);
    for (int dtype = 0; dtype < TENSOR_DTYPE_COUNT; dtype++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            struct model model;
            model_init(&model, (enum tensor_dtype)dtype, 3, shapes[s]);
            struct tensor_shape shape = model.spec.shape;
            for (int i = 0; i < 3; i++)
                if (shape.dims[i] < 0)
                    shape.dims[i] = shape.dims[i] == TENSOR_BATCH ? 3 : 2;
            struct body body;
            body.size = npy_write_head(model.spec.dtype, &shape, body.bytes, NPY_HEAD_ROOM);
            memcpy(body.bytes + body.size, data, 18 * tensor_dtype_bytes(model.spec.dtype));
            body.size += 18 * tensor_dtype_bytes(model.spec.dtype);
            struct outcome outcome = decode(&model, &body, 13, 5);
            cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
            cr_assert(eq(sz, outcome.decoded.dims.rows, s == 3 ? 1 : 3));
            cr_assert(outcome.decoded.dims.free[1] == (s == 4 ? 2 : 0));
            struct bytes out = {0};
            struct weir_error err;
            cr_assert(codec_npy_encode(&model.signature, outcome.decoded.dims.rows, outcome.decoded.inputs, &out,
                                       &err) == WEIR_OK);
            cr_assert(eq(sz, out.size, body.size));
            cr_assert(memcmp(out.data, body.bytes, body.size) == 0, "%s, shape %zu",
                      tensor_dtype_text(model.spec.dtype), s);
            bytes_release(&out);
            decoded_release(&outcome.decoded, 1);
        }
}

Test(codec_npy, what_does_not_fit_the_model_is_refused_with_both) {
    const double data[8] = {0};
    struct body body = body_of(HEAD("<f8", "(2, 4)"), data, 64);
    expect_refusal(&four, &body, WEIR_INVALID,
                   "the array has the type float64, the model takes \"x\" as float32 [-1,4]");
    body = body_of(HEAD("<f4", "(2, 5)"), data, 40);
    expect_refusal(&four, &body, WEIR_INVALID,
                   "the array has the shape [2,5], the model takes \"x\" as float32 [-1,4]");
    body = body_of(HEAD("<f4", "(4,)"), data, 16);
    expect_refusal(&four, &body, WEIR_INVALID, "the array has the shape [4], the model takes \"x\" as float32 [-1,4]");
    body = body_of(HEAD("<f4", "(0, 4)"), data, 0);
    expect_refusal(&four, &body, WEIR_INVALID,
                   "the array has the shape [0,4], the model takes \"x\" as float32 [-1,4]");
    body = body_of(HEAD("<f4", "(6, 4)"), data, 0);
    expect_refusal(&four, &body, WEIR_TOO_LARGE, "the array has 6 rows, the limit is 5");
    body = body_of(HEAD("<f4", "(4294967297, 4)"), data, 0);
    expect_refusal(&four, &body, WEIR_TOO_LARGE, "the array has 4294967297 rows, the limit is 5");
}

Test(codec_npy, what_numpy_can_write_and_we_do_not_read_is_named) {
    const float data[8] = {0};
    struct body body = body_of(HEAD(">f4", "(2, 4)"), data, 32);
    expect_refusal(&four, &body, WEIR_UNSUPPORTED, "the body: elements of type '>f4': big-endian");
    body = body_of("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 4), }", data, 32);
    expect_refusal(&four, &body, WEIR_UNSUPPORTED,
                   "the body: an array in Fortran order; numpy.ascontiguousarray gives C order");
    body = body_of(HEAD("|O", "(2, 4)"), data, 32);
    expect_refusal(&four, &body, WEIR_UNSUPPORTED, "the body: an array of Python objects");
    body = body_of(HEAD("<V2", "(2, 4)"), data, 16);
    expect_refusal(&four, &body, WEIR_UNSUPPORTED, "the body: elements of type '<V2'");
}

Test(codec_npy, bytes_too_few_and_too_many_are_refused) {
    const float data[9] = {0};
    struct body body = body_of(HEAD("<f4", "(2, 4)"), data, 31);
    expect_refusal(&four, &body, WEIR_INVALID,
                   "the body is truncated: 31 bytes behind the head, float32 [2,4] takes 32");
    body.size -= 31 + 5;
    expect_refusal(&four, &body, WEIR_INVALID, "the body: truncated: it ends within the head");
    body.size = 7;
    expect_refusal(&four, &body, WEIR_INVALID, "the body: truncated: it ends within the head");
    body.size = 0;
    expect_refusal(&four, &body, WEIR_INVALID, "the body: not an .npy file: it is empty");
    body = body_of(HEAD("<f4", "(2, 4)"), data, 33);
    expect_refusal(&four, &body, WEIR_INVALID, "the body goes on behind its array: float32 [2,4] takes 32 bytes");
    body = (struct body){.bytes = "{\"instances\":[[1,2,3,4]]}", .size = 25};
    expect_refusal(&four, &body, WEIR_INVALID, "the body: not an .npy file: it does not begin with \\x93NUMPY");
}

Test(codec_npy, free_sizes_of_one_name_must_agree) {
    struct model model;
    const char data[64] = {0};
    model_init(&model, TENSOR_U8, 3, (const int64_t[]){TENSOR_BATCH, TENSOR_FREE(0), TENSOR_FREE(0)});
    struct body body = body_of(HEAD("|u1", "(2, 3, 3)"), data, 18);
    struct outcome outcome = decode(&model, &body, 100, 5);
    cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
    cr_assert(outcome.decoded.dims.free[0] == 3);
    decoded_release(&outcome.decoded, 1);
    body = body_of(HEAD("|u1", "(2, 3, 4)"), data, 24);
    expect_refusal(&model, &body, WEIR_INVALID,
                   "the array has the shape [2,3,4], the model takes \"x\" as uint8 [-1,-1,-1]");
    body = body_of(HEAD("|u1", "(2, 0, 0)"), data, 0);
    expect_refusal(&model, &body, WEIR_INVALID,
                   "the array has the shape [2,0,0], the model takes \"x\" as uint8 [-1,-1,-1]");
}

Test(codec_npy, a_bool_is_zero_or_one) {
    struct model model;
    model_init(&model, TENSOR_BOOL, 1, (const int64_t[]){TENSOR_BATCH});
    struct body body = body_of(HEAD("|b1", "(3,)"), "\0\1\2", 3);
    expect_refusal(&model, &body, WEIR_INVALID, "byte 2 of the array is 2, a bool is 0 or 1");
}

Test(codec_npy, a_head_that_lies_of_its_size_takes_no_memory) {
    const float data[4] = {0};
    struct body body = body_of(HEAD("<f4", "(1073741824, 4)"), data, sizeof data);
    struct decoder_options options = {.format = CODEC_NPY, .signature = &four.signature, .max_rows = UINT32_MAX};
    struct outcome outcome = decode_in_pieces(&options, body.bytes, body.size, 9, 9);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(strstr(outcome.err.text, "the body is truncated: 16 bytes behind the head") != NULL, "%s",
              outcome.err.text);
}

Test(codec_npy, several_inputs_or_outputs_are_not_supported) {
    struct tensor_spec specs[] = {four.spec, four.spec};
    struct signature signature = {.inputs = specs, .outputs = specs, .input_count = 2, .output_count = 2};
    struct decoder_options options = {.format = CODEC_NPY, .signature = &signature};
    struct job_tensor outputs[2] = {{.data = NULL}};
    struct decoder *decoder;
    struct bytes out = {0};
    struct weir_error err;
    cr_assert(codec_npy_open(&options, &decoder, &err) == WEIR_UNSUPPORTED);
    cr_assert(eq(str, err.text, "the model takes 2 inputs, an .npy body carries one"));
    cr_assert(codec_npy_encode(&signature, 1, outputs, &out, &err) == WEIR_UNSUPPORTED);
    cr_assert(eq(str, err.text, ".npy answers carry one output, the model has 2"));
}
