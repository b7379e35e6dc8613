#include "engine/graph/ports.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_SYMBOLS = TENSOR_MAX_FREE + 1 }; /* one may be the batch */

/* The distinct free dimensions: those of one name are one. */
struct symbols {
    const char *names[MAX_SYMBOLS];
    int inputs[MAX_SYMBOLS], axes[MAX_SYMBOLS]; /* where each was met first */
    int count;
};

/* What the file calls the dimension; "" for the names that exporters give to every free dimension alike. */
static const char *name_at(const struct graph_port *port, int axis) {
    const char *name = port->names[axis];
    return !name || strcmp(name, "?") == 0 || strcmp(name, "-1") == 0 || strcmp(name, "None") == 0 ? "" : name;
}

/* What is wrong with a type, for people. Source of the numbers: onnx.proto, TensorProto.DataType. */
static const char *type_text(int32_t onnx_type) {
    static const char *const texts[] = {"no tensor", "float32", "uint8",     "int8",       "uint16",  "int16",
                                        "int32",     "int64",   "string",    "bool",       "float16", "float64",
                                        "uint32",    "uint64",  "complex64", "complex128", "bfloat16"};
    return onnx_type >= 0 && onnx_type < (int32_t)(sizeof texts / sizeof texts[0]) ? texts[onnx_type]
                                                                                   : "of another type";
}

/* The number of the free dimension at that place; -1: it has a size. *fits is false where there are too many. */
static int symbol_at(const struct graph *graph, struct symbols *symbols, int input, int axis, bool *fits) {
    const struct graph_port *port = &graph->inputs[input];
    if (port->shape.dims[axis] >= 0)
        return -1;
    const char *name = name_at(port, axis);
    for (int i = 0; i < symbols->count; i++)
        if (name[0] ? strcmp(symbols->names[i], name) == 0 : symbols->inputs[i] == input && symbols->axes[i] == axis)
            return i;
    if (symbols->count == MAX_SYMBOLS) {
        *fits = false;
        return -1;
    }
    symbols->names[symbols->count] = name;
    symbols->inputs[symbols->count] = input;
    symbols->axes[symbols->count] = axis;
    return symbols->count++;
}

static bool find_symbols(const struct graph *graph, struct symbols *symbols) {
    bool fits = true;
    symbols->count = 0;
    for (int i = 0; i < graph->input_count; i++)
        for (int axis = 0; axis < graph->inputs[i].shape.rank; axis++)
            (void)symbol_at(graph, symbols, i, axis, &fits);
    return fits;
}

static enum weir_status check_inputs(const struct graph *graph, struct weir_error *err) {
    for (int i = 0; i < graph->input_count; i++) {
        const struct graph_port *port = &graph->inputs[i];
        enum tensor_dtype dtype;
        const char *name = graph->values[port->value].name;
        if (!tensor_dtype_from_onnx(port->onnx_type, &dtype))
            return weir_fail(err, WEIR_UNSUPPORTED,
                             "input '%.64s' is %s (ONNX type %d); supported: floats, int8, uint8, int32, int64, bool",
                             name, type_text(port->onnx_type), (int)port->onnx_type);
        if (!port->has_shape)
            return weir_fail(err, WEIR_UNSUPPORTED, "input '%.64s' has no shape", name);
    }
    return WEIR_OK;
}

/* Is dimension 0 of every input that has one free (*fixed 0), or of one size (*fixed)? */
static void look_at_first(const struct graph *graph, bool *all_free, bool *differ, int64_t *fixed) {
    const char *name = NULL;
    *all_free = true;
    *differ = false;
    *fixed = 0;
    bool same = true;
    for (int i = 0; i < graph->input_count; i++) {
        const struct graph_port *port = &graph->inputs[i];
        if (port->shape.rank == 0)
            continue;
        int64_t dim = port->shape.dims[0];
        const char *called = name_at(port, 0);
        *all_free = *all_free && dim < 0;
        same = same && dim > 0 && (*fixed == 0 || *fixed == dim);
        *fixed = dim;
        *differ = *differ || (name && strcmp(name, called) != 0) || (name && !called[0]);
        name = called;
    }
    if (!same)
        *fixed = 0;
    *all_free = *all_free && name;
}

static void add(struct ports_reading *readings, int *count, struct ports_reading reading) {
    for (int i = 0; i < *count; i++)
        if (readings[i].has_batch == reading.has_batch && readings[i].every_first == reading.every_first &&
            readings[i].is_fixed == reading.is_fixed && readings[i].symbol == reading.symbol)
            return;
    if (*count < PORTS_MAX_READINGS)
        readings[(*count)++] = reading;
}

bool ports_names_batch(const char *name) {
    static const char *const short_names[] = {"N", "n", "B", "b", "bs", "BS"};
    for (size_t i = 0; i < sizeof short_names / sizeof short_names[0]; i++)
        if (strcmp(name, short_names[i]) == 0)
            return true;
    for (; *name; name++)
        if (strncasecmp(name, "batch", 5) == 0)
            return true;
    return false;
}

