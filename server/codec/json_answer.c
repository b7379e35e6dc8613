#include "server/codec/json_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tensor_element.h"
#include "server/codec/batch_axis.h"
#include "server/codec/json_writer.h"
#include "server/codec/place.h"

/* One tensor on its way into the answer: where its next element is, and how many of its row are written. */
struct source {
    enum tensor_dtype dtype;
    size_t element_bytes;
    const struct tensor_shape *row;
    const char *at;
    size_t written;
};

static bool is_finite(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7F800000) != 0x7F800000;
}

/* Appends float32 numbers with commas between. Returns how many: fewer than count if the next one is not finite (or
 * memory ran out, which out knows). */
static size_t write_floats(struct bytes *out, const float *values, size_t count) {
    enum { AT_ONCE = 64 };
    for (size_t i = 0; i < count;) {
        size_t stop = count - i < AT_ONCE ? count : i + AT_ONCE;
        char *start = bytes_reserve(out, AT_ONCE * (JSON_WRITER_FLOAT_BYTES + 1));
        if (!start)
            return i;
        char *to = start;
        for (; i < stop; i++) {
            if (!is_finite(values[i]))
                return i;
            *to = ',';
            to = json_writer_float(to + (i > 0), values[i]);
        }
        out->size += (size_t)(to - start);
    }
    return count;
}

/* Writes one element of another type. Returns the end; NULL: it is not finite. */
static char *write_element(char *to, enum tensor_dtype dtype, const char *at) {
    if (dtype == TENSOR_BOOL)
        return *at ? (char *)memcpy(to, "true", 4) + 4 : (char *)memcpy(to, "false", 5) + 5;
    if (!tensor_is_float(dtype))
        return json_writer_integer(to, tensor_integer_at(dtype, at, 0));
    double value = tensor_float_at(dtype, at, 0);
    if (!isfinite(value))
        return NULL;
    return dtype == TENSOR_F64 ? json_writer_double(to, value) : json_writer_float(to, (float)value);
}

/* As write_floats, for every other type. */
static size_t write_elements(struct bytes *out, const struct source *source, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *start = bytes_reserve(out, JSON_WRITER_NUMBER_BYTES + 1);
        if (!start)
            return i;
        *start = ',';
        char *end = write_element(start + (i > 0), source->dtype, source->at + i * source->element_bytes);
        if (!end)
            return i;
        out->size += (size_t)(end - start);
    }
    return count;
}

/* Appends the next `count` elements. Returns false if not all could be written. */
static bool write_run(struct bytes *out, struct source *source, size_t count) {
    size_t written = source->dtype == TENSOR_F32 ? write_floats(out, (const float *)(const void *)source->at, count)
                                                 : write_elements(out, source, count);
    source->at += written * source->element_bytes;
    source->written += written;
    return written == count;
}

bool json_answer_elements(struct bytes *out, enum tensor_dtype dtype, const void *data, size_t count, size_t *written) {
    struct source source = {.dtype = dtype, .element_bytes = tensor_dtype_bytes(dtype), .at = data};
    bool all = write_run(out, &source, count);
    *written = source.written;
    return all;
}

/* Appends the array of dimension `level` of the row, and all within it. */
static bool write_array(struct bytes *out, struct source *source, int level) {
    size_t size = level < source->row->rank ? (size_t)source->row->dims[level] : 1;
    bool all = true;
    if (level == source->row->rank)
        return write_run(out, source, 1);
    bytes_append(out, "[", 1);
    if (level == source->row->rank - 1) {
        all = write_run(out, source, size);
    } else {
        for (size_t i = 0; i < size && all; i++) {
            if (i > 0)
                bytes_append(out, ",", 1);
            all = write_array(out, source, level + 1);
        }
    }
    bytes_append(out, "]", 1);
    return all;
}

static enum weir_status write_output(struct bytes *out, const struct tensor_spec *spec, const struct job_tensor *tensor,
                                     uint32_t row, struct weir_error *err) {
    bool has_rows = spec->batch_axis >= 0;
    struct source source = {.dtype = spec->dtype,
                            .element_bytes = tensor_dtype_bytes(spec->dtype),
                            .row = &tensor->row,
                            .at = (const char *)tensor->data + (has_rows ? row * tensor->row_bytes : 0)};
    if (write_array(out, &source, 0) || out->failed)
        return WEIR_OK;
    char place[PLACE_TEXT_BYTES];
    return weir_fail(err, WEIR_NON_FINITE, "output \"%s\", %s is %s, which JSON cannot carry", spec->name,
                     place_of_element(place, &tensor->row, has_rows, row, source.written),
                     isnan(tensor_float_at(spec->dtype, source.at, 0)) ? "NaN" : "infinite");
}

