#include "engine/model/samples.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/npy.h"

enum { NAME_ROOM = 256, LINE_ROOM = 1024, PATH_ROOM = PATH_MAX + 2 * NAME_ROOM, UNKNOWN = -1 };

/* What samples_load works with. files: the name of each tensor's file, inputs first, NULL until it was seen. */
struct loading {
    const char *directory; /* samples/ */
    const struct signature *signature;
    struct samples *samples;
    char **files;
    int64_t rows; /* UNKNOWN until a file said it; so are the free sizes in samples->dims */
    size_t bytes_left;
    bool has_tolerance;
};

static bool is_input(const struct loading *loading, int index) {
    return index < loading->signature->input_count;
}

/* The tensor of an index into loading->files. */
static const struct tensor_spec *spec_of(const struct loading *loading, int index) {
    const struct signature *signature = loading->signature;
    return is_input(loading, index) ? &signature->inputs[index] : &signature->outputs[index - signature->input_count];
}

static int tensor_count(const struct loading *loading) {
    return loading->signature->input_count + loading->signature->output_count;
}

static enum weir_status no_memory(struct weir_error *err) {
    return weir_fail(err, WEIR_NO_MEMORY, "no memory for samples");
}

static int hex_digit(char letter) {
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
           : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                            : -1;
}

/* Is this, with %XX read as a byte, the name? A % without two digits of a byte other than 0 stands for itself. */
static bool names(const char *text, size_t length, const char *name) {
    for (const char *end = text + length; text < end; name++) {
        int high = *text == '%' && end - text >= 3 ? hex_digit(text[1]) : -1;
        int low = high >= 0 ? hex_digit(text[2]) : -1;
        int byte = low >= 0 ? high * 16 + low : 0;
        text += byte ? 3 : 1;
        if (*name != (char)(byte ? byte : text[-1]) || !*name)
            return false;
    }
    return !*name;
}

/* ---- which file is what ---- */

/* Cuts the prefix and ".npy" off a file's name. Returns false if it has not both, or nothing between. */
static bool cut(const char *file, const char *prefix, const char **name, size_t *length) {
    size_t before = strlen(prefix), whole = strlen(file);
    if (whole <= before + 4 || memcmp(file, prefix, before) != 0 || strcmp(file + whole - 4, ".npy") != 0)
        return false;
    *name = file + before;
    *length = whole - before - 4;
    return true;
}

static enum weir_status take_file(struct loading *loading, const char *file, struct weir_error *err) {
    const char *name;
    size_t length;
    int inputs = loading->signature->input_count;
    if (*file == '.' || strncmp(file, "README", 6) == 0)
        return WEIR_OK;
    if (strcmp(file, "tolerance") == 0) {
        loading->has_tolerance = true;
        return WEIR_OK;
    }
    bool input = cut(file, "input.", &name, &length);
    if (!input && !cut(file, "output.", &name, &length))
        return weir_fail(err, WEIR_INVALID, "%s/%s: is neither input.NAME.npy, output.NAME.npy nor tolerance",
                         loading->directory, file);
    int index = input ? 0 : inputs, end = input ? inputs : tensor_count(loading);
    while (index < end && !names(name, length, spec_of(loading, index)->name))
        index++;
    if (index == end)
        return weir_fail(err, WEIR_INVALID, "%s/%s: the model has no such %s", loading->directory, file,
                         input ? "input" : "output");
    if (loading->files[index])
        return weir_fail(err, WEIR_INVALID, "%s/%s: %s is there already", loading->directory, file,
                         loading->files[index]);
    loading->files[index] = strdup(file);
    return loading->files[index] ? WEIR_OK : no_memory(err);
}

