#include "server/codec/codec_npy.h"

#include <stdlib.h>
#include <string.h>

#include "engine/npy.h"
#include "server/codec/batch_axis.h"
#include "server/codec/decoder.h"
#include "server/codec/element_check.h"
#include "server/codec/place.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are copied as they are");

struct npy_decoder {
    struct decoder decoder;
    const struct tensor_spec *spec;
    uint32_t max_rows;
    size_t body_bytes;
    char *head; /* as far as it is there; NULL once it is read */
    size_t head_size, head_need;
    struct npy array;
    struct tensor_dims dims;
    struct tensor_shape row;
    char *data;
    size_t size, capacity;
};

/* "the model takes "x" as float32 [-1,4]" */
static enum weir_status fail_array(const struct npy_decoder *npy, struct weir_error *err, const char *has,
                                   const char *what) {
    char shape[PLACE_TEXT_BYTES];
    return weir_fail(err, WEIR_INVALID, "the array has %s %s, the model takes \"%s\" as %s %s", has, what,
                     npy->spec->name, tensor_dtype_text(npy->spec->dtype),
                     tensor_shape_text(&npy->spec->shape, shape, sizeof shape));
}

/* Takes the size that the array has where the model leaves it open. False: it does not fit. */
static bool take_size(struct npy_decoder *npy, int64_t wanted, int64_t size) {
    if (wanted >= 0)
        return size == wanted;
    if (wanted == TENSOR_BATCH || size == 0)
        return size > 0;
    int64_t *known = &npy->dims.free[TENSOR_FREE(0) - wanted];
    if (*known == 0)
        *known = size;
    return *known == size;
}

/* Do type and shape fit the model? */
static enum weir_status check_array(struct npy_decoder *npy, struct weir_error *err) {
    const struct tensor_spec *spec = npy->spec;
    const struct tensor_shape *shape = &npy->array.shape;
    char text[PLACE_TEXT_BYTES];
    int64_t rows = 1;
    if (npy->array.dtype != spec->dtype)
        return fail_array(npy, err, "the type", tensor_dtype_text(npy->array.dtype));
    bool fits = shape->rank == spec->shape.rank;
    for (int i = 0; i < shape->rank && fits; i++) {
        fits = take_size(npy, spec->shape.dims[i], shape->dims[i]);
        if (i == spec->batch_axis)
            rows = shape->dims[i];
        else
            npy->row.dims[npy->row.rank++] = shape->dims[i];
    }
    if (!fits)
        return fail_array(npy, err, "the shape", tensor_shape_text(shape, text, sizeof text));
    if (spec->batch_axis >= 0 && rows > npy->max_rows)
        return weir_fail(err, WEIR_TOO_LARGE, "the array has %lld rows, the limit is %u", (long long)rows,
                         npy->max_rows);
    npy->dims.rows = (uint32_t)rows;
    return WEIR_OK;
}

static enum weir_status read_head(struct npy_decoder *npy, struct weir_error *err) {
    enum npy_void two_bytes = npy->spec->dtype == TENSOR_BF16 ? NPY_VOID_BF16 : NPY_VOID_REFUSED;
    enum weir_status status = npy_parse_head(npy->head, npy->head_size, two_bytes, &npy->array, err);
    if (status != WEIR_OK) {
        weir_fail_in(err, "the body");
        return status;
    }
    free(npy->head);
    npy->head = NULL;
    return check_array(npy, err);
}

/* Takes what belongs to the head, *taken bytes of it. */
static enum weir_status feed_head(struct npy_decoder *npy, const char *bytes, size_t size, size_t *taken,
                                  struct weir_error *err) {
    *taken = 0;
    while (npy->head && *taken < size) {
        size_t piece = npy->head_need - npy->head_size;
        if (piece > size - *taken)
            piece = size - *taken;
        memcpy(npy->head + npy->head_size, bytes + *taken, piece);
        npy->head_size += piece;
        *taken += piece;
        if (npy->head_size < npy->head_need)
            return WEIR_OK;
        npy->head_need = npy_head_need(npy->head, npy->head_size);
        if (npy->head_need <= npy->head_size)
            return read_head(npy, err);
        char *head = realloc(npy->head, npy->head_need);
        if (!head)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu bytes of the body", npy->head_need);
        npy->head = head;
    }
    return WEIR_OK;
}

static enum weir_status feed(struct decoder *decoder, const char *bytes, size_t size, struct weir_error *err) {
    struct npy_decoder *npy = (struct npy_decoder *)decoder;
    char text[PLACE_TEXT_BYTES];
    size_t taken;
    enum weir_status status = feed_head(npy, bytes, size, &taken, err);
    bytes += taken;
    size -= taken;
    if (status != WEIR_OK || size == 0)
        return status;
    size_t all = npy->array.data_bytes;
    if (size > all - npy->size)
        return weir_fail(err, WEIR_INVALID, "the body goes on behind its array: %s %s takes %zu bytes",
                         tensor_dtype_text(npy->array.dtype), tensor_shape_text(&npy->array.shape, text, sizeof text),
                         all);
    size_t need = npy->size + size;
    if (need > npy->capacity) {
        size_t capacity = npy->capacity ? npy->capacity + npy->capacity / 2 : npy->body_bytes;
        if (capacity > all)
            capacity = all;
        if (capacity < need)
            capacity = need;
        char *data = realloc(npy->data, capacity);
        if (!data)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu bytes of the body", capacity);
        npy->data = data;
        npy->capacity = capacity;
    }
    memcpy(npy->data + npy->size, bytes, size);
    npy->size = need;
    return WEIR_OK;
}

