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
