#include "engine/graph/lower_einsum.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "kernels/ref/ref_matmul.h"
#include "tests/fakes/node_run.h"

static float a[256], b[256];
static struct node_result result;

static void fill(void) {
    for (int i = 0; i < 256; i++) {
        a[i] = (float)(i * 7 % 23 - 11);
        b[i] = (float)(i * 5 % 17 - 8);
    }
}

static enum weir_status run(const char *equation, const char *a_dims, const char *b_dims) {
    char attribute[128];
    struct node_case node = {
        "Einsum", attribute, {{TENSOR_F32, a_dims, a}, {TENSOR_F32, b_dims, b}}, b_dims ? 2 : 1, 1};
    snprintf(attribute, sizeof attribute, "equation:s=%s", equation);
    return node_run(&lower_matrix_family, &node, &result);
}

/* Forms of two inputs: what becomes of them, by kind of step, and the shape. All letters stand for these sizes. */
static const struct {
    const char *equation, *a_dims, *b_dims, *dims;
    int step_count;
    enum operation_kind last;
} forms[] = {
    {"ij,jk->ik", "2,3", "3,4", "2,4", 1, OPERATION_MATMUL},
    {"ij,kj->ik", "2,3", "4,3", "2,4", 1, OPERATION_MATMUL},
    {"ij,kj->ki", "2,3", "4,3", "4,2", 1, OPERATION_MATMUL},
    {"ji,jk->ik", "3,2", "3,4", "2,4", 1, OPERATION_MATMUL},
    {"bhid,bhjd->bhij", "2,2,3,4", "2,2,5,4", "2,2,3,5", 1, OPERATION_MATMUL},
    {"bhij,bhjd->bhid", "2,2,3,5", "2,2,5,4", "2,2,3,4", 1, OPERATION_MATMUL},
    {"bqhd,bkhd->bhqk", "2,3,2,4", "2,5,2,4", "2,2,3,5", 3, OPERATION_MATMUL},
    {"bhqk,bkhd->bqhd", "2,2,3,5", "2,5,2,4", "2,3,2,4", 3, OPERATION_TRANSPOSE},
    {"abc,cd->abd", "2,3,4", "4,5", "2,3,5", 1, OPERATION_MATMUL},
    {"abc,dbc->ad", "2,3,4", "5,3,4", "2,5", 1, OPERATION_MATMUL},
    {"abc,cb->a", "2,3,4", "4,3", "2", 2, OPERATION_MATMUL},
    {"i,i->", "5", "5", "", 1, OPERATION_MATMUL},
    {"i,j->ij", "2", "3", "2,3", 1, OPERATION_BINARY},
    {"ij,ji->ij", "2,3", "3,2", "2,3", 2, OPERATION_BINARY},
    {"bij,b->bij", "2,3,2", "2", "2,3,2", 1, OPERATION_BINARY},
    {"bij,bjk->bik", "1,2,3", "4,3,2", "4,2,2", 1, OPERATION_MATMUL},
    {"ii,ij->j", "3,3", "3,2", "2", 1, OPERATION_EINSUM},
    {"ij,jk->k", "2,3", "3,4", "4", 1, OPERATION_EINSUM},
    {"ij,jk->ik", "2,1", "3,4", "2,4", 1, OPERATION_EINSUM},
};

/* The same sum by the oracle of einsum. */
static void oracle(const struct einsum *einsum, const struct view *inputs, struct view *y) {
    struct operation operation = {.kind = OPERATION_EINSUM, .einsum = *einsum};
    ref_einsum(&operation, inputs, y, NULL);
}

static struct view view_of(const char *dims, float *data) {
    struct view view = {.data = data, .element = ELEMENT_F32};
    for (; *dims; dims += dims[1] == ',' ? 2 : 1)
        view.dims[view.rank++] = (size_t)(*dims - '0');
    return view;
}

static struct einsum read_letters(const char *equation) {
    struct einsum einsum = {.term_count = 2};
    char letters[8];
    signed char *to = einsum.inputs[0];
    for (; *equation; equation++) {
        if (*equation == ',')
            to = einsum.inputs[1];
        else if (*equation == '>')
            to = einsum.output;
        else if (*equation != '-') {
            char *found = memchr(letters, *equation, (size_t)einsum.label_count);
            int label = found ? (int)(found - letters) : einsum.label_count++;
            letters[label] = *equation;
            *to++ = (signed char)label;
        }
    }
    return einsum;
}

