#include "server/codec/v2_answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tensor_element.h"
#include "server/codec/batch_axis.h"
#include "server/codec/json_answer.h"
#include "server/codec/v2_datatype.h"

enum {
    CLASS_BYTES = 352, /* the longest "value:index": a float64 with its six decimals */
    MOST_CLASSES = 1000
};

static bool is_half(enum tensor_dtype dtype) {
    return dtype == TENSOR_F16 || dtype == TENSOR_BF16;
}

struct class {
    double value;  /* of float types, else 0 */
    bool is_nan;   /* counts as the least; value is 0 then */
    int64_t whole; /* of integers, else 0 */
    size_t index;
};

static struct class class_at(enum tensor_dtype dtype, const char *data, size_t index) {
    struct class class = {.index = index};
    if (tensor_is_float(dtype))
        class.value = tensor_float_at(dtype, data, index);
    else
        class.whole = tensor_integer_at(dtype, data, index);
    class.is_nan = isnan(class.value);
    if (class.is_nan)
        class.value = 0;
    return class;
}

static int largest_first(const void *a, const void *b) {
    const struct class *x = a, *y = b;
    if (x->is_nan != y->is_nan)
        return x->is_nan ? 1 : -1;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    if (x->whole != y->whole)
        return x->whole < y->whole ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static int write_class(char *text, enum tensor_dtype dtype, const struct class *class) {
    if (class->is_nan)
        return snprintf(text, CLASS_BYTES, "nan:%zu", class->index);
    if (dtype == TENSOR_F32 || dtype == TENSOR_F64)
        return snprintf(text, CLASS_BYTES, "%f:%zu", class->value, class->index);
    return snprintf(text, CLASS_BYTES, "%" PRId64 ":%zu", class->whole, class->index);
}

/* One output on its way. */
struct output {
    const struct tensor_spec *spec;
    const struct job_tensor *tensor;
    uint32_t rows; /* 1 where it has none */
    size_t row_elements;
    uint32_t classes; /* of a row; 0: the tensor itself */
    bool binary;
};

static enum weir_status describe(const struct v2_answer *answer, const struct wish *wish, struct output *out,
                                 struct weir_error *err) {
    const struct tensor_spec *spec = &answer->signature->outputs[wish->output];
    const struct job_tensor *tensor = &answer->outputs[wish->output];
    *out = (struct output){.spec = spec,
                           .tensor = tensor,
                           .rows = spec->batch_axis < 0 ? 1 : answer->rows,
                           .row_elements = tensor->row_bytes / tensor_dtype_bytes(spec->dtype),
                           .binary = wish->binary || (is_half(spec->dtype) && wish->classes == 0)};
    if (wish->classes == 0)
        return WEIR_OK;
    if (is_half(spec->dtype) || spec->dtype == TENSOR_BOOL)
        return weir_fail(err, WEIR_INVALID, "output \"%s\" is %s: there is no classification of that", spec->name,
                         v2_datatype_text(spec->dtype));
    if (wish->classes > MOST_CLASSES && out->row_elements > MOST_CLASSES)
        return weir_fail(err, WEIR_INVALID, "output \"%s\": a classification has at most %d classes", spec->name,
                         MOST_CLASSES);
    out->classes = wish->classes < out->row_elements ? wish->classes : (uint32_t)out->row_elements;
    return WEIR_OK;
}

/* Sinks classes[at] in a heap whose root is the one to go first: the smallest, of equals the last. */
static void sink(struct class *classes, size_t count, size_t at) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && largest_first(&classes[child + 1], &classes[child]) > 0)
            child++;
        if (largest_first(&classes[child], &classes[at]) <= 0)
            return;
        struct class swap = classes[at];
        classes[at] = classes[child];
        classes[child] = swap;
    }
}

/* Finds the largest `count` of the row, the largest first. */
static void find_classes(const struct output *output, const char *row, struct class *classes) {
    size_t count = output->classes;
    for (size_t i = 0; i < output->row_elements; i++) {
        struct class class = class_at(output->spec->dtype, row, i);
        if (i < count) {
            classes[i] = class;
            for (size_t at = i + 1 == count ? count / 2 : 0; at-- > 0;)
                sink(classes, count, at);
        } else if (largest_first(&class, &classes[0]) < 0) {
            classes[0] = class;
            sink(classes, count, 0);
        }
    }
    qsort(classes, count, sizeof *classes, largest_first);
}

/* Calls put for each "value:index" of the output. */
static bool each_class(const struct output *output, void (*put)(struct bytes *, const char *, size_t),
                       struct bytes *out) {
    struct class *classes = calloc(output->classes + 1, sizeof *classes);
    for (uint32_t row = 0; classes && row < output->rows; row++) {
        const char *data = (const char *)output->tensor->data + row * output->tensor->row_bytes;
        find_classes(output, data, classes);
        for (uint32_t i = 0; i < output->classes; i++) {
            char text[CLASS_BYTES];
            put(out, text, (size_t)write_class(text, output->spec->dtype, &classes[i]));
        }
    }
    free(classes);
    return classes != NULL;
}

static void put_string(struct bytes *out, const char *text, size_t size) {
    if (out->size > 0 && out->data[out->size - 1] != '[')
        bytes_append(out, ",", 1);
    bytes_append(out, "\"", 1);
    bytes_append(out, text, size);
    bytes_append(out, "\"", 1);
}

/* An element of BYTES: its length in four bytes, then itself. */
static void put_bytes(struct bytes *out, const char *text, size_t size) {
    uint32_t length = (uint32_t)size;
    bytes_append(out, &length, sizeof length);
    bytes_append(out, text, size);
}

