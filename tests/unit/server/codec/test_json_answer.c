#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>

#include "server/codec/json_answer.h"
#include "tests/unit/server/codec/codec_helpers.h"

static const int64_t four[] = {4};
static const int64_t two_by_three[] = {2, 3};

static void expect_answer(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                          const char *answer) {
    struct bytes out = {0};
    struct weir_error err;
    bytes_text(&out, "before ");
    cr_assert(json_answer_write(signature, rows, outputs, &out, &err) == WEIR_OK, "%s", err.text);
    bytes_append(&out, "", 1);
    cr_expect(strncmp(out.data, "before ", 7) == 0);
    cr_expect(eq(str, out.data + 7, (char *)answer));
    bytes_release(&out);
}

static void expect_rows(const struct one_tensor_model *model, uint32_t rows, float *values, const char *answer) {
    struct job_tensor output = tensor_of(&model->output, values);
    expect_answer(&model->signature, rows, &output, answer);
}

Test(json_answer, answers_are_nested_by_the_shape_of_the_output) {
    float values[] = {1, 2.5F, 3, -4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    struct one_tensor_model model;
    one_tensor_model_init(&model, 1, NULL);
    expect_rows(&model, 3, values, "{\"predictions\":[1,2.5,3]}");
    one_tensor_model_init(&model, 2, four);
    expect_rows(&model, 1, values, "{\"predictions\":[[1,2.5,3,-4]]}");
    expect_rows(&model, 2, values, "{\"predictions\":[[1,2.5,3,-4],[5,6,7,8]]}");
    one_tensor_model_init(&model, 3, two_by_three);
    expect_rows(&model, 2, values, "{\"predictions\":[[[1,2.5,3],[-4,5,6]],[[7,8,9],[10,11,12]]]}");
    const int64_t cube[] = {2, 2, 2};
    one_tensor_model_init(&model, 4, cube);
    expect_rows(&model, 2, values,
                "{\"predictions\":[[[[1,2.5],[3,-4]],[[5,6],[7,8]]],[[[9,10],[11,12]],[[13,14],[15,16]]]]}");
    const int64_t ones[] = {1, 1, 1};
    one_tensor_model_init(&model, 4, ones);
    expect_rows(&model, 2, values, "{\"predictions\":[[[[1]]],[[[2.5]]]]}");
}

Test(json_answer, bl_045_every_number_of_an_answer_is_json_and_exact) {
    float values[] = {9e-7F, 0, 1.5F, 1e6F, 1e20F, 0.1F, 16777216, -1e-45F, 123456.789F, -0.0F, 1e-30F, 3};
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    expect_rows(&model, 3, values,
                "{\"predictions\":[[9e-7,0,1.5,1000000],[1e20,0.1,16777216,-1e-45],[123456.79,-0,1e-30,3]]}");
}

Test(json_answer, an_answer_of_any_width_reads_back) {
    for (int64_t wide = 1; wide < 300; wide += 7) {
        float values[600];
        for (int i = 0; i < 600; i++)
            values[i] = (float)i / 7;
        struct one_tensor_model model;
        one_tensor_model_init(&model, 2, &wide);
        struct job_tensor output = tensor_of(&model.output, values);
        struct bytes out = {0};
        struct weir_error err;
        cr_assert(json_answer_write(&model.signature, 2, &output, &out, &err) == WEIR_OK);
        static const char head[] = "{\"predictions\"", same[] = "{\"instances\"";
        struct bytes body = {0};
        bytes_text(&body, same);
        bytes_append(&body, out.data + sizeof head - 1, out.size - (sizeof head - 1));
        struct decoder_options options = {
            .format = CODEC_JSON, .signature = &model.signature, .body_bytes = body.size, .max_rows = UINT32_MAX};
        struct outcome outcome = decode_in_pieces(&options, body.data, body.size, 50, 500);
        cr_assert(outcome.status == WEIR_OK, "%s", outcome.err.text);
        cr_assert(memcmp(outcome.decoded.inputs[0].data, values, 2 * (size_t)wide * sizeof(float)) == 0);
        decoded_release(&outcome.decoded, 1);
        bytes_release(&body);
        bytes_release(&out);
    }
}

Test(json_answer, several_outputs_make_an_object_of_each_prediction) {
    struct tensor_spec specs[] = {
        {.name = "score", .dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {-1, 2}}},
        {.name = "a \"b\"", .dtype = TENSOR_F32, .shape = {.rank = 1, .dims = {-1}}},
    };
    for (int i = 0; i < 2; i++)
        cr_assert(tensor_spec_measure(&specs[i]));
    struct signature signature = {.outputs = specs, .output_count = 2};
    float scores[] = {1, 2, 3, 4}, others[] = {5, 6};
    struct job_tensor outputs[] = {tensor_of(&specs[0], scores), tensor_of(&specs[1], others)};
    expect_answer(&signature, 2, outputs,
                  "{\"predictions\":[{\"score\":[1,2],\"a \\\"b\\\"\":5},{\"score\":[3,4],\"a \\\"b\\\"\":6}]}");
    others[1] = NAN;
    struct bytes out = {0};
    struct weir_error err;
    cr_assert(json_answer_write(&signature, 2, outputs, &out, &err) == WEIR_NON_FINITE);
    cr_assert(eq(str, err.text, "output \"a \"b\"\", row 1 is NaN, which JSON cannot carry"));
    bytes_release(&out);
}

