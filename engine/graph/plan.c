#include "engine/graph/plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/graph/constant.h"
#include "engine/graph/fuse.h"
#include "engine/graph/independence.h"
#include "engine/graph/inline.h"
#include "engine/graph/liveness.h"
#include "engine/graph/lower.h"
#include "engine/graph/node.h"
#include "engine/graph/onnx_reader.h"
#include "engine/graph/operators.h"
#include "engine/graph/patterns.h"
#include "engine/graph/plan_file.h"
#include "engine/graph/plan_parts.h"
#include "engine/graph/ports.h"
#include "engine/graph/weights.h"

/* How many rows the proof of their independence is made with: primes, which no dimension of a network is a multiple of
 * by chance, and one more for files whose batch is fixed at one of them. */
static const uint32_t proof_rows[] = {11, 13, 17};

static bool count_operator(struct plan_operator *operators, int *count, const char *name, struct region *region) {
    for (int i = 0; i < *count; i++)
        if (strcmp(operators[i].name, name) == 0) {
            operators[i].count++;
            return true;
        }
    operators[*count] = (struct plan_operator){region_copy_text(region, name, strlen(name)), 1};
    return operators[(*count)++].name != NULL;
}

static enum weir_status note_facts(struct plan *plan, struct weir_error *err) {
    struct graph *graph = plan->graph;
    struct plan_facts *facts = &plan->facts;
    struct plan_operator *operators = region_take(&graph->region, (size_t)graph->node_count + 1, sizeof *operators);
    bool *counted = calloc((size_t)graph->value_count + 1, sizeof *counted);
    bool whole = operators && counted;
    for (int i = 0; whole && i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        if (node->dead)
            continue;
        whole = count_operator(operators, &facts->operator_count, node->op, &graph->region);
        for (int j = 0; j < node->input_count; j++) {
            const struct graph_value *value = node_input(graph, node, j);
            if (!value || !value->constant || !constant_is_float(value->constant) || counted[node->inputs[j]])
                continue;
            counted[node->inputs[j]] = true;
            facts->parameters += value->constant->elements;
        }
    }
    free(counted);
    if (!whole)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the plan");
    facts->operators = operators;
    facts->producer = graph->producer;
    facts->opset = graph->opset;
    facts->ir_version = graph->ir_version;
    return WEIR_OK;
}

/* Conditions that do not depend on sizes, although they are computed from them: what two sets of sizes agree on. */
static enum weir_status find_conditions(struct graph *graph, bool *found, struct weir_error *err) {
    struct ports_reading readings[PORTS_MAX_READINGS];
    struct tensor_shape shapes[2][GRAPH_MAX_PORTS];
    struct signature signature = {0};
    int count;
    *found = false;
    enum weir_status status = ports_read(graph, readings, &count, err);
    if (status == WEIR_OK)
        status = ports_inputs(graph, &readings[0], &signature, err);
    for (int i = 0; status == WEIR_OK && i < signature.input_count; i++)
        for (int set = 0; set < 2; set++) {
            struct tensor_dims dims = {.rows = set == 0 ? 1 : proof_rows[0], .free_count = signature.free_count};
            for (int k = 0; k < signature.free_count; k++)
                dims.free[k] = set == 0 ? 512 : 1024;
            shapes[set][i] = tensor_spec_whole(&signature.inputs[i], &dims);
        }
    if (status == WEIR_OK)
        status = lower_conditions(graph, shapes[0], shapes[1], found, err);
    signature_release(&signature);
    return status;
}

/* Takes the branches of every If into the graph. */
static enum weir_status take_branches(struct graph *graph, struct weir_error *err) {
    for (bool changed = true; changed;) {
        bool found = false;
        struct weir_error later;
        if (lower_constants(graph, err) != WEIR_OK)
            return err->status;
        if (inline_branches(graph, &changed, err) != WEIR_OK) {
            if (err->status != WEIR_UNSUPPORTED || find_conditions(graph, &found, &later) != WEIR_OK || !found)
                return err->status;
            changed = true;
        }
        if (liveness_mark(graph, err) != WEIR_OK)
            return err->status;
    }
    return WEIR_OK;
}

