/* Runs models on inputs from files, by a protocol of lines on stdin and stdout.
 * usage: run_network cases     each block of lines runs in a process of its own: a crash is one answer
 *        run_network session   all in this process: a model stays loaded
 *
 *   model PATH                 the model of what follows
 *   by backend | oracle        the CPU backend (as it is at first), or the kernels of kernels/ref alone
 *   by PATH                    the backend of a CUDA module, which may be a simulated one
 *   threads N, rows N          of the backend; the most rows it is loaded for
 *   precision fp32 | bf16 | int8 | tf32 | fp16
 *   invariance off | bucket | strict
 *   limit SECONDS              the process ends after that
 *   input DTYPE DIMS PATH      the next input: "float32 2,3 x.raw"; DIMS is "-" for a scalar
 *   inputs                     forgets the inputs
 *   run [PREFIX]               runs once; outputs go to PREFIX.0, PREFIX.1, ...
 *   measure SECONDS            runs over and over
 *   signature                  tells inputs and outputs
 *   end                        ends a block
 *
 * Answers: "output INDEX DTYPE DIMS", "loaded NANOSECONDS", "ran PEAK_KIB", "measured RUNS MEDIAN_NANOSECONDS
 * PEAK_KIB", for a signature "input|output INDEX DTYPE DIMS NAME", "rows MOST REASON" and "fixed BATCH"; "refused
 * STATUS: TEXT" where the engine says no. Each block's answers end with "end CODE", or "end signal NUMBER". */
#include "tests/conformance/run_network.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/openmp.h"

static bool dtype_of(const char *text, enum tensor_dtype *dtype) {
    for (int i = 0; i < TENSOR_DTYPE_COUNT; i++)
        if (strcmp(tensor_dtype_text((enum tensor_dtype)i), text) == 0) {
            *dtype = (enum tensor_dtype)i;
            return true;
        }
    return false;
}

static bool shape_of(const char *text, struct tensor_shape *shape) {
    *shape = (struct tensor_shape){0};
    if (strcmp(text, "-") == 0)
        return true;
    for (char *end;; text = end + 1) {
        if (shape->rank == TENSOR_MAX_RANK)
            return false;
        shape->dims[shape->rank++] = strtoll(text, &end, 10);
        if (end == text || (*end && *end != ','))
            return false;
        if (!*end)
            return true;
    }
}

static void print_shape(const struct tensor_shape *shape) {
    for (int i = 0; i < shape->rank; i++)
        printf("%s%lld", i ? "," : " ", (long long)shape->dims[i]);
    fputs(shape->rank ? "" : " -", stdout);
}

static bool take_input(struct network *network, char *text) {
    char *rest = NULL, *dtype = strtok_r(text, " ", &rest), *dims = strtok_r(NULL, " ", &rest);
    size_t elements;
    if (network->input_count == NETWORK_MAX_INPUTS || !dims)
        return false;
    struct network_input *input = &network->inputs[network->input_count];
    if (!dtype_of(dtype, &input->dtype) || !shape_of(dims, &input->shape) ||
        !tensor_shape_elements(&input->shape, 0, &elements))
        return false;
    input->bytes = elements * tensor_dtype_bytes(input->dtype);
    input->data = malloc(input->bytes + 1);
    FILE *file = fopen(rest, "rb");
    bool whole = file && input->data && fread(input->data, 1, input->bytes + 1, file) == input->bytes;
    if (file)
        fclose(file);
    if (!whole)
        free(input->data);
    else
        network->input_count++;
    return whole;
}

static bool write_output(void *context, int index, enum tensor_dtype dtype, const struct tensor_shape *shape,
                         const void *data) {
    const char *prefix = context;
    char path[NETWORK_PATH_BYTES + 16];
    size_t elements;
    if (!tensor_shape_elements(shape, 0, &elements))
        return false;
    printf("output %d %s", index, tensor_dtype_text(dtype));
    print_shape(shape);
    putchar('\n');
    if (!*prefix)
        return true;
    snprintf(path, sizeof path, "%s.%d", prefix, index);
    FILE *file = fopen(path, "wb");
    size_t bytes = elements * tensor_dtype_bytes(dtype);
    bool written = file && fwrite(data, 1, bytes, file) == bytes;
    return file && fclose(file) == 0 && written;
}

static void print_specs(const char *what, const struct tensor_spec *specs, int count) {
    for (int i = 0; i < count; i++) {
        printf("%s %d %s", what, i, tensor_dtype_text(specs[i].dtype));
        print_shape(&specs[i].shape);
        printf(" %s\n", specs[i].name);
    }
}

static enum weir_status print_signature(struct network *network, struct weir_error *err) {
    if (network_read(network, err) != WEIR_OK)
        return err->status;
    const struct signature *signature = plan_signature(network->plan);
    print_specs("input", signature->inputs, signature->input_count);
    print_specs("output", signature->outputs, signature->output_count);
    printf("rows %u %s\n", plan_max_rows(network->plan), plan_max_rows_reason(network->plan));
    printf("fixed %u\n", plan_fixed_batch(network->plan));
    return WEIR_OK;
}