Test(json_answer, a_value_that_is_not_finite_is_named_and_leaves_the_buffer_as_it_was) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 12; i++) {
        float values[12] = {0};
        values[i] = bad[i % 3];
        struct one_tensor_model model;
        one_tensor_model_init(&model, 2, four);
        struct job_tensor output = tensor_of(&model.output, values);
        struct bytes out = {0};
        struct weir_error err;
        bytes_text(&out, "before");
        cr_assert(json_answer_write(&model.signature, 3, &output, &out, &err) == WEIR_NON_FINITE);
        cr_assert(eq(sz, out.size, strlen("before")));
        char expected[128];
        snprintf(expected, sizeof expected, "output \"y\", row %zu, column %zu is %s, which JSON cannot carry", i / 4,
                 i % 4, i % 3 == 0 ? "NaN" : "infinite");
        cr_assert(eq(str, err.text, expected));
        bytes_release(&out);
    }
}

Test(json_answer, a_place_far_in_a_long_row_is_named_rightly) {
    const int64_t wide[] = {2, 200};
    float values[800] = {0};
    values[400 + 200 + 131] = NAN;
    struct one_tensor_model model;
    one_tensor_model_init(&model, 3, wide);
    struct job_tensor output = tensor_of(&model.output, values);
    struct bytes out = {0};
    struct weir_error err;
    cr_assert(json_answer_write(&model.signature, 2, &output, &out, &err) == WEIR_NON_FINITE);
    cr_assert(eq(str, err.text, "output \"y\", row 1, element [1][131] is NaN, which JSON cannot carry"));
    bytes_release(&out);
}

/* One output of this type and row shape. */
static void expect_typed(enum tensor_dtype dtype, struct tensor_shape shape, uint32_t rows, void *values,
                         const char *answer) {
    struct tensor_spec spec = {.name = "y", .dtype = dtype, .shape = shape};
    cr_assert(tensor_spec_measure(&spec));
    struct signature signature = {.outputs = &spec, .output_count = 1};
    struct job_tensor output = tensor_of(&spec, values);
    expect_answer(&signature, rows, &output, answer);
}

