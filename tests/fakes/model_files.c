#include "tests/fakes/model_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/npy.h"
#include "tests/fakes/onnx_writer.h"
#include "tests/fakes/temp_dir.h"

static char path[256];

const char *model_files_make(void) {
    temp_dir_make();
    return temp_dir;
}

void model_files_remove(void) {
    temp_dir_remove();
}

/* In one step, so that nobody sees half of it. */
static const char *write_file(const char *name, const void *bytes, size_t size) {
    char half[256 + 8];
    snprintf(path, sizeof path, "%s/%s", temp_dir, name);
    mkdir(path, 0755);
    snprintf(half, sizeof half, "%s/.half", temp_dir);
    snprintf(path, sizeof path, "%s/%s/model.onnx", temp_dir, name);
    FILE *file = fopen(half, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0 || rename(half, path) != 0)
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

const char *model_files_non_finite(const char *name) {
    static struct onnx_model model;
    const float hundred = 100;
    onnx_begin(&model);
    onnx_add_input(&model, "x", "N,2");
    onnx_add_output(&model, "y", "N,2");
    onnx_add_floats(&model, "c", "1", &hundred, 1);
    onnx_add_node(&model, (struct onnx_node){.op = "Sub", .inputs = "x c", .outputs = "d", .name = "less"});
    onnx_add_node(&model, (struct onnx_node){.op = "Log", .inputs = "d", .outputs = "y", .name = "log"});
    onnx_finish(&model, 13);
    return write_file(name, model.file.data, model.file.size);
}

static void write_pair(const char *name, const char *file_name, float a, float b) {
    char head[NPY_HEAD_ROOM];
    float pair[] = {a, b};
    struct tensor_shape shape = {.rank = 2, .dims = {1, 2}};
    size_t size = npy_write_head(TENSOR_F32, &shape, head, sizeof head);
    snprintf(path, sizeof path, "%s/%s", temp_dir, name);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/samples", temp_dir, name);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/samples/%s", temp_dir, name, file_name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(head, 1, size, file) != size || fwrite(pair, sizeof pair, 1, file) != 1 || fclose(file) != 0)
        abort();
}

void model_files_samples(const char *name, int version) {
    write_pair(name, "input.x.npy", 1, 2);
    write_pair(name, "output.y.npy", (float)(3 + version), -1);
}

void model_files_delete(const char *name) {
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s/%s", temp_dir, name);
    shell(command);
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
