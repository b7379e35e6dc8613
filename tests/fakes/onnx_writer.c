#include "tests/fakes/onnx_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void onnx_put(struct onnx_bytes *to, const void *bytes, size_t size) {
    assert(size <= sizeof to->data - to->size);
    if (size > 0)
        memcpy(to->data + to->size, bytes, size);
    to->size += size;
}

void onnx_put_varint(struct onnx_bytes *to, uint64_t value) {
    unsigned char byte;
    for (; value > 127; value >>= 7) {
        byte = (unsigned char)(value | 128);
        onnx_put(to, &byte, 1);
    }
    byte = (unsigned char)value;
    onnx_put(to, &byte, 1);
}

void onnx_put_number(struct onnx_bytes *to, uint32_t field, int64_t value) {
    onnx_put_varint(to, (uint64_t)field << 3);
    onnx_put_varint(to, (uint64_t)value);
}

void onnx_put_bytes(struct onnx_bytes *to, uint32_t field, const void *bytes, size_t size) {
    onnx_put_varint(to, (uint64_t)field << 3 | 2);
    onnx_put_varint(to, size);
    onnx_put(to, bytes, size);
}

void onnx_put_float(struct onnx_bytes *to, uint32_t field, float value) {
    onnx_put_varint(to, (uint64_t)field << 3 | 5);
    onnx_put(to, &value, sizeof value);
}

/* One field for each word of text. */
static void put_words(struct onnx_bytes *to, uint32_t field, const char *text) {
    char copy[512], *rest = copy, *word;
    strcpy(copy, text);
    while ((word = strtok_r(rest, " ", &rest)))
        onnx_put_bytes(to, field, strcmp(word, "-") == 0 ? "" : word, strcmp(word, "-") == 0 ? 0 : strlen(word));
}

/* "alpha:f=0.5", "axis:i=-1" or "axes:l=1,2". */
static void put_attribute(struct onnx_bytes *to, struct onnx_bytes *piece, const char *word) {
    const char *colon = strchr(word, ':'), *value = colon + 3;
    char *rest = (char *)(uintptr_t)value;
    piece->size = 0;
    onnx_put_bytes(piece, 1, word, (size_t)(colon - word));
    if (colon[1] == 'f')
        onnx_put_float(piece, 2, strtof(value, NULL));
    else if (colon[1] == 'i')
        onnx_put_number(piece, 3, strtoll(value, NULL, 10));
    else
        for (; *rest; rest += *rest == ',')
            onnx_put_number(piece, 8, strtoll(rest, &rest, 10));
    onnx_put_number(piece, 20, colon[1] == 'f' ? 1 : colon[1] == 'i' ? 2 : 7);
    onnx_put_bytes(to, 5, piece->data, piece->size);
}

void onnx_add_node(struct onnx_model *model, struct onnx_node node) {
    char copy[512], *rest = copy, *word;
    model->part.size = 0;
    put_words(&model->part, 1, node.inputs);
    put_words(&model->part, 2, node.outputs);
    if (node.name)
        onnx_put_bytes(&model->part, 3, node.name, strlen(node.name));
    onnx_put_bytes(&model->part, 4, node.op, strlen(node.op));
    strcpy(copy, node.attributes ? node.attributes : "");
    while ((word = strtok_r(rest, " ", &rest)))
        put_attribute(&model->part, &model->piece, word);
    if (node.domain)
        onnx_put_bytes(&model->part, 7, node.domain, strlen(node.domain));
    onnx_put_bytes(&model->body, 1, model->part.data, model->part.size);
}

/* A TensorProto with raw data, into part: dims as "4,3", "" for a scalar. */
void onnx_make_tensor(struct onnx_model *model, const char *name, int type, const char *dims, const void *raw,
                      size_t size) {
    char *rest = (char *)(uintptr_t)dims;
    model->part.size = 0;
    for (; *rest; rest += *rest == ',')
        onnx_put_number(&model->part, 1, strtoll(rest, &rest, 10));
    onnx_put_number(&model->part, 2, type);
    onnx_put_bytes(&model->part, 8, name, strlen(name));
    if (raw)
        onnx_put_bytes(&model->part, 9, raw, size);
}

void onnx_add_part(struct onnx_model *model, uint32_t field) {
    onnx_put_bytes(&model->body, field, model->part.data, model->part.size);
}

void onnx_add_tensor(struct onnx_model *model, const char *name, int type, const char *dims, const void *raw,
                     size_t size) {
    onnx_make_tensor(model, name, type, dims, raw, size);
    onnx_add_part(model, 5);
}

void onnx_add_floats(struct onnx_model *model, const char *name, const char *dims, const float *values, size_t count) {
    onnx_add_tensor(model, name, 1, dims, values, count * sizeof *values);
}

void onnx_add_integers(struct onnx_model *model, const char *name, const char *dims, const int64_t *values,
                       size_t count) {
    onnx_add_tensor(model, name, 7, dims, values, count * sizeof *values);
}

void onnx_add_input(struct onnx_model *model, const char *name, const char *dims) {
    onnx_add_port(model, 11, name, 1, dims);
}

void onnx_add_output(struct onnx_model *model, const char *name, const char *dims) {
    onnx_add_port(model, 12, name, 1, dims);
}

void onnx_add_port(struct onnx_model *model, uint32_t field, const char *name, int type, const char *dims) {
    static struct onnx_bytes shape;
    char copy[256], *rest = copy, *word;
    shape.size = model->part.size = 0;
    strcpy(copy, dims);
    while ((word = strtok_r(rest, ",", &rest))) {
        model->piece.size = 0;
        if (*word >= '0' && *word <= '9')
            onnx_put_number(&model->piece, 1, strtoll(word, NULL, 10));
        else
            onnx_put_bytes(&model->piece, 2, word, strlen(word));
        onnx_put_bytes(&shape, 1, model->piece.data, model->piece.size);
    }
    model->piece.size = 0; /* TypeProto.Tensor, then TypeProto, then ValueInfoProto */
    onnx_put_number(&model->piece, 1, type);
    onnx_put_bytes(&model->piece, 2, shape.data, shape.size);
    shape.size = 0;
    onnx_put_bytes(&shape, 1, model->piece.data, model->piece.size);
    onnx_put_bytes(&model->part, 1, name, strlen(name));
    onnx_put_bytes(&model->part, 2, shape.data, shape.size);
    onnx_put_bytes(&model->body, field, model->part.data, model->part.size);
}

void onnx_finish(struct onnx_model *model, int opset) {
    model->file.size = model->part.size = 0;
    onnx_put_number(&model->part, 2, opset);
    onnx_put_number(&model->file, 1, 8);
    onnx_put_bytes(&model->file, 2, "test", 4);
    onnx_put_bytes(&model->file, 7, model->body.data, model->body.size);
    onnx_put_bytes(&model->file, 8, model->part.data, model->part.size);
}

void onnx_begin(struct onnx_model *model) {
    model->body.size = model->file.size = model->part.size = model->piece.size = 0;
}