Test(json_answer, every_type_is_written) {
    const struct tensor_shape pair = {.rank = 2, .dims = {TENSOR_BATCH, 2}};
    int64_t wide[] = {INT64_MIN, INT64_MAX, 0, -7};
    expect_typed(TENSOR_I64, pair, 2, wide, "{\"predictions\":[[-9223372036854775808,9223372036854775807],[0,-7]]}");
    int32_t middle[] = {INT32_MIN, INT32_MAX};
    expect_typed(TENSOR_I32, pair, 1, middle, "{\"predictions\":[[-2147483648,2147483647]]}");
    signed char small[] = {-128, 127};
    expect_typed(TENSOR_I8, pair, 1, small, "{\"predictions\":[[-128,127]]}");
    unsigned char bytes[] = {0, 255};
    expect_typed(TENSOR_U8, pair, 1, bytes, "{\"predictions\":[[0,255]]}");
    expect_typed(TENSOR_BOOL, pair, 1, (unsigned char[]){1, 0}, "{\"predictions\":[[true,false]]}");
    double doubles[] = {0.1, 0x1p-1074};
    expect_typed(TENSOR_F64, pair, 1, doubles, "{\"predictions\":[[0.1,5e-324]]}");
    double long_one[] = {0.1F, -0.0};
    expect_typed(TENSOR_F64, pair, 1, long_one, "{\"predictions\":[[0.10000000149011612,-0]]}");
    uint16_t halves[] = {0x3C00, 0xC500}, brains[] = {0x3F80, 0xC0A0};
    expect_typed(TENSOR_F16, pair, 1, halves, "{\"predictions\":[[1,-5]]}");
    expect_typed(TENSOR_BF16, pair, 1, brains, "{\"predictions\":[[1,-5]]}");
}

Test(json_answer, a_row_of_no_dimension_is_one_value) {
    int64_t classes[] = {3, 0};
    expect_typed(TENSOR_I64, (struct tensor_shape){.rank = 1, .dims = {TENSOR_BATCH}}, 2, classes,
                 "{\"predictions\":[3,0]}");
}

Test(json_answer, an_output_without_a_batch_dimension_stands_in_every_prediction) {
    float values[] = {1, 2};
    expect_typed(TENSOR_F32, (struct tensor_shape){.rank = 1, .dims = {2}}, 3, values,
                 "{\"predictions\":[[1,2],[1,2],[1,2]]}");
    expect_typed(TENSOR_F32, (struct tensor_shape){.rank = 0}, 2, values, "{\"predictions\":[1,1]}");
}

Test(json_answer, the_batch_dimension_may_be_any) {
    float values[] = {1, 2, 3, 4, 5, 6};
    expect_typed(TENSOR_F32, (struct tensor_shape){.rank = 3, .dims = {3, TENSOR_BATCH, 1}}, 2, values,
                 "{\"predictions\":[[[1],[2],[3]],[[4],[5],[6]]]}");
}

Test(json_answer, a_free_dimension_is_as_long_as_the_row_says) {
    struct tensor_spec spec = {
        .name = "y", .dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {TENSOR_BATCH, TENSOR_FREE(0)}}};
    cr_assert(tensor_spec_measure(&spec));
    struct signature signature = {.outputs = &spec, .output_count = 1, .free_count = 1};
    float values[] = {1, 2, 3, 4, 5, 6};
    struct job_tensor output = {.data = values, .row_bytes = 12, .row = {.rank = 1, .dims = {3}}};
    expect_answer(&signature, 2, &output, "{\"predictions\":[[1,2,3],[4,5,6]]}");
    output = (struct job_tensor){.data = values, .row_bytes = 0, .row = {.rank = 1, .dims = {0}}};
    expect_answer(&signature, 2, &output, "{\"predictions\":[[],[]]}");
}

Test(json_answer, other_float_types_are_checked_for_what_json_cannot_carry) {
    struct tensor_spec spec = {.name = "y", .dtype = TENSOR_F16, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 2}}};
    cr_assert(tensor_spec_measure(&spec));
    struct signature signature = {.outputs = &spec, .output_count = 1};
    uint16_t values[] = {0, 0, 0, 0x7C00};
    struct job_tensor output = tensor_of(&spec, values);
    struct bytes out = {0};
    struct weir_error err;
    cr_assert(json_answer_write(&signature, 2, &output, &out, &err) == WEIR_NON_FINITE);
    cr_assert(eq(str, err.text, "output \"y\", row 1, column 1 is infinite, which JSON cannot carry"));
    spec.dtype = TENSOR_F64;
    double doubles[] = {0, NAN};
    output.data = doubles;
    output.row_bytes = sizeof doubles;
    cr_assert(json_answer_write(&signature, 1, &output, &out, &err) == WEIR_NON_FINITE);
    cr_assert(strstr(err.text, "row 0, column 1 is NaN") != NULL, "%s", err.text);
    bytes_release(&out);
}

