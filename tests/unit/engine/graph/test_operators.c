#include <criterion/criterion.h>
#include <string.h>

#include "engine/graph/operators.h"
#include "engine/graph/plan.h"
#include "tests/fakes/model_run.h"

static struct onnx_model model;
static struct weir_error err;

/* Plans a model with that one node between x and y. */
static enum weir_status plan(struct onnx_node node) {
    struct plan *made;
    onnx_begin(&model);
    onnx_add_node(&model, node);
    onnx_add_input(&model, "x", "N,4");
    onnx_add_output(&model, "y", "N,4");
    enum weir_status status = model_plan(&model, 13, &made, &err);
    if (status == WEIR_OK)
        plan_destroy(made);
    return status;
}

static void names(const char *what) {
    cr_assert_not_null(strstr(err.text, what), "%s is not in: %s", what, err.text);
}

Test(operators, an_unknown_operator_is_named_with_node_domain_and_opset) {
    cr_assert_eq(plan((struct onnx_node){"NonMaxSuppression", "x", "y", NULL, "nms_7", NULL}), WEIR_UNSUPPORTED);
    names("NonMaxSuppression");
    names("nms_7");
    names("opset 13");
    names("ai.onnx");
}

Test(operators, an_unnamed_node_shows_its_index_and_output) {
    cr_assert_eq(plan((struct onnx_node){"Unique", "x", "y", NULL, NULL, NULL}), WEIR_UNSUPPORTED);
    names("node 0");
    names("Unique -> y");
}

Test(operators, another_domain_is_named_also_for_a_known_operator) {
    cr_assert_eq(plan((struct onnx_node){"MagicGelu", "x", "y", NULL, "mg", "com.example"}), WEIR_UNSUPPORTED);
    names("com.example");
    names("MagicGelu");
    cr_assert_eq(plan((struct onnx_node){"Relu", "x", "y", NULL, NULL, "com.example"}), WEIR_UNSUPPORTED);
}

Test(operators, what_cannot_be_served_says_why) {
    cr_assert_eq(plan((struct onnx_node){"NonMaxSuppression", "x", "y", NULL, NULL, NULL}), WEIR_UNSUPPORTED);
    names("depends on the numbers");
    cr_assert_eq(plan((struct onnx_node){"Loop", "x", "y", NULL, NULL, NULL}), WEIR_UNSUPPORTED);
    names("control flow");
}

Test(operators, the_tables_are_sorted_and_name_nothing_twice) {
    static const struct operator_family *const families[] = {
        &lower_elementwise_family, &lower_layout_family,   &lower_move_family,   &lower_make_family,
        &lower_reduce_family,      &lower_norm_family,     &lower_matrix_family, &lower_window_family,
        &lower_quantize_family,    &lower_recurrent_family};
    size_t count = sizeof families / sizeof families[0];
    for (size_t f = 0; f < count; f++)
        for (size_t i = 0; i < families[f]->count; i++) {
            const struct operator_entry *entry = &families[f]->entries[i];
            cr_assert(i == 0 || strcmp(families[f]->entries[i - 1].name, entry->name) < 0, "%s", entry->name);
            cr_assert(entry->attributes[0] == ' ' && entry->attributes[strlen(entry->attributes) - 1] == ' ', "%s",
                      entry->name);
            cr_assert(entry->min_inputs <= entry->max_inputs && entry->max_outputs >= 1 && entry->lower, "%s",
                      entry->name);
            for (size_t other = f + 1; other < count; other++)
                for (size_t j = 0; j < families[other]->count; j++)
                    cr_assert_str_neq(families[other]->entries[j].name, entry->name);
        }
}

Test(operators, an_attribute_that_is_not_known_is_refused_not_passed_over) {
    cr_assert_eq(plan((struct onnx_node){"Relu", "x", "y", "alpha:f=1", NULL, NULL}), WEIR_UNSUPPORTED);
    names("'alpha'");
    cr_assert_eq(plan((struct onnx_node){"LeakyRelu", "x", "y", "alph:f=1", NULL, NULL}), WEIR_UNSUPPORTED);
    cr_assert_eq(plan((struct onnx_node){"LeakyRelu", "x", "y", "alpha:f=1", NULL, NULL}), WEIR_OK);
}

Test(operators, too_few_or_too_many_inputs_are_invalid) {
    cr_assert_eq(plan((struct onnx_node){"Relu", "x x", "y", NULL, NULL, NULL}), WEIR_INVALID);
    cr_assert_eq(plan((struct onnx_node){"Add", "x", "y", NULL, NULL, NULL}), WEIR_INVALID);
    cr_assert_eq(plan((struct onnx_node){"Relu", "-", "y", NULL, NULL, NULL}), WEIR_INVALID);
    cr_assert_eq(plan((struct onnx_node){"Relu", "x", "y z", NULL, NULL, NULL}), WEIR_INVALID);
}

Test(operators, a_first_output_that_is_left_out_is_invalid_but_where_it_is_one_of_many) {
    struct plan *made;
    for (int i = 0; i < 2; i++) {
        onnx_begin(&model);
        onnx_add_input(&model, "x", "N,4");
        onnx_add_port(&model, 12, "y", i == 0 ? 1 : 7, "N,any");
        onnx_add_floats(&model, "scale", "4", (const float[]){1, 2, 3, 4}, 4);
        onnx_add_integers(&model, "k", "1", (const int64_t[]){2}, 1);
        onnx_add_node(&model, i == 0 ? (struct onnx_node){"LayerNormalization", "x scale", "- y", NULL, NULL, NULL}
                                     : (struct onnx_node){"TopK", "x k", "- y", NULL, NULL, NULL});
        enum weir_status status = model_plan(&model, 17, &made, &err);
        cr_assert_eq(status, i == 0 ? WEIR_INVALID : WEIR_OK, "%s", err.text);
        if (status == WEIR_OK)
            plan_destroy(made);
    }
}