static enum weir_status write_row(struct bytes *out, const struct signature *signature, uint32_t row,
                                  const struct job_tensor *outputs, struct weir_error *err) {
    bool named = signature->output_count > 1;
    for (int i = 0; i < signature->output_count; i++) {
        const struct tensor_spec *spec = &signature->outputs[i];
        if (named) {
            bytes_append(out, i == 0 ? "{" : ",", 1);
            bytes_json_string(out, spec->name, strlen(spec->name));
            bytes_append(out, ":", 1);
        }
        enum weir_status status = write_output(out, spec, &outputs[i], row, err);
        if (status != WEIR_OK)
            return status;
    }
    if (named)
        bytes_append(out, "}", 1);
    return WEIR_OK;
}

/* Ends an answer that began at `before`; it is taken back if it failed. */
static enum weir_status end_answer(struct bytes *out, size_t before, enum weir_status status, struct weir_error *err) {
    if (status == WEIR_OK && out->failed)
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for the answer");
    if (status != WEIR_OK)
        out->size = before;
    return status;
}

enum weir_status json_answer_write(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                                   struct bytes *out, struct weir_error *err) {
    size_t before = out->size;
    enum weir_status status = WEIR_OK;
    bytes_text(out, "{\"predictions\":[");
    for (uint32_t row = 0; row < rows && status == WEIR_OK; row++) {
        if (row > 0)
            bytes_append(out, ",", 1);
        status = write_row(out, signature, row, outputs, err);
    }
    bytes_text(out, "]}");
    return end_answer(out, before, status, err);
}

/* An output whose batch dimension is not the first, as one array. */
static enum weir_status write_whole(struct bytes *out, const struct tensor_spec *spec, const struct job_tensor *tensor,
                                    uint32_t rows, struct weir_error *err) {
    struct tensor_spec whole_spec = *spec;
    struct job_tensor whole = {.data = malloc(rows * tensor->row_bytes + 1),
                               .row = batch_axis_whole(spec, &tensor->row, rows)};
    if (!whole.data)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the answer");
    whole_spec.batch_axis = -1;
    batch_axis_from_rows(spec, &tensor->row, rows, tensor->data, whole.data);
    enum weir_status status = write_output(out, &whole_spec, &whole, 0, err);
    free(whole.data);
    return status;
}

static enum weir_status write_column(struct bytes *out, const struct tensor_spec *spec, const struct job_tensor *tensor,
                                     uint32_t rows, struct weir_error *err) {
    enum weir_status status = WEIR_OK;
    if (spec->batch_axis < 0)
        return write_output(out, spec, tensor, 0, err);
    if (batch_axis_is_inside(spec))
        return write_whole(out, spec, tensor, rows, err);
    bytes_append(out, "[", 1);
    for (uint32_t row = 0; row < rows && status == WEIR_OK; row++) {
        if (row > 0)
            bytes_append(out, ",", 1);
        status = write_output(out, spec, tensor, row, err);
    }
    bytes_append(out, "]", 1);
    return status;
}

enum weir_status json_answer_write_columns(const struct signature *signature, uint32_t rows,
                                           const struct job_tensor *outputs, struct bytes *out,
                                           struct weir_error *err) {
    size_t before = out->size;
    bool named = signature->output_count > 1;
    enum weir_status status = WEIR_OK;
    bytes_text(out, named ? "{\"outputs\":{" : "{\"outputs\":");
    for (int i = 0; i < signature->output_count && status == WEIR_OK; i++) {
        const struct tensor_spec *spec = &signature->outputs[i];
        if (i > 0)
            bytes_append(out, ",", 1);
        if (named) {
            bytes_json_string(out, spec->name, strlen(spec->name));
            bytes_append(out, ":", 1);
        }
        status = write_column(out, spec, &outputs[i], rows, err);
    }
    bytes_text(out, named ? "}}" : "}");
    return end_answer(out, before, status, err);
}