/* Everything that does not depend on sizes. */
static enum weir_status simplify(struct graph *graph, struct weir_error *err) {
    if (liveness_mark(graph, err) != WEIR_OK || take_branches(graph, err) != WEIR_OK)
        return err->status;
    /* An unknown operator says more than whatever else may be wrong. */
    for (int i = 0; i < graph->node_count; i++)
        if (!graph->nodes[i].dead && operators_check(graph, &graph->nodes[i], err) != WEIR_OK)
            return err->status;
    if (patterns_apply(graph, err) != WEIR_OK || lower_constants(graph, err) != WEIR_OK)
        return err->status;
    return liveness_mark(graph, err);
}

static enum weir_status make_program(struct plan *plan, const struct signature *signature,
                                     const struct tensor_dims *dims, struct program *program, struct weir_error *err) {
    struct tensor_shape shapes[GRAPH_MAX_PORTS];
    for (int i = 0; i < signature->input_count; i++)
        shapes[i] = tensor_spec_whole(&signature->inputs[i], dims);
    pthread_mutex_lock(&plan->mutex);
    enum weir_status status = lower_graph(plan->graph, shapes, dims->rows, program, err);
    pthread_mutex_unlock(&plan->mutex);
    return status;
}

static const struct program_buffer *find_output(const struct program *program, int index) {
    for (int i = 0; i < program->buffer_count; i++)
        if (program->buffers[i].place == PROGRAM_OUTPUT && program->buffers[i].index == index)
            return &program->buffers[i];
    return NULL;
}

static bool gives_something(const struct plan *plan, const struct program *program) {
    for (int i = 0; i < plan->graph->output_count; i++)
        if (find_output(program, i)->elements == 0)
            return false;
    return true;
}

/* Finds sizes of the free dimensions that the graph takes. On failure err is what was wrong with the first ones. */
static enum weir_status find_example(struct plan *plan, const struct signature *signature, struct tensor_dims *dims,
                                     struct weir_error *err) {
    static const int64_t sizes[] = {16, 64, 32, 224, 512, 128, 256, 640, 480, 1024, 1536, 8, 4, 2, 1, 16000};
    size_t count = signature->free_count > 0 ? sizeof sizes / sizeof sizes[0] : 1;
    struct weir_error first = {.status = WEIR_OK};
    for (size_t i = 0; i < count; i++) {
        struct program program;
        struct weir_error later;
        dims->free_count = signature->free_count;
        for (int k = 0; k < signature->free_count; k++)
            dims->free[k] = sizes[i];
        enum weir_status status = make_program(plan, signature, dims, &program, &later);
        if (status == WEIR_OK && (gives_something(plan, &program) || i + 1 == count)) {
            plan->example = program;
            return WEIR_OK;
        }
        if (status == WEIR_OK)
            program_release(&program);
        else if (first.status == WEIR_OK)
            first = later;
        if (status == WEIR_NO_MEMORY)
            break;
    }
    if (first.status == WEIR_OK)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "no sizes of its free dimensions were found for which it gives results");
    *err = first;
    return first.status;
}

/* Do the rows of this program stay apart? */
static enum weir_status check_rows(const struct signature *signature, const struct program *program, uint32_t rows,
                                   struct independence_place *out, struct weir_error *err) {
    struct independence_place in[GRAPH_MAX_PORTS];
    for (int i = 0; i < signature->input_count; i++)
        in[i] = (struct independence_place){signature->inputs[i].batch_axis, 1, 1};
    return independence_check(program, rows, in, out, err);
}

/* Is an output the same for one row (the example) and for the rows of both programs, but for the dimension *axis? One
 * that all rows share has none (-1), or is repeated for each of them: then *axis becomes where. */
