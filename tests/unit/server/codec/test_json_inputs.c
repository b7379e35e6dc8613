#include "server/codec/json_inputs.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "tests/unit/server/codec/codec_helpers.h"

/* A model of up to three inputs, "x", "flags" and "scale". */
struct model {
    struct tensor_spec specs[3];
    struct signature signature;
};

#define SPEC(type, ...)                                                                                                \
    {                                                                                                                  \
        .dtype = (type), .shape = {.rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = {__VA_ARGS__} } \
    }

static struct model one = {.specs = {SPEC(TENSOR_F32, TENSOR_BATCH, 2)}};
static struct model two = {
    .specs = {SPEC(TENSOR_F32, TENSOR_BATCH, TENSOR_FREE(0)), SPEC(TENSOR_BOOL, TENSOR_BATCH, TENSOR_FREE(0))}};
static struct model shared = {
    .specs = {SPEC(TENSOR_F32, TENSOR_BATCH, 2), SPEC(TENSOR_BOOL, TENSOR_BATCH), SPEC(TENSOR_I64, 2)}};
static struct model inside = {.specs = {SPEC(TENSOR_F32, 2, TENSOR_BATCH), SPEC(TENSOR_BOOL, TENSOR_BATCH)}};
static struct model last = {.specs = {SPEC(TENSOR_I32, TENSOR_FREE(0), TENSOR_BATCH)}};
static struct model alone = {.specs = {SPEC(TENSOR_F32, 2, 2)}};

static void init(struct model *model) {
    static char *const names[] = {"x", "flags", "scale"};
    model->signature = (struct signature){.inputs = model->specs, .free_count = 1};
    for (int i = 0; i < 3 && model->specs[i].shape.rank > 0; i++) {
        model->specs[i].name = names[i];
        cr_assert(tensor_spec_measure(&model->specs[i]));
        model->signature.input_count++;
    }
}

static void begin(void) {
    struct model *models[] = {&one, &two, &shared, &inside, &last, &alone};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        init(models[i]);
}
TestSuite(json_inputs, .init = begin);

static struct outcome decode(const struct model *model, const char *body, size_t first, size_t rest) {
    struct decoder_options options = {
        .format = CODEC_V1, .signature = &model->signature, .body_bytes = strlen(body), .max_rows = 4};
    return decode_in_pieces(&options, body, strlen(body), first, rest);
}

/* Reads body byte by byte, whole, and cut in two at every byte, and expects the tensors (as one block of bytes each).
 */
static void expect(const struct model *model, const char *body, size_t rows, bool columns, const void *const *tensors,
                   const size_t *sizes) {
    size_t size = strlen(body);
    for (size_t first = 0; first <= size; first++) {
        struct outcome outcome = decode(model, body, first, first == 0 ? 1 : size);
        cr_assert(outcome.status == WEIR_OK, "%s cut at %zu: %s", body, first, outcome.err.text);
        cr_assert(eq(sz, outcome.decoded.dims.rows, rows), "%s", body);
        cr_assert(outcome.decoded.wishes.columns == columns, "%s", body);
        for (int i = 0; i < model->signature.input_count; i++) {
            const struct job_tensor *tensor = &outcome.decoded.inputs[i];
            size_t bytes = tensor->row_bytes * (model->specs[i].batch_axis < 0 ? 1 : rows);
            cr_assert(eq(sz, bytes, sizes[i]), "%s: input %d", body, i);
            cr_assert(memcmp(tensor->data, tensors[i], bytes) == 0, "%s: input %d", body, i);
        }
        decoded_release(&outcome.decoded, model->signature.input_count);
    }
}

static void refuse(const struct model *model, const char *body, enum weir_status status, const char *text) {
    size_t size = strlen(body);
    for (size_t first = 0; first <= size; first++) {
        struct outcome outcome = decode(model, body, first, first == 0 ? 1 : size);
        cr_assert(outcome.status == status, "%s cut at %zu: %d %s", body, first, (int)outcome.status,
                  outcome.status ? outcome.err.text : "");
        cr_assert(eq(str, outcome.err.text, (char *)text), "%s cut at %zu", body, first);
    }
}

#define ONE(...)   ((const void *[]){(const float[]){__VA_ARGS__}})
#define BYTES(...) ((const size_t[]){__VA_ARGS__})

Test(json_inputs, one_input_comes_as_rows_as_objects_and_as_columns) {
    expect(&one, "{\"instances\":[[1,2],[3,4]]}", 2, false, ONE(1, 2, 3, 4), BYTES(16));
    expect(&one, "{\"instances\":[{\"x\":[1,2]},{\"x\":[3,4]}]}", 2, false, ONE(1, 2, 3, 4), BYTES(16));
    expect(&one, "{\"inputs\":[[1,2],[3,4]]}", 2, true, ONE(1, 2, 3, 4), BYTES(16));
    expect(&one, "{\"inputs\":{\"x\":[[1,2],[3,4]]}}", 2, true, ONE(1, 2, 3, 4), BYTES(16));
    expect(&one, "{\"inputs\":{\"y\":{\"x\":[1]},\"x\":[[1,2]],\"z\":0}}", 1, true, ONE(1, 2), BYTES(8));
}

