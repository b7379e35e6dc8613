#include "engine/graph/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/graph/arena.h"
#include "engine/graph/constant.h"
#include "engine/graph/fold.h"
#include "engine/graph/fuse.h"
#include "engine/graph/graph.h"
#include "engine/graph/lower.h"
#include "engine/graph/node.h"
#include "engine/graph/onnx_reader.h"
#include "engine/graph/plan_parts.h"

static enum weir_status make_specs(const struct graph *graph, const struct graph_port *ports, int count,
                                   struct tensor_spec **out, int *out_count, struct weir_error *err) {
    struct tensor_spec *specs = calloc((size_t)count, sizeof *specs);
    *out = specs;
    for (int i = 0; specs && i < count; i++) {
        const struct graph_value *value = &graph->values[ports[i].value];
        specs[i].name = strdup(value->name);
        specs[i].dtype = TENSOR_F32;
        specs[i].shape = value->shape;
        *out_count = i + 1;
        if (!specs[i].name)
            specs = NULL;
        else if (!tensor_spec_measure(&specs[i]))
            return weir_fail(err, WEIR_TOO_LARGE, "'%.64s' is too large", value->name);
    }
    return specs ? WEIR_OK : weir_fail(err, WEIR_NO_MEMORY, "no memory for the signature");
}

static bool count_operator(struct plan_operator *operators, int *count, const char *name, struct region *region) {
    for (int i = 0; i < *count; i++)
        if (strcmp(operators[i].name, name) == 0) {
            operators[i].count++;
            return true;
        }
    operators[*count] = (struct plan_operator){region_copy_text(region, name, strlen(name)), 1};
    return operators[(*count)++].name != NULL;
}

static size_t count_parameters(struct graph *graph) {
    size_t sum = 0;
    for (int i = 0; i < graph->node_count; i++)
        for (int j = 0; !graph->nodes[i].dead && j < graph->nodes[i].input_count; j++) {
            struct graph_value *value = node_input(graph, &graph->nodes[i], j);
            if (!value || !value->constant || !constant_is_float(value->constant) || value->producer == INT_MAX)
                continue;
            sum += value->constant->elements;
            value->producer = INT_MAX; /* counted */
        }
    return sum;
}

static enum weir_status note_facts(struct graph *graph, struct plan *plan, struct weir_error *err) {
    struct region *region = &plan->program.region;
    struct plan_facts *facts = &plan->facts;
    struct plan_operator *operators = region_take(region, (size_t)graph->node_count, sizeof *operators);
    facts->producer = region_copy_text(region, graph->producer, strlen(graph->producer));
    bool whole = operators && facts->producer;
    for (int i = 0; whole && i < graph->node_count; i++)
        if (!graph->nodes[i].dead)
            whole = count_operator(operators, &facts->operator_count, graph->nodes[i].op, region);
    if (!whole)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the plan");
    facts->operators = operators;
    facts->opset = graph->opset;
    facts->ir_version = graph->ir_version;
    facts->parameters = count_parameters(graph);
    return WEIR_OK;
}

static enum weir_status make_plan(struct graph *graph, struct plan *plan, struct weir_error *err) {
    struct signature *signature = &plan->signature;
    if (fold_dead_code(graph, err) != WEIR_OK || fold_constants(graph, err) != WEIR_OK ||
        fold_dead_code(graph, err) != WEIR_OK || lower_graph(graph, &plan->program, err) != WEIR_OK)
        return err->status;
    if (!fuse_dense(&plan->program))
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the plan");
    fuse_in_place(&plan->program);
    if (!arena_place(&plan->program))
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the plan");
    plan->fixed_batch = graph->fixed_batch;
    if (make_specs(graph, graph->inputs, graph->input_count, &signature->inputs, &signature->input_count, err) !=
            WEIR_OK ||
        make_specs(graph, graph->outputs, graph->output_count, &signature->outputs, &signature->output_count, err) !=
            WEIR_OK)
        return err->status;
    return note_facts(graph, plan, err);
}

enum weir_status plan_read(const void *bytes, size_t size, int directory, struct plan **out, struct weir_error *err) {
    struct graph *graph = graph_create();
    struct plan *plan = calloc(1, sizeof *plan);
    enum weir_status status = WEIR_OK;
    if (!graph || !plan)
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for a plan");
    else if (onnx_reader_read(graph, bytes, size, directory, err) != WEIR_OK || make_plan(graph, plan, err) != WEIR_OK)
        status = err->status;
    graph_destroy(graph);
    if (status != WEIR_OK) {
        plan_destroy(plan);
        return status;
    }
    *out = plan;
    return WEIR_OK;
}

/* The whole file, read and not mapped: a file that is cut short under us must not kill the process. */
static enum weir_status read_file(const char *path, unsigned char **out, size_t *out_size, struct weir_error *err) {
    struct stat stat;
    unsigned char *bytes = NULL;
    enum weir_status status = WEIR_OK;
    size_t done = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 || fstat(file, &stat) != 0) {
        status = weir_fail(err, WEIR_IO, "%s", strerror(errno));
        goto out;
    }
    if (!S_ISREG(stat.st_mode)) {
        status = weir_fail(err, WEIR_INVALID, "it is not a regular file");
        goto out;
    }
    if (stat.st_size <= 0 || stat.st_size > INT_MAX) { /* protobuf's limit */
        status = weir_fail(err, stat.st_size <= 0 ? WEIR_INVALID : WEIR_TOO_LARGE,
                           "it has %lld bytes; supported: 1 to %d", (long long)stat.st_size, INT_MAX);
        goto out;
    }
    bytes = malloc((size_t)stat.st_size);
    if (!bytes) {
        status = weir_fail(err, WEIR_NO_MEMORY, "no memory for its %lld bytes", (long long)stat.st_size);
        goto out;
    }
    while (done < (size_t)stat.st_size) {
        ssize_t n = pread(file, bytes + done, (size_t)stat.st_size - done, (off_t)done);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            status = weir_fail(err, WEIR_IO, "%s", n < 0 ? strerror(errno) : "it became shorter while it was read");
            goto out;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    *out = bytes;
    *out_size = done;
    bytes = NULL;
out:
    free(bytes);
    if (file >= 0)
        close(file);
    return status;
}

static int open_directory_of(const char *path) {
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    if (size >= sizeof directory)
        return -1;
    memcpy(directory, path, size);
    directory[size] = 0;
    return open(size > 0 ? directory : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

enum weir_status plan_load(const char *path, struct plan **out, struct weir_error *err) {
    struct weir_error local;
    unsigned char *bytes = NULL;
    size_t size = 0;
    err = err ? err : &local;
    int directory = open_directory_of(path);
    if (read_file(path, &bytes, &size, err) == WEIR_OK) /* OK leaves err as it was */
        err->status = plan_read(bytes, size, directory, out, err);
    if (err->status != WEIR_OK)
        weir_fail_in(err, "%.200s", path);
    free(bytes);
    if (directory >= 0)
        close(directory);
    return err->status;
}

void plan_destroy(struct plan *plan) {
    if (!plan)
        return;
    signature_release(&plan->signature);
    program_release(&plan->program);
    free(plan);
}

const struct signature *plan_signature(const struct plan *plan) {
    return &plan->signature;
}

uint32_t plan_fixed_batch(const struct plan *plan) {
    return plan->fixed_batch;
}