static void write_shape(struct bytes *out, const struct output *output, struct tensor_shape whole) {
    if (output->classes > 0) {
        whole = (struct tensor_shape){.rank = 1, .dims = {output->rows, output->classes}};
        whole.rank = output->spec->batch_axis < 0 ? 1 : 2;
        if (whole.rank == 1)
            whole.dims[0] = output->classes;
    }
    bytes_text(out, ",\"shape\":[");
    for (int i = 0; i < whole.rank; i++) {
        bytes_text(out, i > 0 ? "," : "");
        bytes_number(out, (uint64_t)whole.dims[i]);
    }
    bytes_text(out, "]");
}

/* The tensor's bytes, whole. Returns them; *taken is to be freed. NULL: no memory. */
static const char *whole_bytes(const struct output *output, void **taken) {
    *taken = NULL;
    if (!batch_axis_reorders(output->spec, &output->tensor->row, output->rows))
        return output->tensor->data;
    *taken = malloc(output->rows * output->tensor->row_bytes + 1);
    if (*taken)
        batch_axis_from_rows(output->spec, &output->tensor->row, output->rows, output->tensor->data, *taken);
    return *taken;
}

static enum weir_status write_data(struct bytes *out, const struct output *output, struct weir_error *err) {
    void *taken;
    size_t written, count = output->rows * output->row_elements;
    bytes_text(out, ",\"data\":[");
    if (output->classes > 0) {
        if (!each_class(output, put_string, out))
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for the answer");
        bytes_text(out, "]");
        return WEIR_OK;
    }
    const char *data = whole_bytes(output, &taken);
    if (!data)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the answer");
    bool all = json_answer_elements(out, output->spec->dtype, data, count, &written);
    free(taken);
    bytes_text(out, "]");
    if (all || out->failed)
        return WEIR_OK;
    return weir_fail(err, WEIR_NON_FINITE, "output \"%s\", element %zu is not finite, which JSON cannot carry",
                     output->spec->name, written);
}

/* Appends what travels as bytes. */
static enum weir_status write_binary(struct bytes *out, const struct output *output, struct weir_error *err) {
    void *taken;
    if (output->classes > 0)
        return each_class(output, put_bytes, out) ? WEIR_OK
                                                  : weir_fail(err, WEIR_NO_MEMORY, "no memory for the answer");
    const char *data = whole_bytes(output, &taken);
    if (!data)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the answer");
    bytes_append(out, data, output->rows * output->tensor->row_bytes);
    free(taken);
    return WEIR_OK;
}

static enum weir_status write_output(struct bytes *json, struct bytes *binary, const struct output *output,
                                     struct weir_error *err) {
    enum weir_status status;
    bytes_text(json, "{\"name\":");
    bytes_json_string(json, output->spec->name, strlen(output->spec->name));
    bytes_text(json, ",\"datatype\":\"");
    bytes_text(json, output->classes > 0 ? "BYTES" : v2_datatype_text(output->spec->dtype));
    bytes_text(json, "\"");
    write_shape(json, output, batch_axis_whole(output->spec, &output->tensor->row, output->rows));
    if (output->binary) {
        size_t before = binary->size;
        status = write_binary(binary, output, err);
        bytes_text(json, ",\"parameters\":{\"binary_data_size\":");
        bytes_number(json, binary->size - before);
        bytes_text(json, "}");
    } else {
        status = write_data(json, output, err);
    }
    bytes_text(json, "}");
    return status;
}

static enum weir_status write_all(const struct v2_answer *answer, struct bytes *json, struct bytes *binary,
                                  bool *any_binary, struct weir_error *err) {
    const struct wishes *wishes = answer->wishes;
    int count = wishes->outputs ? wishes->output_count : answer->signature->output_count;
    enum weir_status status = WEIR_OK;
    bytes_text(json, "{");
    if (wishes->id) {
        bytes_text(json, "\"id\":");
        bytes_json_string(json, wishes->id, wishes->id_size);
        bytes_text(json, ",");
    }
    bytes_text(json, "\"model_name\":\""); /* a model's name needs no escapes */
    bytes_text(json, answer->model);
    bytes_text(json, "\",\"model_version\":\"");
    bytes_number(json, answer->version);
    bytes_text(json, "\",\"outputs\":[");
    for (int i = 0; i < count && status == WEIR_OK; i++) {
        struct wish wish = wishes->outputs ? wishes->outputs[i] : (struct wish){.output = i, .binary = wishes->binary};
        struct output output;
        status = describe(answer, &wish, &output, err);
        if (status != WEIR_OK)
            break;
        *any_binary |= output.binary;
        bytes_text(json, i > 0 ? "," : "");
        status = write_output(json, binary, &output, err);
    }
    bytes_text(json, "]}");
    return status;
}

enum weir_status v2_answer_write(const struct v2_answer *answer, struct bytes *out, size_t *json_bytes,
                                 struct weir_error *err) {
    size_t before = out->size;
    struct bytes binary = {.size = 0};
    bool any_binary = false;
    enum weir_status status = write_all(answer, out, &binary, &any_binary, err);
    *json_bytes = any_binary ? out->size - before : SIZE_MAX;
    if (binary.size > 0)
        bytes_append(out, binary.data, binary.size);
    if (status == WEIR_OK && (out->failed || binary.failed))
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for the answer");
    bytes_release(&binary);
    if (status != WEIR_OK)
        out->size = before;
    return status;
}