static enum weir_status check_whole(struct npy_decoder *npy, struct weir_error *err) {
    char text[PLACE_TEXT_BYTES];
    if (npy->head) /* it is cut: why says the reader */
        return read_head(npy, err);
    if (npy->size < npy->array.data_bytes)
        return weir_fail(err, WEIR_INVALID, "the body is truncated: %zu bytes behind the head, %s %s takes %zu",
                         npy->size, tensor_dtype_text(npy->array.dtype),
                         tensor_shape_text(&npy->array.shape, text, sizeof text), npy->array.data_bytes);
    return element_check(npy->spec->dtype, npy->data, npy->size, " of the array", err);
}

static enum weir_status finish(struct decoder *decoder, struct decoded *out, struct weir_error *err) {
    struct npy_decoder *npy = (struct npy_decoder *)decoder;
    enum weir_status status = check_whole(npy, err);
    if (status != WEIR_OK)
        return status;
    bool is_moved = batch_axis_reorders(npy->spec, &npy->row, npy->dims.rows);
    struct job_tensor *inputs = malloc(sizeof *inputs);
    char *rows = is_moved ? malloc(npy->size) : npy->data;
    if (!inputs || !rows) {
        free(inputs);
        if (is_moved)
            free(rows);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the request's tensors");
    }
    if (is_moved) {
        batch_axis_to_rows(npy->spec, &npy->row, npy->dims.rows, npy->data, rows);
        free(npy->data);
    }
    npy->data = NULL;
    inputs[0] = (struct job_tensor){.data = rows, .row_bytes = npy->size / npy->dims.rows, .row = npy->row};
    *out = (struct decoded){.dims = npy->dims, .inputs = inputs};
    return WEIR_OK;
}

static void close_decoder(struct decoder *decoder) {
    struct npy_decoder *npy = (struct npy_decoder *)decoder;
    free(npy->head);
    free(npy->data);
    free(npy);
}

static enum weir_status check_inputs(const struct signature *signature, struct weir_error *err) {
    char text[PLACE_TEXT_BYTES];
    const struct tensor_spec *spec = &signature->inputs[0];
    if (signature->input_count != 1)
        return weir_fail(err, WEIR_UNSUPPORTED, "the model takes %d inputs, an .npy body carries one",
                         signature->input_count);
    for (int i = 0; i < spec->shape.rank; i++)
        if (spec->shape.dims[i] == 0)
            return weir_fail(err, WEIR_UNSUPPORTED, "the model takes \"%s\" as %s %s: it has no elements", spec->name,
                             tensor_dtype_text(spec->dtype), tensor_shape_text(&spec->shape, text, sizeof text));
    return WEIR_OK;
}

enum weir_status codec_npy_open(const struct decoder_options *options, struct decoder **out, struct weir_error *err) {
    static const struct decoder_kind kind = {.feed = feed, .finish = finish, .close = close_decoder};
    enum weir_status status = check_inputs(options->signature, err);
    if (status != WEIR_OK)
        return status;
    struct npy_decoder *npy = calloc(1, sizeof *npy);
    size_t need = npy_head_need(NULL, 0);
    char *head = malloc(need);
    if (!npy || !head) {
        free(npy);
        free(head);
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a reader of .npy bodies");
    }
    npy->decoder.kind = &kind;
    npy->spec = &options->signature->inputs[0];
    npy->max_rows = options->max_rows;
    npy->body_bytes = options->body_bytes;
    npy->head = head;
    npy->head_need = need;
    npy->dims.free_count = options->signature->free_count;
    *out = &npy->decoder;
    return WEIR_OK;
}

enum weir_status codec_npy_encode(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                  struct bytes *out, struct weir_error *err) {
    const struct tensor_spec *spec = &signature->outputs[0];
    size_t before = out->size, size;
    if (signature->output_count != 1)
        return weir_fail(err, WEIR_UNSUPPORTED, ".npy answers carry one output, the model has %d",
                         signature->output_count);
    if (__builtin_mul_overflow((size_t)(spec->batch_axis < 0 ? 1 : rows), outputs[0].row_bytes, &size))
        return weir_fail(err, WEIR_NO_MEMORY, "the answer is too long to count");
    struct tensor_shape whole = batch_axis_whole(spec, &outputs[0].row, rows);
    char *head = bytes_reserve(out, NPY_HEAD_ROOM);
    if (head)
        out->size += npy_write_head(spec->dtype, &whole, head, NPY_HEAD_ROOM);
    char *data = bytes_reserve(out, size);
    if (!data) {
        out->size = before;
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for an answer of %zu bytes", size);
    }
    if (batch_axis_reorders(spec, &outputs[0].row, rows))
        batch_axis_from_rows(spec, &outputs[0].row, rows, outputs[0].data, data);
    else
        memcpy(data, outputs[0].data, size);
    out->size += size;
    return WEIR_OK;
}
