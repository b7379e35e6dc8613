#include "kernels/view.h"

#include <criterion/criterion.h>

Test(view, the_count_is_the_product_of_the_dimensions) {
    struct view view = {.rank = 3, .dims = {2, 3, 4}};
    cr_assert_eq(view_count(&view), 24);
    cr_assert_eq(view_product(&view, 1, 3), 12);
    cr_assert_eq(view_product(&view, 3, 3), 1);
    view.dims[1] = 0;
    cr_assert_eq(view_count(&view), 0);
    view.rank = 0;
    cr_assert_eq(view_count(&view), 1);
}