/* The most memory this process has had, in KiB. */
static long peak_kib(void) {
    long kib = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

static enum weir_status measure(struct network *network, const char *text, struct weir_error *err) {
    uint64_t runs;
    int64_t median_ns;
    if (network_measure(network, strtod(text, NULL), &runs, &median_ns, err) != WEIR_OK)
        return err->status;
    printf("measured %llu %lld %ld\n", (unsigned long long)runs, (long long)median_ns, peak_kib());
    return WEIR_OK;
}

static bool set_word(const char *text, const char *const *words, int *value) {
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0) {
            *value = i;
            return true;
        }
    return false;
}

/* Returns false for a line that says nothing. */
static bool set_option(struct network *network, const char *word, const char *text) {
    static const char *const precisions[] = {"fp32", "bf16", "int8", "tf32", "fp16", NULL};
    static const char *const invariances[] = {"off", "bucket", "strict", NULL};
    static const char *const ways[] = {"backend", "oracle", NULL};
    int value = 0;
    bool known = true;
    if (strcmp(word, "by") == 0) {
        bool by_module = strchr(text, '/') != NULL;
        known = by_module || set_word(text, ways, &value);
        network->by_oracle = value == 1;
        network->module[0] = 0;
        if (by_module)
            snprintf(network->module, sizeof network->module, "%s", text);
    } else if (strcmp(word, "threads") == 0) {
        network->options.threads = atoi(text);
    } else if (strcmp(word, "rows") == 0) {
        network->max_rows = (uint32_t)strtoul(text, NULL, 10);
    } else if (strcmp(word, "precision") == 0) {
        known = set_word(text, precisions, &value);
        network->options.precision = (enum backend_precision)value;
    } else if (strcmp(word, "invariance") == 0) {
        known = set_word(text, invariances, &value);
        network->options.invariance = (enum backend_invariance)value;
    } else if (strcmp(word, "limit") == 0) {
        alarm((unsigned)atoi(text));
    } else {
        known = false;
    }
    return known;
}

static void handle(struct network *network, char *line) {
    char *text = line + strcspn(line, " ");
    struct weir_error err = {.status = WEIR_OK};
    enum weir_status status = WEIR_OK;
    if (*text)
        *text++ = 0;
    if (strcmp(line, "model") == 0) {
        network_close(network);
        network_drop_inputs(network);
        snprintf(network->path, sizeof network->path, "%s", text);
    } else if (strcmp(line, "inputs") == 0) {
        network_drop_inputs(network);
    } else if (strcmp(line, "input") == 0) {
        if (!take_input(network, text))
            status = weir_fail(&err, WEIR_IO, "input %d cannot be read", network->input_count);
    } else if (strcmp(line, "run") == 0) {
        status = network_run(network, write_output, text, &err);
        if (status == WEIR_OK)
            printf("loaded %lld\nran %ld\n", (long long)network->load_ns, peak_kib());
    } else if (strcmp(line, "measure") == 0) {
        status = measure(network, text, &err);
    } else if (strcmp(line, "signature") == 0) {
        status = print_signature(network, &err);
    } else if (!set_option(network, line, text)) {
        status = weir_fail(&err, WEIR_INVALID, "unknown line: %.64s %.64s", line, text);
    }
    if (status != WEIR_OK)
        printf("refused %s: %s\n", weir_status_text(status), err.text);
}

/* The next line without its end; NULL at the end of the input. */
static char *next_line(char **line, size_t *capacity) {
    ssize_t size = getline(line, capacity, stdin);
    if (size <= 0)
        return NULL;
    (*line)[strcspn(*line, "\n")] = 0;
    return *line;
}

static void run_session(void) {
    struct network network = {0};
    char *line = NULL;
    size_t capacity = 0;
    while (next_line(&line, &capacity)) {
        if (strcmp(line, "end") == 0)
            puts("end 0");
        else if (*line)
            handle(&network, line);
        fflush(stdout);
    }
    network_close(&network);
    network_drop_inputs(&network);
    free(line);
}

/* Runs the lines, which are kept one after another, in a process of its own. */
static void run_block(char *lines, size_t size) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct network network = {0};
        for (size_t at = 0, next; at < size; at = next) {
            next = at + strlen(lines + at) + 1;
            handle(&network, lines + at);
            fflush(stdout);
        }
        network_close(&network);
        network_drop_inputs(&network);
        free(lines);
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        puts("end no process");
    else if (WIFSIGNALED(status))
        printf("end signal %d\n", WTERMSIG(status));
    else
        printf("end %d\n", WEXITSTATUS(status));
    fflush(stdout);
}

static void run_cases(void) {
    char *line = NULL, *lines = NULL;
    size_t capacity = 0, size = 0;
    while (next_line(&line, &capacity)) {
        if (strcmp(line, "end") == 0) {
            run_block(lines, size);
            size = 0;
        } else if (*line) {
            size_t bytes = strlen(line) + 1;
            char *grown = realloc(lines, size + bytes);
            if (!grown)
                abort();
            lines = grown;
            memcpy(lines + size, line, bytes);
            size += bytes;
        }
    }
    free(lines);
    free(line);
}

int main(int argc, char **argv) {
    openmp_limit_spinning();
    setvbuf(stdin, NULL, _IONBF, 0); /* a child's exit must not move the parent's place */
    if (argc == 2 && strcmp(argv[1], "cases") == 0) {
        run_cases();
    } else if (argc == 2 && strcmp(argv[1], "session") == 0) {
        run_session();
    } else {
        fputs("usage: run_network cases | session\n", stderr);
        return 2;
    }
    return 0;
}