enum weir_status ports_read(const struct graph *graph, struct ports_reading readings[PORTS_MAX_READINGS], int *count,
                            struct weir_error *err) {
    struct symbols symbols;
    bool all_free, differ;
    int64_t fixed;
    if (check_inputs(graph, err) != WEIR_OK)
        return err->status;
    if (!find_symbols(graph, &symbols))
        return weir_fail(err, WEIR_UNSUPPORTED, "the inputs have more than %d free dimensions", MAX_SYMBOLS);
    look_at_first(graph, &all_free, &differ, &fixed);
    *count = 0;
    for (int i = 0; i < symbols.count; i++)
        if (ports_names_batch(symbols.names[i]) && symbols.axes[i] > 0 && !all_free)
            add(readings, count, (struct ports_reading){.has_batch = true, .symbol = i, .name = symbols.names[i]});
    if (fixed > 0 && fixed < UINT32_MAX)
        add(readings, count, (struct ports_reading){.has_batch = true, .is_fixed = true, .symbol = -1, .name = ""});
    if (all_free && differ)
        add(readings, count, (struct ports_reading){.has_batch = true, .every_first = true, .symbol = -1, .name = ""});
    for (int pass = 0; pass < 2; pass++) /* first those that stand first in some input */
        for (int i = 0; i < symbols.count; i++)
            if ((symbols.axes[i] == 0) == (pass == 0))
                add(readings, count, (struct ports_reading){.has_batch = true, .symbol = i, .name = symbols.names[i]});
    if (*count == PORTS_MAX_READINGS)
        --*count;
    add(readings, count, (struct ports_reading){.has_batch = false, .symbol = -1, .name = ""});
    return WEIR_OK;
}

static bool is_batch(const struct ports_reading *reading, int symbol, int axis, int64_t dim) {
    if (!reading->has_batch)
        return false;
    if (reading->is_fixed)
        return axis == 0 && dim >= 0;
    if (reading->every_first)
        return axis == 0;
    return symbol >= 0 && symbol == reading->symbol;
}

/* Gives the free dimension its number in the signature. */
static bool number_free(struct signature *signature, int numbers[MAX_SYMBOLS], const struct symbols *symbols,
                        int symbol) {
    if (numbers[symbol] >= 0)
        return true;
    if (signature->free_count == TENSOR_MAX_FREE)
        return false;
    signature->free_names[signature->free_count] = strdup(symbols->names[symbol]);
    if (!signature->free_names[signature->free_count])
        return false;
    numbers[symbol] = signature->free_count++;
    return true;
}

enum weir_status ports_inputs(const struct graph *graph, const struct ports_reading *reading,
                              struct signature *signature, struct weir_error *err) {
    struct symbols symbols;
    int numbers[MAX_SYMBOLS];
    bool fits = find_symbols(graph, &symbols);
    memset(signature, 0, sizeof *signature);
    memset(numbers, -1, sizeof numbers);
    signature->inputs = calloc((size_t)graph->input_count + 1, sizeof *signature->inputs);
    if (!signature->inputs)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the signature");
    for (int i = 0; i < graph->input_count; i++) {
        const struct graph_port *port = &graph->inputs[i];
        struct tensor_spec *spec = &signature->inputs[i];
        spec->name = strdup(graph->values[port->value].name);
        signature->input_count = i + 1;
        if (!spec->name || !fits)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for the signature");
        (void)tensor_dtype_from_onnx(port->onnx_type, &spec->dtype);
        spec->shape = port->shape;
        for (int axis = 0; axis < port->shape.rank; axis++) {
            int symbol = symbol_at(graph, &symbols, i, axis, &fits);
            if (is_batch(reading, symbol, axis, port->shape.dims[axis]))
                spec->shape.dims[axis] = TENSOR_BATCH;
            else if (symbol >= 0 && !number_free(signature, numbers, &symbols, symbol))
                return weir_fail(err, WEIR_UNSUPPORTED, "the inputs have more than %d free dimensions beside the batch",
                                 TENSOR_MAX_FREE);
            else if (symbol >= 0)
                spec->shape.dims[axis] = TENSOR_FREE(numbers[symbol]);
        }
        if (!tensor_spec_measure(spec) || spec->row_elements > GRAPH_MAX_ELEMENTS)
            return weir_fail(err, WEIR_TOO_LARGE,
                             "input '%.64s' is too large (more than %d elements a row), or has two batch dimensions",
                             spec->name, GRAPH_MAX_ELEMENTS);
        signature->shares_inputs = signature->shares_inputs || spec->batch_axis < 0;
    }
    return WEIR_OK;
}

/* What dimension `axis` of an output is in the signature. */
static int64_t output_dim(const struct graph_port *port, const struct signature *signature,
                          const struct tensor_dims *example, const struct ports_output *output, int axis) {
    int64_t size = output->shape.dims[axis];
    if (axis == output->batch_axis)
        return TENSOR_BATCH;
    if (signature->free_count == 0)
        return size;
    bool declared = port->has_shape && port->shape.rank == output->shape.rank;
    if (declared && port->shape.dims[axis] == size)
        return size;
    const char *name = declared ? name_at(port, axis) : "";
    for (int k = 0; k < signature->free_count; k++)
        if (name[0] && strcmp(name, signature->free_names[k]) == 0 && example->free[k] == size)
            return TENSOR_FREE(k);
    return TENSOR_DERIVED;
}

enum weir_status ports_outputs(const struct graph *graph, const struct tensor_dims *example,
                               const struct ports_output *outputs, struct signature *signature,
                               struct weir_error *err) {
    signature->outputs = calloc((size_t)graph->output_count + 1, sizeof *signature->outputs);
    if (!signature->outputs)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory for the signature");
    for (int i = 0; i < graph->output_count; i++) {
        const struct graph_port *port = &graph->outputs[i];
        struct tensor_spec *spec = &signature->outputs[i];
        spec->name = strdup(graph->values[port->value].name);
        signature->output_count = i + 1;
        if (!spec->name)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for the signature");
        spec->dtype = outputs[i].dtype;
        spec->shape = outputs[i].shape;
        for (int axis = 0; axis < spec->shape.rank; axis++)
            spec->shape.dims[axis] = output_dim(port, signature, example, &outputs[i], axis);
        if (!tensor_spec_measure(spec))
            return weir_fail(err, WEIR_TOO_LARGE, "output '%.64s' is too large", spec->name);
    }
    return WEIR_OK;
}
