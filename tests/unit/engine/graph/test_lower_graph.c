#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/lower.h"
#include "engine/graph/plan_parts.h"
#include "tests/fakes/model_run.h"
#include "tests/fakes/onnx_branch.h"

static struct onnx_model model, yes, no;
static struct weir_error err;
static struct plan *plan;
static struct program program;

static void destroy(void) {
    program_release(&program);
    plan_destroy(plan);
}

TestSuite(lower_graph, .fini = destroy);

static void add(const char *op, const char *in, const char *out) {
    onnx_add_node(&model, (struct onnx_node){op, in, out, NULL, NULL, NULL});
}

static enum weir_status read(void) {
    return model_plan(&model, 13, &plan, &err);
}

static void names(const char *what) {
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

static void make(uint32_t rows) {
    struct tensor_dims dims = *plan_example(plan);
    dims.rows = rows;
    cr_assert_eq(plan_make_program(plan, &dims, &program, &err), WEIR_OK, "%s", err.text);
}

Test(lower_graph, what_depends_on_constants_alone_leaves_no_steps) {
    static const float two[1] = {2};
    onnx_add_floats(&model, "two", "", two, 1);
    add("Exp", "two", "e");
    add("Neg", "e", "n");
    add("Add", "x n", "y");
    onnx_add_input(&model, "x", "N,1");
    onnx_add_output(&model, "y", "N,1");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    make(1);
    cr_assert_eq(program.step_count, 1);
    float x = 10, y;
    const void *in[] = {&x};
    void *out[] = {&y};
    cr_assert_eq(model_run_oracle(plan, plan_example(plan), in, out, &err), WEIR_OK);
    cr_assert_float_eq(y, 10 - 7.3890561f, 1e-5);
}

Test(lower_graph, arithmetic_on_shapes_is_done_when_the_program_is_made) {
    /* [N,4,6] -> [N, 24] by Shape, Gather, Concat and Reshape, as exporters write it. */
    static const int64_t zero[1] = {0}, rest[1] = {-1};
    onnx_add_integers(&model, "zero", "", zero, 1);
    onnx_add_integers(&model, "zeros", "1", zero, 1);
    onnx_add_integers(&model, "rest", "1", rest, 1);
    add("Shape", "x", "shape");
    onnx_add_node(&model, (struct onnx_node){"Gather", "shape zero", "n", "axis:i=0", NULL, NULL});
    add("Unsqueeze", "n zeros", "list");
    onnx_add_node(&model, (struct onnx_node){"Concat", "list rest", "wanted", "axis:i=0", NULL, NULL});
    add("Reshape", "x wanted", "flat");
    add("Relu", "flat", "y");
    onnx_add_input(&model, "x", "N,4,6");
    onnx_add_output(&model, "y", "N,24");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    cr_assert_eq(plan_max_rows(plan), UINT32_MAX, "%s", plan_max_rows_reason(plan));
    for (uint32_t rows = 1; rows < 40; rows += 7) {
        program_release(&program);
        make(rows);
        cr_assert(program.step_count == 1 && program.steps[0].operation.kind == OPERATION_UNARY);
        const struct program_buffer *y = &program.buffers[program.steps[0].outputs[0]];
        cr_assert(y->place == PROGRAM_OUTPUT && y->shape.rank == 2 && y->shape.dims[0] == rows &&
                  y->shape.dims[1] == 24);
    }
}

Test(lower_graph, half_floats_are_computed_in_float_and_given_back_as_half) {
    onnx_add_node(&model, (struct onnx_node){"Relu", "x", "y", NULL, NULL, NULL});
    onnx_add_port(&model, 11, "x", 10, "N,2");
    onnx_add_port(&model, 12, "y", 10, "N,2");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    cr_assert(plan_signature(plan)->inputs[0].dtype == TENSOR_F16 &&
              plan_signature(plan)->outputs[0].dtype == TENSOR_F16);
    uint16_t x[2] = {0x3C00, 0xC000}, y[2]; /* 1, -2 */
    const void *in[] = {x};
    void *out[] = {y};
    cr_assert_eq(model_run_oracle(plan, plan_example(plan), in, out, &err), WEIR_OK);
    cr_assert(y[0] == 0x3C00 && y[1] == 0);
}

Test(lower_graph, an_output_that_is_an_input_or_another_output_gets_memory_of_its_own) {
    add("Relu", "x", "y");
    add("Identity", "y", "z");
    add("Identity", "x", "w");
    onnx_add_input(&model, "x", "N,3");
    onnx_add_output(&model, "y", "N,3");
    onnx_add_output(&model, "z", "N,3");
    onnx_add_output(&model, "w", "N,3");
    onnx_add_output(&model, "x", "N,3");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    float x[3] = {-1, 2, 3}, y[3], z[3], w[3], x2[3];
    const void *in[] = {x};
    void *out[] = {y, z, w, x2};
    cr_assert_eq(model_run_oracle(plan, plan_example(plan), in, out, &err), WEIR_OK, "%s", err.text);
    cr_assert(y[0] == 0 && y[2] == 3 && z[0] == 0 && z[1] == 2 && w[0] == -1 && x2[2] == 3);
}

Test(lower_graph, an_output_that_is_another_shape_of_a_value_needs_no_copy) {
    static const int64_t wanted[2] = {0, 6};
    onnx_add_integers(&model, "wanted", "2", wanted, 2);
    add("Relu", "x", "r");
    add("Reshape", "r wanted", "y");
    onnx_add_input(&model, "x", "N,2,3");
    onnx_add_output(&model, "y", "N,6");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    make(2);
    cr_assert_eq(program.step_count, 1);
    int root = program_root(&program, program.steps[0].outputs[0]);
    cr_assert(program.buffers[root].place == PROGRAM_OUTPUT && program.buffers[root].shape.rank == 2);
}

Test(lower_graph, a_constant_output_is_given) {
    static const float number[1] = {2};
    onnx_add_floats(&model, "two", "1", number, 1);
    add("Neg", "two", "z");
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,1");
    onnx_add_output(&model, "y", "N,1");
    onnx_add_output(&model, "z", "1");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    float x = 3, y, z;
    const void *in[] = {&x};
    void *out[] = {&y, &z};
    cr_assert_eq(model_run_oracle(plan, plan_example(plan), in, out, &err), WEIR_OK);
    cr_assert(y == 3 && z == -2);
    cr_assert_eq(plan_signature(plan)->outputs[1].batch_axis, -1);
}

Test(lower_graph, an_output_that_contradicts_its_declaration_is_invalid) {
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,5");
    cr_assert_eq(read(), WEIR_INVALID);
    names("'y'");
    names("[-1,5]");
    onnx_begin(&model);
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_port(&model, 12, "y", 7, "N,4");
    cr_assert_eq(read(), WEIR_INVALID);
    names("int64");
}

Test(lower_graph, a_string_that_a_node_reads_is_refused_and_another_is_not) {
    onnx_make_tensor(&model, "labels", 8, "2", NULL, 0);
    onnx_put_bytes(&model.part, 6, "a", 1);
    onnx_put_bytes(&model.part, 6, "b", 1);
    onnx_add_part(&model, 5);
    add("Relu", "x", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    plan_destroy(plan);
    plan = NULL;
    onnx_begin(&model);
    onnx_make_tensor(&model, "labels", 8, "1", NULL, 0);
    onnx_put_bytes(&model.part, 6, "a", 1);
    onnx_add_part(&model, 5);
    add("Add", "x labels", "y");
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    names("labels");
}

/* If(the condition), then Relu else Neg, of x. */
static void add_if(const char *condition) {
    onnx_begin(&yes);
    onnx_add_node(&yes, (struct onnx_node){"Relu", "x", "t", NULL, NULL, NULL});
    onnx_add_output(&yes, "t", "N,4");
    onnx_begin(&no);
    onnx_add_node(&no, (struct onnx_node){"Neg", "x", "t", NULL, NULL, NULL});
    onnx_add_output(&no, "t", "N,4");
    onnx_branch_add_if(&model, condition, "y", &yes.body, &no.body);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
}

Test(lower_graph, a_condition_on_the_rank_of_a_value_is_settled_when_the_model_is_loaded) {
    static const int64_t two[1] = {2};
    onnx_add_integers(&model, "two", "", two, 1);
    add("Shape", "x", "shape");
    add("Size", "shape", "rank");
    add("Equal", "rank two", "flag");
    add_if("flag");
    cr_assert_eq(read(), WEIR_OK, "%s", err.text);
    float x[4] = {-1, 2, -3, 4}, y[4];
    const void *in[] = {x};
    void *out[] = {y};
    cr_assert_eq(model_run_oracle(plan, plan_example(plan), in, out, &err), WEIR_OK);
    cr_assert(y[0] == 0 && y[1] == 2 && y[2] == 0 && y[3] == 4);
}

Test(lower_graph, a_condition_on_a_size_is_not_settled_by_one_size) {
    static const int64_t zero[1] = {0}, one[1] = {1};
    onnx_add_integers(&model, "zero", "", zero, 1);
    onnx_add_integers(&model, "one", "", one, 1);
    add("Shape", "x", "shape");
    onnx_add_node(&model, (struct onnx_node){"Gather", "shape zero", "rows", "axis:i=0", NULL, NULL});
    add("Equal", "rows one", "flag"); /* one row: yes; more: no */
    add_if("flag");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    names("If");
}

Test(lower_graph, a_condition_on_numbers_is_refused_by_name) {
    static const float half[1] = {0.5f};
    onnx_add_floats(&model, "half", "", half, 1);
    onnx_add_node(&model, (struct onnx_node){"ReduceMax", "x", "most", "keepdims:i=0", NULL, NULL});
    add("Greater", "most half", "flag");
    add_if("flag");
    cr_assert_eq(read(), WEIR_UNSUPPORTED);
    names("If");
}
