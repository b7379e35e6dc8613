#include "tests/fakes/model_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fakes/onnx_writer.h"

static char root[64];
static char path[256];

const char *model_files_make(void) {
    strcpy(root, "/tmp/weir-models-XXXXXX");
    if (!mkdtemp(root))
        abort();
    return root;
}

void model_files_remove(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command) != 0)
        abort();
}

static const char *write_file(const char *name, const void *bytes, size_t size) {
    snprintf(path, sizeof path, "%s/%s", root, name);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/model.onnx", root, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
    return path;
}

const char *model_files_version(const char *name, int version, const char *batch) {
    static struct onnx_model model;
    const float weights[] = {1, 1, 1, -1}, bias[] = {(float)version, 0};
    char dims[32];
    snprintf(dims, sizeof dims, "%s,2", batch);
    onnx_begin(&model);
    onnx_add_input(&model, "x", dims);
    onnx_add_output(&model, "y", dims);
    onnx_add_floats(&model, "W", "2,2", weights, 4);
    onnx_add_floats(&model, "b", "2", bias, 2);
    onnx_add_node(&model, (struct onnx_node){.op = "Gemm", .inputs = "x W b", .outputs = "y", .name = "fc"});
    onnx_finish(&model, 13);
    return write_file(name, model.file.data, model.file.size);
}

const char *model_files_mixing(const char *name) {
    static struct onnx_model model;
    onnx_begin(&model);
    onnx_add_input(&model, "x", "N,2");
    onnx_add_output(&model, "y", "N,2");
    onnx_add_node(&model, (struct onnx_node){.op = "ReduceMean",
                                             .inputs = "x",
                                             .outputs = "mean",
                                             .name = "over_the_batch",
                                             .attributes = "axes:l=0 keepdims:i=1"});
    onnx_add_node(&model, (struct onnx_node){.op = "Sub", .inputs = "x mean", .outputs = "y", .name = "subtract"});
    onnx_finish(&model, 13);
    return write_file(name, model.file.data, model.file.size);
}

const char *model_files_free(const char *name) {
    static struct onnx_model model;
    const int64_t axis = 1;
    onnx_begin(&model);
    onnx_add_input(&model, "x", "N,S");
    onnx_add_output(&model, "y", "N,1");
    onnx_add_integers(&model, "axis", "1", &axis, 1);
    onnx_add_node(&model, (struct onnx_node){
                              .op = "ReduceSum", .inputs = "x axis", .outputs = "y", .attributes = "keepdims:i=1"});
    onnx_finish(&model, 13);
    return write_file(name, model.file.data, model.file.size);
}

const char *model_files_broken(const char *name, const char *bytes) {
    return write_file(name, bytes, strlen(bytes));
}