Test(json_answer, a_buffer_without_memory_is_no_answer) {
    float values[4] = {0};
    struct one_tensor_model model;
    one_tensor_model_init(&model, 2, four);
    struct job_tensor output = tensor_of(&model.output, values);
    struct bytes out = {.failed = true};
    struct weir_error err;
    cr_assert(json_answer_write(&model.signature, 1, &output, &out, &err) == WEIR_NO_MEMORY);
}

static void expect_columns(const struct signature *signature, uint32_t rows, const struct job_tensor *outputs,
                           const char *answer) {
    struct bytes out = {0};
    struct weir_error err;
    cr_assert(json_answer_write_columns(signature, rows, outputs, &out, &err) == WEIR_OK);
    bytes_append(&out, "", 1);
    cr_assert(eq(str, out.data, (char *)answer));
    bytes_release(&out);
}

Test(json_answer, columns_are_whole_arrays) {
    struct tensor_spec specs[] = {
        {.name = "first", .dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {-1, 2}}},
        {.name = "inside", .dtype = TENSOR_I32, .shape = {.rank = 2, .dims = {2, -1}}},
        {.name = "shared", .dtype = TENSOR_BOOL, .shape = {.rank = 1, .dims = {2}}},
    };
    for (int i = 0; i < 3; i++)
        cr_assert(tensor_spec_measure(&specs[i]));
    float first[] = {1, 2, 3, 4, 5, 6};
    int32_t inside[] = {1, -1, 2, -2, 3, -3};
    char shared[] = {1, 0};
    struct job_tensor outputs[] = {tensor_of(&specs[0], first), tensor_of(&specs[1], inside),
                                   tensor_of(&specs[2], shared)};
    struct signature signature = {.outputs = specs, .output_count = 3};
    expect_columns(&signature, 3, outputs,
                   "{\"outputs\":{\"first\":[[1,2],[3,4],[5,6]],\"inside\":[[1,2,3],[-1,-2,-3]],"
                   "\"shared\":[true,false]}}");
    signature.output_count = 1;
    expect_columns(&signature, 3, outputs, "{\"outputs\":[[1,2],[3,4],[5,6]]}");
    signature.outputs = &specs[1];
    expect_columns(&signature, 3, &outputs[1], "{\"outputs\":[[1,2,3],[-1,-2,-3]]}");
    signature.outputs = &specs[2];
    expect_columns(&signature, 1, &outputs[2], "{\"outputs\":[true,false]}");
}

Test(json_answer, a_value_in_a_column_that_is_not_finite_is_named) {
    struct tensor_spec specs[] = {{.name = "first", .dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {-1, 2}}},
                                  {.name = "inside", .dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {2, -1}}}};
    float values[] = {1, 2, NAN, 4};
    struct weir_error err;
    struct bytes out = {0};
    bytes_text(&out, "before");
    for (int i = 0; i < 2; i++) {
        cr_assert(tensor_spec_measure(&specs[i]));
        struct signature signature = {.outputs = &specs[i], .output_count = 1};
        struct job_tensor output = tensor_of(&specs[i], values);
        cr_assert(json_answer_write_columns(&signature, 2, &output, &out, &err) == WEIR_NON_FINITE);
        cr_assert(eq(sz, out.size, strlen("before")));
        cr_assert(eq(str, err.text,
                     i == 0 ? "output \"first\", row 1, column 0 is NaN, which JSON cannot carry"
                            : "output \"inside\", element [0][1] is NaN, which JSON cannot carry"));
    }
    bytes_release(&out);
}