static bool settle_axis(const struct plan *plan, const struct program programs[2], const uint32_t rows[2], int output,
                        int *axis) {
    const struct tensor_shape *shapes[] = {&find_output(&plan->example, output)->shape,
                                           &find_output(&programs[0], output)->shape,
                                           &find_output(&programs[1], output)->shape};
    const int64_t sizes[] = {1, rows[0], rows[1]};
    for (int d = 0; *axis < 0 && d < shapes[1]->rank && shapes[2]->rank == shapes[1]->rank; d++)
        if (shapes[1]->dims[d] != shapes[2]->dims[d])
            *axis = d;
    for (int i = 0; i < 3; i++) {
        if (shapes[i]->rank != shapes[0]->rank)
            return false;
        for (int d = 0; d < shapes[i]->rank; d++)
            if (shapes[i]->dims[d] != (d == *axis ? sizes[i] : shapes[0]->dims[d]))
                return false;
    }
    return true;
}

/* Do rows stay apart, and compute the same, however many there are? Fills outputs[].batch_axis. */
static enum weir_status prove(struct plan *plan, const struct signature *signature, const struct tensor_dims *example,
                              struct ports_output *outputs, struct weir_error *err) {
    struct tensor_dims dims = *example;
    struct independence_place out[2][GRAPH_MAX_PORTS];
    struct program programs[2] = {{.steps = NULL}, {.steps = NULL}};
    uint32_t rows[2];
    enum weir_status status = WEIR_OK;
    for (int i = 0, next = 0; i < 2 && status == WEIR_OK; i++) {
        next += proof_rows[next] == plan->graph->fixed_batch;
        dims.rows = rows[i] = proof_rows[next++];
        status = make_program(plan, signature, &dims, &programs[i], err);
        if (status == WEIR_OK)
            status = check_rows(signature, &programs[i], dims.rows, out[i], err);
    }
    if (status == WEIR_OK)
        status = independence_compare(&programs[0], &programs[1], err);
    for (int i = 0; status == WEIR_OK && i < plan->graph->output_count; i++) {
        outputs[i].batch_axis = out[0][i].axis;
        if (out[0][i].axis != out[1][i].axis || !settle_axis(plan, programs, rows, i, &outputs[i].batch_axis))
            status = weir_fail(err, WEIR_UNSUPPORTED, "output %d has another shape for another number of rows", i);
    }
    program_release(&programs[0]);
    program_release(&programs[1]);
    return status;
}

/* One row at a time: the output's batch dimension is where the input's is, if its size allows it. */
static void guess_axes(const struct plan *plan, const struct signature *signature, struct ports_output *outputs) {
    bool batched = signature->input_count > 0 && signature->inputs[0].batch_axis >= 0;
    for (int i = 0; i < plan->graph->output_count; i++) {
        const struct program_buffer *buffer = find_output(&plan->example, i);
        outputs[i].batch_axis = batched && buffer->shape.rank > 0 && buffer->shape.dims[0] == 1 ? 0 : -1;
    }
}

/* Does the file call that dimension a batch, or nothing that speaks against it? */
static bool sounds_like_batch(const struct graph *graph, const struct ports_reading *reading) {
    const char *name = reading->name;
    if (reading->is_fixed) /* another one means what it says: results for just so many rows */
        return graph->fixed_batch == 1;
    return reading->every_first || !name[0] || strncmp(name, "unk__", 5) == 0 || ports_names_batch(name);
}

static void note_fixed_batch(struct graph *graph) {
    for (int i = 0; i < graph->input_count && graph->fixed_batch == 0; i++) {
        const struct tensor_shape *shape = &graph->inputs[i].shape;
        if (shape->rank > 0)
            graph->fixed_batch = shape->dims[0] > 0 && shape->dims[0] < UINT32_MAX ? (uint32_t)shape->dims[0] : 0;
        if (shape->rank > 0)
            return;
    }
}

/* Tries one reading of the inputs. *good: it works and rows stay apart, or there is no batch in it. On OK the plan has
 * the example and the signature's inputs, and outputs their axes. */