Test(lower_einsum, forms_of_two_inputs_become_products_with_the_oracles_numbers, .init = fill) {
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        float expected[256];
        struct view inputs[] = {view_of(forms[i].a_dims, a), view_of(forms[i].b_dims, b)};
        struct view y = view_of(forms[i].dims, expected);
        struct einsum einsum = read_letters(forms[i].equation);
        cr_assert_eq(run(forms[i].equation, forms[i].a_dims, forms[i].b_dims), WEIR_OK, "%s", result.err.text);
        cr_assert(node_run_has_shape(&result.outputs[0], forms[i].dims), "%s", forms[i].equation);
        cr_assert_eq(result.step_count, forms[i].step_count, "%s: %d steps", forms[i].equation, result.step_count);
        cr_assert_eq(result.steps[result.step_count - 1].kind, forms[i].last, "%s", forms[i].equation);
        oracle(&einsum, inputs, &y);
        for (size_t j = 0; j < view_count(&y); j++)
            cr_assert(result.outputs[0].floats[j] == expected[j], "%s, element %zu: %g, not %g", forms[i].equation, j,
                      result.outputs[0].floats[j], expected[j]);
    }
}

Test(lower_einsum, an_ellipsis_is_a_batch_or_rows, .init = fill) {
    cr_assert_eq(run("b...d,de->b...e", "2,2,1,2", "2,3"), WEIR_OK, "%s", result.err.text);
    cr_assert(result.step_count == 1 && result.steps[0].kind == OPERATION_MATMUL);
    cr_assert(node_run_has_shape(&result.outputs[0], "2,2,1,3"));
    cr_assert(result.outputs[0].floats[0] == a[0] * b[0] + a[1] * b[3]);
    cr_assert(result.outputs[0].floats[11] == a[6] * b[2] + a[7] * b[5]);
    cr_assert_eq(run("...ij,...jk", "2,1,2", "2,1"), WEIR_OK, "%s", result.err.text);
    cr_assert(node_run_has_shape(&result.outputs[0], "2,1,1"));
}

Test(lower_einsum, one_input_is_transposed_summed_or_its_diagonal_taken, .init = fill) {
    cr_assert_eq(run("ij->ji", "2,3", NULL), WEIR_OK);
    cr_assert(result.steps[0].kind == OPERATION_TRANSPOSE && node_run_has_shape(&result.outputs[0], "3,2"));
    cr_assert(result.outputs[0].floats[1] == a[3]);
    cr_assert_eq(run("ij->i", "2,3", NULL), WEIR_OK);
    cr_assert(result.steps[0].kind == OPERATION_EINSUM && result.outputs[0].floats[1] == a[3] + a[4] + a[5]);
    cr_assert_eq(run("ii->i", "2,2", NULL), WEIR_OK);
    cr_assert(result.outputs[0].floats[1] == a[3]);
}

Test(lower_einsum, faults_are_named, .init = fill) {
    struct node_case node = {"Einsum", NULL, {{TENSOR_F32, "2", a}}, 1, 1};
    cr_assert_eq(node_run(&lower_matrix_family, &node, &result), WEIR_INVALID);
    cr_assert_not_null(strstr(result.err.text, "equation is missing"));
    cr_assert_eq(run("ij,jk->ik", "2,3", "2,3"), WEIR_INVALID);
    cr_assert_not_null(strstr(result.err.text, "dimension 0 of input 1 is 2"), "%s", result.err.text);
    cr_assert_eq(run("ij,jk", "2,3,4", "2,3"), WEIR_INVALID);
    cr_assert_not_null(strstr(result.err.text, "'ij,jk'"), "%s", result.err.text);
    node.attributes = "equation:s=i,i,i,i,i->i";
    node.input_count = 5;
    for (int i = 0; i < 5; i++)
        node.inputs[i] = node.inputs[0];
    cr_assert_eq(node_run(&lower_matrix_family, &node, &result), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(result.err.text, "supported: up to 4"));
}