Test(json_inputs, several_inputs_go_by_name) {
    const void *tensors[] = {(const float[]){1, 2, 3, 4}, "\1\0\0\1"};
    expect(&two, "{\"instances\":[{\"x\":[1,2],\"flags\":[true,false]},{\"flags\":[0,1],\"x\":[3,4]}]}", 2, false,
           tensors, BYTES(16, 4));
    expect(&two, "{\"inputs\":{\"flags\":[[true,false],[false,true]],\"x\":[[1,2],[3,4]]}}", 2, true, tensors,
           BYTES(16, 4));
}

Test(json_inputs, an_input_without_rows_is_a_column_beside_or_among_the_others) {
    const void *tensors[] = {(const float[]){1, 2, 3, 4}, "\1\0", (const int64_t[]){7, 8}};
    static const char *const bodies[] = {
        "{\"inputs\":{\"scale\":[7,8],\"x\":[[1,2],[3,4]],\"flags\":[true,false]}}",
        "{\"scale\":[7,8],\"inputs\":{\"x\":[[1,2],[3,4]],\"flags\":[true,false]}}",
        "{\"inputs\":{\"x\":[[1,2],[3,4]],\"flags\":[true,false]},\"scale\":[7,8]}",
    };
    for (size_t i = 0; i < 3; i++)
        expect(&shared, bodies[i], 2, true, tensors, BYTES(16, 2, 16));
    refuse(&shared, "{\"scale\":[7,8],\"inputs\":{\"scale\":[7,8]}}", WEIR_INVALID,
           "input \"scale\" is given twice (offset 25)");
    refuse(&shared, "{\"inputs\":{\"x\":[[1,2]],\"flags\":[true]}}", WEIR_INVALID, "input \"scale\" is missing");
    expect(&alone, "{\"inputs\":[[1,2],[3,4]]}", 1, true, ONE(1, 2, 3, 4), BYTES(16));
    expect(&alone, "{\"inputs\":{\"x\":[[1,2],[3,4]]}}", 1, true, ONE(1, 2, 3, 4), BYTES(16));
    expect(&alone, "{\"instances\":[[1,2],[3,4]]}", 1, false, ONE(1, 2, 3, 4), BYTES(16));
    refuse(&alone, "{\"x\":[[1,2],[3,4]],\"inputs\":[[1,2],[3,4]]}", WEIR_INVALID, "input \"x\" is given twice");
}

Test(json_inputs, a_column_is_nested_as_its_shape_says) {
    const void *tensors[] = {(const float[]){1, 4, 2, 5, 3, 6}, "\1\0\1"};
    expect(&inside, "{\"inputs\":{\"x\":[[1,2,3],[4,5,6]],\"flags\":[1,0,1]}}", 3, true, tensors, BYTES(24, 3));
    expect(&inside, "{\"instances\":[{\"x\":[1,4],\"flags\":1},{\"x\":[2,5],\"flags\":0},{\"x\":[3,6],\"flags\":1}]}",
           3, false, tensors, BYTES(24, 3));
    const void *integers[] = {(const int32_t[]){1, 3, 5, 2, 4, 6}};
    expect(&last, "{\"inputs\":[[1,2],[3,4],[5,6]]}", 2, true, integers, BYTES(24));
    refuse(&inside, "{\"inputs\":{\"x\":[[1,2,3],[4,5]],\"flags\":[1,0,1]}}", WEIR_INVALID,
           "input \"x\": element [1] has 2 values, expected 3 as before (its shape is [2,3])");
    refuse(&inside, "{\"inputs\":{\"x\":[[1,2,3],[4,5,6]],\"flags\":[1,0]}}", WEIR_INVALID,
           "input \"flags\" has 2 rows, input \"x\" has 3");
    refuse(&last, "{\"inputs\":[[1,2,3,4,5]]}", WEIR_TOO_LARGE, "more than 4 rows in \"inputs\"");
}

Test(json_inputs, either_rows_or_columns_are_needed_once) {
    refuse(&one, "{}", WEIR_INVALID, "member \"instances\" or \"inputs\" is missing");
    refuse(&one, "[[1,2]]", WEIR_INVALID,
           "the body is an array, expected an object with member \"instances\" or \"inputs\"");
    refuse(&one, "{\"instances\":[[1,2]],\"inputs\":[[1,2]]}", WEIR_INVALID,
           "\"instances\" and \"inputs\" are both there, one is needed (offset 21)");
    refuse(&one, "{\"inputs\":[[1,2]],\"instances\":[[1,2]]}", WEIR_INVALID,
           "\"instances\" and \"inputs\" are both there, one is needed (offset 18)");
    struct outcome outcome = decode(&one, "{\"inputs\":[[1,2]],\"inputs\":[[1,2]]}", 100, 100);
    cr_assert(outcome.status == WEIR_INVALID);
    cr_assert(strstr(outcome.err.text, "twice") != NULL, "%s", outcome.err.text);
}