static enum weir_status try_reading(struct plan *plan, const struct ports_reading *reading,
                                    struct ports_output *outputs, bool *good, struct weir_error *err) {
    struct signature *signature = &plan->signature;
    struct weir_error why;
    plan->graph->fixed_batch = 0; /* else shapes would be changed for a batch that is not in them */
    if (reading->is_fixed)
        note_fixed_batch(plan->graph);
    plan->example_dims = (struct tensor_dims){.rows = 1};
    if (ports_inputs(plan->graph, reading, signature, err) != WEIR_OK ||
        find_example(plan, signature, &plan->example_dims, err) != WEIR_OK)
        return err->status;
    plan->max_rows = UINT32_MAX;
    plan->max_rows_reason[0] = 0;
    *good = true;
    if (!reading->has_batch) {
        plan->max_rows = 1;
        guess_axes(plan, signature, outputs);
        snprintf(plan->max_rows_reason, sizeof plan->max_rows_reason, "no dimension of its inputs is a batch");
    } else if (prove(plan, signature, &plan->example_dims, outputs, &why) != WEIR_OK) {
        *good = false;
        plan->max_rows = 1;
        guess_axes(plan, signature, outputs);
        snprintf(plan->max_rows_reason, sizeof plan->max_rows_reason, "%.300s", why.text);
    }
    return WEIR_OK;
}

static void forget(struct plan *plan) {
    signature_release(&plan->signature);
    program_release(&plan->example);
}

static enum weir_status finish_signature(struct plan *plan, struct ports_output *outputs, struct weir_error *err) {
    for (int i = 0; i < plan->graph->output_count; i++) {
        const struct program_buffer *buffer = find_output(&plan->example, i);
        outputs[i].shape = buffer->shape;
        outputs[i].dtype = buffer->dtype;
    }
    return ports_outputs(plan->graph, &plan->example_dims, outputs, &plan->signature, err);
}

/* Takes the first reading under which the graph works and rows stay apart; failing that, the first that works one row
 * at a time and sounds like a batch; failing that, the one without a batch. */
static enum weir_status choose_reading(struct plan *plan, struct weir_error *err) {
    struct ports_reading readings[PORTS_MAX_READINGS];
    struct ports_output outputs[GRAPH_MAX_PORTS];
    struct weir_error first = {.status = WEIR_OK};
    int count, fallback = -1;
    if (ports_read(plan->graph, readings, &count, err) != WEIR_OK)
        return err->status;
    for (int i = 0; i < count; i++) {
        bool last = i + 1 == count, good = false;
        int taken = last && fallback >= 0 ? fallback : i;
        struct weir_error later;
        if (try_reading(plan, &readings[taken], outputs, &good, &later) != WEIR_OK) {
            forget(plan);
            if (first.status == WEIR_OK)
                first = later;
            continue;
        }
        if (good || last) {
            plan->fixed_batch = readings[taken].is_fixed ? plan->graph->fixed_batch : 0;
            return finish_signature(plan, outputs, err);
        }
        if (fallback < 0 && sounds_like_batch(plan->graph, &readings[i]))
            fallback = i;
        forget(plan);
    }
    *err = first;
    return first.status;
}

static enum weir_status check_ports(const struct graph *graph, struct weir_error *err) {
    if (graph->output_count == 0)
        return weir_fail(err, WEIR_INVALID, "the model has no outputs");
    if (graph->input_count == 0)
        return weir_fail(err, WEIR_UNSUPPORTED, "the model has no inputs");
    if (graph->input_count > GRAPH_MAX_PORTS || graph->output_count > GRAPH_MAX_PORTS)
        return weir_fail(err, WEIR_UNSUPPORTED, "the model has %d inputs and %d outputs; supported: up to %d",
                         graph->input_count, graph->output_count, GRAPH_MAX_PORTS);
    return WEIR_OK;
}

/* Before constants are converted. */
static bool has_float64(const struct graph *graph) {
    enum tensor_dtype dtype;
    for (int i = 0; i < graph->input_count; i++)
        if (tensor_dtype_from_onnx(graph->inputs[i].onnx_type, &dtype) && dtype == TENSOR_F64)
            return true;
    for (int i = 0; i < graph->value_count; i++)
        if (graph->values[i].constant && graph->values[i].constant->dtype == TENSOR_F64)
            return true;
    return false;
}