/* Sorted, so that of several faults always the same is told. *found: there is such a directory. */
static enum weir_status find_files(struct loading *loading, bool *found, struct weir_error *err) {
    struct dirent **entries = NULL;
    enum weir_status status = WEIR_OK;
    int count = scandir(loading->directory, &entries, NULL, alphasort);
    *found = count >= 0;
    if (count < 0)
        return errno == ENOENT ? WEIR_OK : weir_fail(err, WEIR_IO, "%s: %s", loading->directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == WEIR_OK)
            status = take_file(loading, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* ---- the arrays ---- */

/* The shape that a tensor's file must have; UNKNOWN where no file said it yet, or only the model knows. */
static struct tensor_shape expected_shape(const struct loading *loading, const struct tensor_spec *spec) {
    struct tensor_shape shape = {.rank = 0};
    if (spec->batch_axis >= 0)
        shape.dims[shape.rank++] = loading->rows;
    for (int i = 0; i < spec->shape.rank; i++) {
        int64_t dim = spec->shape.dims[i];
        int free_index = (int)(TENSOR_FREE(0) - dim);
        if (i == spec->batch_axis)
            continue;
        bool is_free = dim <= TENSOR_FREE(0) && free_index < loading->samples->dims.free_count;
        shape.dims[shape.rank++] = is_free ? loading->samples->dims.free[free_index] : dim < 0 ? UNKNOWN : dim;
    }
    return shape;
}

/* Keeps what a file's shape says about rows and free sizes. Returns false if it is not the expected shape. */
static bool learn_shape(struct loading *loading, const struct tensor_spec *spec, const struct tensor_shape *shape) {
    struct tensor_shape expected = expected_shape(loading, spec);
    int at = 0;
    if (shape->rank != expected.rank)
        return false;
    if (spec->batch_axis >= 0) {
        if (loading->rows != UNKNOWN && shape->dims[0] != loading->rows)
            return false;
        loading->rows = shape->dims[at++];
    }
    for (int i = 0; i < spec->shape.rank; i++) {
        int64_t dim = spec->shape.dims[i];
        int free_index = (int)(TENSOR_FREE(0) - dim);
        if (i == spec->batch_axis)
            continue;
        int64_t *size = dim <= TENSOR_FREE(0) && free_index < loading->samples->dims.free_count
                            ? &loading->samples->dims.free[free_index]
                            : &expected.dims[at];
        if (*size != UNKNOWN && *size != shape->dims[at])
            return false;
        *size = shape->dims[at++];
    }
    return true;
}

static enum weir_status other_shape(const struct loading *loading, const char *path, const struct tensor_spec *spec,
                                    const struct npy *npy, struct weir_error *err) {
    char expected[160], got[160];
    struct tensor_shape shape = expected_shape(loading, spec);
    tensor_shape_text(&shape, expected, sizeof expected);
    if (!npy)
        return weir_fail(err, WEIR_INVALID, "%s: is missing, expected %s %s", path, tensor_dtype_text(spec->dtype),
                         expected);
    return weir_fail(err, WEIR_INVALID, "%s: got %s %s, expected %s %s", path, tensor_dtype_text(npy->dtype),
                     tensor_shape_text(&npy->shape, got, sizeof got), tensor_dtype_text(spec->dtype), expected);
}

static enum weir_status load_tensor(struct loading *loading, int index, struct weir_error *err) {
    char path[PATH_ROOM], name[NAME_ROOM];
    struct npy npy;
    const struct tensor_spec *spec = spec_of(loading, index);
    const char *file = loading->files[index];
    if (!file) {
        snprintf(path, sizeof path, "%s/%s.%s.npy", loading->directory, is_input(loading, index) ? "input" : "output",
                 samples_file_name(spec->name, name, sizeof name));
        return other_shape(loading, path, spec, NULL, err);
    }
    snprintf(path, sizeof path, "%s/%s", loading->directory, file);
    enum weir_status status =
        npy_load(path, loading->bytes_left, spec->dtype == TENSOR_BF16 ? NPY_VOID_BF16 : NPY_VOID_REFUSED, &npy, err);
    if (status != WEIR_OK)
        return status;
    if (npy.dtype != spec->dtype || !learn_shape(loading, spec, &npy.shape)) {
        status = other_shape(loading, path, spec, &npy, err);
    } else if (spec->batch_axis >= 0 && (loading->rows < 1 || loading->rows > SAMPLES_MOST_ROWS)) {
        status = weir_fail(err, loading->rows < 1 ? WEIR_INVALID : WEIR_TOO_LARGE, "%s: %lld rows, expected 1 to %d",
                           path, (long long)loading->rows, SAMPLES_MOST_ROWS);
    }
    if (status != WEIR_OK) {
        npy_release(&npy);
        return status;
    }
    struct samples *samples = loading->samples;
    struct job_tensor *tensor =
        is_input(loading, index) ? &samples->inputs[index] : &samples->outputs[index - loading->signature->input_count];
    int has_rows = spec->batch_axis >= 0;
    *tensor = (struct job_tensor){.data = npy.memory,
                                  .row_bytes = has_rows ? npy.data_bytes / (size_t)loading->rows : npy.data_bytes,
                                  .row = {.rank = npy.shape.rank - has_rows}};
    memcpy(tensor->row.dims, npy.shape.dims + has_rows, (size_t)tensor->row.rank * sizeof tensor->row.dims[0]);
    loading->bytes_left -= npy.head_bytes + npy.data_bytes;
    return WEIR_OK;
}

/* ---- tolerances ---- */

static bool read_number(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && *out >= 0;
}

/* Takes a line into tolerances, or into others if it is for "*". Returns what is wrong with it, or NULL. */
static const char *take_line(char *line, const struct loading *loading, struct samples_tolerance *others) {
    char *rest = NULL, *name = strtok_r(line, " \t\r\n", &rest);
    struct samples_tolerance *tolerance = NULL, read;
    if (!name || *name == '#')
        return NULL;
    char *absolute = strtok_r(NULL, " \t\r\n", &rest), *relative = strtok_r(NULL, " \t\r\n", &rest);
    if (!relative || strtok_r(NULL, " \t\r\n", &rest))
        return "expected NAME ABSOLUTE RELATIVE";
    if (!read_number(absolute, &read.absolute) || !read_number(relative, &read.relative))
        return "expected two numbers of 0 or more behind the name";
    if (strcmp(name, "*") == 0)
        tolerance = others;
    for (int i = 0; i < loading->samples->output_count && !tolerance; i++)
        if (names(name, strlen(name), loading->signature->outputs[i].name))
            tolerance = &loading->samples->tolerances[i];
    if (!tolerance)
        return "the model has no such output";
    if (tolerance->absolute >= 0)
        return "this name is there already";
    *tolerance = read;
    return NULL;
}

static enum weir_status load_tolerance(struct loading *loading, struct weir_error *err) {
    char path[PATH_ROOM], line[LINE_ROOM];
    struct samples_tolerance others = {.absolute = -1};
    const char *fault = NULL;
    snprintf(path, sizeof path, "%s/tolerance", loading->directory);
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hold us up */
    FILE *file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0)
        close(fd);
    if (!file)
        return weir_fail(err, WEIR_IO, "%s: %s", path, fd >= 0 ? "is not a file" : strerror(errno));
    int number = 0;
    while (!fault && fgets(line, sizeof line, file)) {
        number++;
        fault = strlen(line) == sizeof line - 1 ? "it is too long" : take_line(line, loading, &others);
    }
    enum weir_status status = WEIR_OK;
    if (fault)
        status = weir_fail(err, WEIR_INVALID, "%s: line %d: %s", path, number, fault);
    else if (ferror(file))
        status = weir_fail(err, WEIR_IO, "%s: cannot be read", path);
    fclose(file);
    for (int i = 0; i < loading->samples->output_count; i++)
        if (loading->samples->tolerances[i].absolute < 0)
            loading->samples->tolerances[i] = others;
    return status;
}

struct samples_tolerance samples_allow(const struct samples *samples, int output, enum tensor_dtype dtype,
                                       enum backend_precision precision) {
    /* Of a network of some tens of layers; one layer is off by 3e-4 in tf32 and fp16 and by 2e-3 in bf16, relative to
     * the largest, and errors grow with the square root of the layers. */
    static const double by_precision[BACKEND_PRECISIONS] = {
        [BACKEND_FP32] = 1e-5, [BACKEND_TF32] = 5e-3, [BACKEND_FP16] = 5e-3,
        [BACKEND_BF16] = 3e-2, [BACKEND_INT8] = 0.1,
    };
    struct samples_tolerance given = samples->tolerances[output];
    double most = by_precision[precision];
    if (given.absolute >= 0)
        return given;
    if (dtype == TENSOR_F16 && most < 1e-3) /* a unit in the last place is 2^-10 at most */
        most = 1e-3;
    if (dtype == TENSOR_BF16 && most < 1e-2) /* 2^-7 */
        most = 1e-2;
    bool is_number = dtype == TENSOR_F32 || dtype == TENSOR_F64 || dtype == TENSOR_F16 || dtype == TENSOR_BF16;
    return is_number ? (struct samples_tolerance){most, most} : (struct samples_tolerance){0, 0};
}

/* ---- all of it ---- */

static enum weir_status make_samples(struct loading *loading, struct weir_error *err) {
    const struct signature *signature = loading->signature;
    struct samples *samples = calloc(1, sizeof *samples);
    loading->samples = samples;
    loading->files = calloc((size_t)tensor_count(loading) + 1, sizeof *loading->files);
    if (!samples || !loading->files)
        return no_memory(err);
    samples->inputs = calloc((size_t)signature->input_count + 1, sizeof *samples->inputs);
    samples->outputs = calloc((size_t)signature->output_count + 1, sizeof *samples->outputs);
    samples->tolerances = calloc((size_t)signature->output_count + 1, sizeof *samples->tolerances);
    if (!samples->inputs || !samples->outputs || !samples->tolerances)
        return no_memory(err);
    samples->input_count = signature->input_count;
    samples->output_count = signature->output_count;
    samples->dims.free_count = signature->free_count;
    for (int i = 0; i < signature->free_count; i++)
        samples->dims.free[i] = UNKNOWN;
    for (int i = 0; i < signature->output_count; i++)
        samples->tolerances[i].absolute = -1;
    return WEIR_OK;
}

/* Hands the names over: the files' slots are left empty. */
static void keep_output_files(struct loading *loading) {
    int inputs = loading->signature->input_count;
    loading->samples->output_files = loading->files;
    for (int i = 0; i < inputs; i++)
        free(loading->files[i]);
    memmove(loading->files, loading->files + inputs, (size_t)loading->signature->output_count * sizeof *loading->files);
    loading->files = NULL;
}

static enum weir_status load(const char *directory, const struct signature *signature, bool without_outputs,
                             struct samples **out, struct weir_error *err) {
    struct loading loading = {
        .directory = directory, .signature = signature, .rows = UNKNOWN, .bytes_left = SAMPLES_MOST_BYTES};
    bool found = false;
    enum weir_status status = make_samples(&loading, err);
    if (status == WEIR_OK)
        status = find_files(&loading, &found, err);
    int tensors = without_outputs ? signature->input_count : tensor_count(&loading);
    for (int i = 0; found && i < tensors && status == WEIR_OK; i++)
        status = load_tensor(&loading, i, err);
    if (status == WEIR_OK && loading.has_tolerance && !without_outputs)
        status = load_tolerance(&loading, err);
    if (status == WEIR_OK && found && without_outputs)
        keep_output_files(&loading);
    if (status == WEIR_OK && found) {
        loading.samples->dims.rows = loading.rows == UNKNOWN ? 1 : (uint32_t)loading.rows;
        for (int i = 0; i < signature->free_count; i++)
            if (loading.samples->dims.free[i] == UNKNOWN) /* it is in no tensor's shape */
                loading.samples->dims.free[i] = 1;
        *out = loading.samples;
        loading.samples = NULL;
    } else if (status == WEIR_OK) {
        *out = NULL;
    }
    for (int i = 0; loading.files && i < tensor_count(&loading); i++)
        free(loading.files[i]);
    free(loading.files);
    samples_destroy(loading.samples);
    return status;
}

void samples_destroy(struct samples *samples) {
    if (!samples)
        return;
    for (int i = 0; i < samples->input_count; i++)
        free(samples->inputs[i].data);
    for (int i = 0; i < samples->output_count; i++)
        free(samples->outputs[i].data);
    for (int i = 0; samples->output_files && i < samples->output_count; i++)
        free(samples->output_files[i]);
    free(samples->output_files);
    free(samples->inputs);
    free(samples->outputs);
    free(samples->tolerances);
    free(samples);
}

enum weir_status samples_load(const char *version_directory, const struct signature *signature, struct samples **out,
                              struct weir_error *err) {
    char directory[PATH_MAX];
    if ((size_t)snprintf(directory, sizeof directory, "%s/samples", version_directory) >= sizeof directory)
        return weir_fail(err, WEIR_INVALID, "%.200s: the path is too long", version_directory);
    return samples_load_from(directory, signature, out, err);
}

enum weir_status samples_load_from(const char *directory, const struct signature *signature, struct samples **out,
                                   struct weir_error *err) {
    return load(directory, signature, false, out, err);
}

enum weir_status samples_load_inputs(const char *directory, const struct signature *signature, struct samples **out,
                                     struct weir_error *err) {
    enum weir_status status = load(directory, signature, true, out, err);
    return status != WEIR_OK || *out ? status
                                     : weir_fail(err, WEIR_NOT_FOUND, "%s: there is no such directory", directory);
}
