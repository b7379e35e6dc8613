#include "server/observe/exposition.h"

#include <criterion/criterion.h>

static struct bytes out;

static const char *text(void) {
    bytes_append(&out, "", 1);
    return out.data;
}

Test(exposition, labels_are_escaped_and_always_utf_8) {
    exposition_label(&out, "a \"b\" \\ c\nd \xFF caf\xC3\xA9");
    exposition_label(&out, NULL);
    cr_assert_str_eq(text(), "a \\\"b\\\" \\\\ c\\nd ? caf\xC3\xA9");
    bytes_release(&out);
}

Test(exposition, a_single_has_its_head_and_its_number) {
    exposition_single(&out, "weir_x_bytes", "gauge", "What x is.", 12345678901.0);
    cr_assert_str_eq(text(), "# HELP weir_x_bytes What x is.\n# TYPE weir_x_bytes gauge\nweir_x_bytes 12345678901\n");
    bytes_release(&out);
}

Test(exposition, openmetrics_has_other_names_bounds_and_an_end) {
    struct bytes page = {.data = NULL};
    bytes_text(&page,
               "# HELP a_total A.\n# TYPE a_total counter\na_total{x=\"1\"} 3\n"
               "# HELP b Sum_total of b.\n# TYPE b histogram\nb_bucket{le=\"0.5\"} 1\nb_bucket{m=\"q\",le=\"16\"} 2\n"
               "b_bucket{le=\"1e-05\"} 2\nb_bucket{le=\"+Inf\"} 2\nb_sum 1\n");
    exposition_openmetrics(&page, &out);
    cr_assert_str_eq(
        text(),
        "# HELP a A.\n# TYPE a counter\na_total{x=\"1\"} 3\n"
        "# HELP b Sum_total of b.\n# TYPE b histogram\nb_bucket{le=\"0.5\"} 1\nb_bucket{m=\"q\",le=\"16.0\"} 2\n"
        "b_bucket{le=\"1e-05\"} 2\nb_bucket{le=\"+Inf\"} 2\nb_sum 1\n# EOF\n");
    bytes_release(&out);
    bytes_release(&page);
}