static enum weir_status make_plan(struct plan *plan, struct weir_error *err) {
    struct graph *graph = plan->graph;
    if (check_ports(graph, err) != WEIR_OK)
        return err->status;
    note_fixed_batch(graph);
    plan->narrows = has_float64(graph);
    if (simplify(graph, err) != WEIR_OK || choose_reading(plan, err) != WEIR_OK)
        return err->status;
    (void)fuse_program(&plan->example);
    if (note_facts(plan, err) != WEIR_OK)
        return err->status;
    return weights_sweep(graph, err);
}

/* file: the bytes are the plan's own. */
static enum weir_status read_plan(struct plan *plan, const void *bytes, size_t size, int directory,
                                  struct weir_error *err) {
    plan->graph = graph_create();
    if (!plan->graph)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a plan");
    if (plan->file) {
        plan->graph->file = plan->file;
        plan->graph->file_size = plan->file_size;
    }
    if (onnx_reader_read(plan->graph, bytes, size, directory, err) != WEIR_OK)
        return err->status;
    return make_plan(plan, err);
}

static struct plan *create(void) {
    struct plan *plan = calloc(1, sizeof *plan);
    if (plan)
        pthread_mutex_init(&plan->mutex, NULL);
    return plan;
}

enum weir_status plan_read(const void *bytes, size_t size, int directory, struct plan **out, struct weir_error *err) {
    struct weir_error local;
    struct plan *plan = create();
    err = err ? err : &local;
    if (!plan)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for a plan");
    enum weir_status status = read_plan(plan, bytes, size, directory, err);
    if (status == WEIR_OK)
        *out = plan;
    else
        plan_destroy(plan);
    return status;
}

enum weir_status plan_load(const char *path, struct plan **out, struct weir_error *err) {
    struct weir_error local;
    struct plan *plan = create();
    err = err ? err : &local;
    if (!plan)
        return weir_fail(err, WEIR_NO_MEMORY, "%.200s: no memory for a plan", path);
    int directory = plan_file_open_directory(path);
    enum weir_status status = plan_file_read(path, &plan->file, &plan->file_size, err);
    if (status == WEIR_OK)
        status = read_plan(plan, plan->file, plan->file_size, directory, err);
    if (directory >= 0)
        close(directory);
    if (status != WEIR_OK) {
        weir_fail_in(err, "%.200s", path);
        plan_destroy(plan);
        return status;
    }
    *out = plan;
    return WEIR_OK;
}

void plan_destroy(struct plan *plan) {
    if (!plan)
        return;
    forget(plan);
    graph_destroy(plan->graph);
    plan_file_release(plan->file, plan->file_size);
    pthread_mutex_destroy(&plan->mutex);
    free(plan);
}

const struct signature *plan_signature(const struct plan *plan) {
    return &plan->signature;
}

uint32_t plan_fixed_batch(const struct plan *plan) {
    return plan->fixed_batch;
}

uint32_t plan_max_rows(const struct plan *plan) {
    return plan->max_rows;
}

const char *plan_max_rows_reason(const struct plan *plan) {
    return plan->max_rows_reason;
}

const char *plan_notice(const struct plan *plan) {
    return plan->narrows ? "float64 numbers of the model are computed in float32" : "";
}

const struct tensor_dims *plan_example(const struct plan *plan) {
    return &plan->example_dims;
}

enum weir_status plan_make_program(struct plan *plan, const struct tensor_dims *dims, struct program *program,
                                   struct weir_error *err) {
    struct weir_error local;
    err = err ? err : &local;
    enum weir_status status = make_program(plan, &plan->signature, dims, program, err);
    if (status != WEIR_OK)
        return status;
    if (dims->rows > 1 && plan->max_rows > 1) { /* proven for other numbers of rows; here for these */
        struct independence_place out[GRAPH_MAX_PORTS];
        status = check_rows(&plan->signature, program, dims->rows, out, err);
        if (status != WEIR_OK) {
            program_release(program);
            return status;
        }
    }
    (void)fuse_program(program);
    return WEIR_OK;
}

void plan_drop_constant(struct plan *plan, const struct graph_constant *constant) {
    pthread_mutex_lock(&plan->mutex);
    weights_drop(plan->graph, constant);
    pthread_mutex_unlock(&plan->mutex);
}