Test(json_inputs, the_signature_is_the_default_one) {
    expect(&one, "{\"signature_name\":\"serving_default\",\"instances\":[[1,2]]}", 1, false, ONE(1, 2), BYTES(8));
    expect(&one, "{\"inputs\":[[1,2]],\"signature_name\":\"\"}", 1, true, ONE(1, 2), BYTES(8));
    refuse(&one, "{\"signature_name\":\"other\",\"instances\":[[1,2]]}", WEIR_INVALID,
           "there is no signature \"other\", only \"serving_default\"");
    refuse(&one, "{\"instances\":[[1,2]],\"signature_name\":null}", WEIR_INVALID,
           "\"signature_name\" is null, expected a string");
    char body[400];
    snprintf(body, sizeof body, "{\"signature_name\":\"%0300d\"}", 0);
    refuse(&one, body, WEIR_INVALID, "there is no signature of so long a name, only \"serving_default\"");
}

Test(json_inputs, strings_are_refused_in_words) {
    static const char hint[] = "; {\"b64\": ...} carries strings, the model takes numbers";
    static const struct {
        const char *body, *text;
    } rows[] = {
        {"{\"instances\":[{\"b64\":\"AAAA\"}]}", "row 0: there is no input \"b64\", the model takes \"x\""},
        {"{\"instances\":[[1,{\"b64\":\"AAAA\"}]]}",
         "row 0, column 1: expected a number, got an object (a row has shape [2])"},
        {"{\"instances\":[[1,2],{\"b64\":\"AAAA\"}]}",
         "row 1: expected an array of 2 numbers, got an object (a row has shape [2])"},
        {"{\"inputs\":{\"b64\":\"AAAA\"}}", "there is no input \"b64\""},
        {"{\"inputs\":{\"x\":{\"b64\":\"AAAA\"}}}",
         "\"x\" is an object, expected an array of rows, each an array of 2 numbers"},
        {"{\"inputs\":[[1,{\"b64\":\"AAAA\"}]]}",
         "row 0, column 1: expected a number, got an object (a row has shape [2])"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, "%s%s", rows[i].text, hint);
        if (i == 4) /* the only input goes by its member */
            snprintf(text, sizeof text,
                     "\"inputs\" is an object, expected an array of rows, each an array of 2 numbers%s", hint);
        refuse(&one, rows[i].body, WEIR_INVALID, text);
    }
    refuse(&one, "{\"instances\":[[1,\"2\"]]}", WEIR_INVALID,
           "row 0, column 1: expected a number, got a string (a row has shape [2])");
}

Test(json_inputs, faults_are_named_with_input_and_place) {
    refuse(&one, "{\"inputs\":[]}", WEIR_INVALID, "\"inputs\" is empty: at least one row is needed");
    refuse(&one, "{\"inputs\":5}", WEIR_INVALID,
           "\"inputs\" is a number, expected an array of rows, each an array of 2 numbers");
    refuse(&one, "{\"inputs\":[[1,2],[3]]}", WEIR_INVALID, "row 1 has 1 values, expected 2 (a row has shape [2])");
    refuse(&one, "{\"inputs\":[[1,1e39]]}", WEIR_INVALID,
           "row 0, column 1: the number is outside the float32 range (offset 14)");
    refuse(&one, "{\"inputs\":[[1,2],[1,2],[1,2],[1,2],[1,2]]}", WEIR_TOO_LARGE,
           "more than 4 rows in \"inputs\" (offset 35)");
    refuse(&one, "{\"instances\":[{\"x\":[1,2]},[1,2]]}", WEIR_INVALID,
           "row 1: expected an object of the inputs \"x\", got an array");
    refuse(&one, "{\"instances\":[{\"x\":[1,2],\"y\":1}]}", WEIR_INVALID,
           "row 0: there is no input \"y\", the model takes \"x\"");
    refuse(&one, "{\"instances\":[{}]}", WEIR_INVALID, "row 0: input \"x\" is missing");
    refuse(&two, "{\"inputs\":[[1,2]]}", WEIR_INVALID,
           "\"inputs\" is an array, expected an object of the inputs \"x\", \"flags\"");
    refuse(&two, "{\"inputs\":{\"x\":[[1,2]]}}", WEIR_INVALID, "input \"flags\" is missing");
    refuse(&two, "{\"inputs\":{}}", WEIR_INVALID, "input \"x\" is missing");
    refuse(&two, "{\"inputs\":{\"x\":[[1,2]],\"flags\":[]}}", WEIR_INVALID,
           "\"flags\" is empty: at least one row is needed");
    refuse(&two, "{\"inputs\":{\"x\":[[1,2]],\"flags\":[[1,2,1]]}}", WEIR_INVALID,
           "input \"flags\": row 0, column 1: expected a boolean, got a number that is neither 0 nor 1 (a row has "
           "shape [2])");
    refuse(&two, "{\"inputs\":{\"x\":[[1,2]],\"flags\":[[1,0],[1,0]]}}", WEIR_INVALID,
           "input \"flags\" has 2 rows, input \"x\" has 1");
}
